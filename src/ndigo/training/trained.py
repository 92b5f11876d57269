"""`Trained`: the networks of a run's seeds, or of one agent file, to act with and to evaluate."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ndigo.agents.agent import Agent, Params
from ndigo.config import Config
from ndigo.errors import NdigoError
from ndigo.evaluation.measure import Evaluation, Measured
from ndigo.evaluation.streams import seen_names
from ndigo.rewards import IntrinsicReward
from ndigo.storage import checkpoint, milestones
from ndigo.storage.agents import load_agent, refuse_non_finite, save_agent
from ndigo.storage.run_folder import RunFolder, named_path
from ndigo.training.learner import make_learner
from ndigo.training.signals import wait_for
from ndigo.training.trainer import make_trainer
from ndigo.training.twins import twins
from ndigo.worlds import World

EPISODES_AT_ONCE = 100  # bounds the memory of a long evaluation


@dataclass(frozen=True)
class Trained:
    """The networks of S seeds: every leaf of `params` leads with the seed."""

    settings: dict[str, Any]
    config: Config
    world: World
    reward: IntrinsicReward
    params: Params
    learner_step: int | None = None  # of the checkpoint; None where an agent file does not say

    @property
    def num_seeds(self) -> int:
        return len(jax.tree.leaves(self.params)[0])

    def agent(self, seed: int = 0, label: str | None = None) -> Agent:
        """One seed's agent; the label is shown wherever the agent is."""
        if not isinstance(seed, int | np.integer) or not 0 <= seed < self.num_seeds:
            raise NdigoError(f"seed {seed!r}: there are seeds 0 to {self.num_seeds - 1}")
        trained_as = self.settings.get("seed", seed)  # an agent file holds one seed, and says which it was
        about = {
            "label": label or f"{self.settings['reward']}, seed {trained_as}",
            "world": self.settings["config"]["world"],
            "reward": self.settings["reward"],
            "seed": trained_as,
            "learner_step": self.learner_step,
        }
        params = _of_seed(self.params, seed)
        return Agent(params, self.world, self.reward, self.config, twins(self.config).joined, about)

    def evaluate(
        self, episodes: int = 100, seed: int = 0, on_done: Callable[[int], None] = lambda done: None
    ) -> Evaluation:
        """Greedy episodes of every seed: each field leads with [S, episodes]. Same seed, same episodes."""
        return self.measure(episodes, seed, on_done).evaluation

    def measure(
        self, episodes: int = 100, seed: int = 0, on_done: Callable[[int], None] = lambda done: None
    ) -> Measured:
        """The same, with tracking [S, N, ages] of all episodes played: whole hundreds. `on_done` gets their number."""
        at_once = min(episodes, EPISODES_AT_ONCE)
        config = dataclasses.replace(self.config, seeds=self.num_seeds, evaluation_episodes=at_once)
        trainer = make_trainer(config, self.world, self.reward)
        keys = [jax.random.fold_in(jax.random.key(seed), i) for i in range(-(-episodes // at_once))]
        parts = []
        with contextlib.closing(trainer):
            for key in keys:
                parts.append(fetched(trainer.measure(self.params, key)))
                on_done(min(at_once * len(parts), episodes))
        return Measured(
            evaluation=jax.tree.map(
                lambda *xs: np.concatenate(xs, axis=1)[:, :episodes], *(part.evaluation for part in parts)
            ),
            tracking=jax.tree.map(lambda *xs: np.sum(xs, axis=0), *(part.tracking for part in parts)),
        )

    def export(self, path: str | Path, seed: int = 0) -> Path:
        """Writes one seed's agent to a single small file (float16), which `from_file` reads."""
        path = named_path(path)
        arrays = checkpoint.named_arrays(self.agent(seed).params)
        own = {"seed": self.settings.get("seed", seed)}
        own |= {} if self.learner_step is None else {"learner_step": self.learner_step}
        save_agent(path, arrays, self.settings | own)
        return path


# Compiled whole: one operation at a time would be a program for every shape of array.
@jax.jit
def _of_seed(params: Params, seed: int) -> Params:
    return jax.tree.map(lambda x: x[seed], params)


@jax.jit
def _as_seeds(params: Params) -> Params:
    return jax.tree.map(lambda x: x[None], params)


def fetched(results: Any) -> Any:
    """The results on the host; Ctrl-C ends the wait for them."""
    wait_for(results)
    return jax.device_get(results)


def from_run(folder: RunFolder, config: Config, world: World, reward: IntrinsicReward) -> Trained:
    """All seeds of a run, from its newest good checkpoint."""
    settings = folder.settings()
    refuse_other_names(settings, world, folder.path)
    fingerprint = checkpoint.fingerprint(settings["config"])
    step, arrays = checkpoint.load_newest(folder.checkpoints, fingerprint, lambda text: print(text, file=sys.stderr))
    params = checkpoint.learned(arrays)
    refuse_non_finite(params, f"the checkpoint of step {step} in {folder.path}")
    init = make_learner(config, world, reward).init
    like = jax.eval_shape(jax.vmap(init), jax.random.split(jax.random.key(0), config.seeds)).params
    tree = checkpoint.into_tree(params, like, f"run {folder.path}")
    return Trained(settings, config, world, reward, tree, step)


def from_file(path: Path, config: Config, world: World, reward: IntrinsicReward) -> Trained:
    """The one seed of an agent file."""
    settings, arrays = load_agent(path)
    refuse_other_names(settings, world, path)
    like = jax.eval_shape(make_learner(config, world, reward).init, jax.random.key(0)).params
    # Files of version 0.1 call the agent's network q.
    arrays = {name.replace(".q.", ".agent.", 1) if name.startswith(".q.") else name: x for name, x in arrays.items()}
    params = _as_seeds(checkpoint.into_tree(arrays, like, str(path)))
    return Trained(settings, config, world, reward, params, settings.get("learner_step"))


def refuse_other_names(settings: dict[str, Any], world: World, source: Path) -> None:
    """An error where the settings and the world name what is measured differently: tables use the settings' names."""
    names = {
        "channels": [channel.name for channel in world.channels],
        "in_view": seen_names(world),
        "objects": list(world.objects),
    }
    for part, expected in names.items():
        if (found := settings["world"][part]) != expected:
            raise NdigoError(f"{source} is not of world {world.name}: its {part} are {found}, expected {expected}")


def from_milestone(folder: RunFolder, step: int, config: Config, world: World, reward: IntrinsicReward) -> Trained:
    """A run's first seed as it was at one of its milestones."""
    like = jax.eval_shape(make_learner(config, world, reward).init, jax.random.key(0)).params
    arrays = {name: x[0] for name, x in milestones.load(folder.path, step).items()}
    params = checkpoint.into_tree(arrays, like, str(milestones.path_of(folder.path, step)))
    return Trained(folder.settings(), config, world, reward, _as_seeds(params), step)
