"""From Python: `train` a run, `load` an agent, `find_world` by any of its names."""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
from rich.console import Console

from ndigo.config import Config, preset
from ndigo.errors import NdigoError, unknown_name
from ndigo.experiments import EXPERIMENTS
from ndigo.rewards import IntrinsicReward, make_reward
from ndigo.storage import checkpoint
from ndigo.storage.agents import load_agent, save_agent
from ndigo.storage.run_folder import RunFolder
from ndigo.training.agent import Agent
from ndigo.training.learner import make_learner
from ndigo.training.run import Outcome, continue_run, new_run
from ndigo.training.trainer import make_trainer
from ndigo.worlds import WORLDS, World, make_world


@dataclass(frozen=True)
class Run:
    """A run on disk."""

    path: Path
    config: Config
    world: World
    reward: IntrinsicReward
    outcome: Outcome | None = None

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        return RunFolder(self.path).metrics()

    def agent(self, seed: int = 0) -> Agent:
        """A seed's agent, from the newest good checkpoint."""
        if not 0 <= seed < self.config.seeds:
            raise NdigoError(f"seed {seed}: this run has seeds 0 to {self.config.seeds - 1}")
        mark = checkpoint.fingerprint(RunFolder(self.path).settings()["config"])
        _, arrays = checkpoint.load_newest(self.path / "checkpoints", mark, lambda text: print(text, file=sys.stderr))
        like = jax.eval_shape(make_trainer(self.config, self.world, self.reward).init, jax.random.key(0))
        state = checkpoint.into_tree(arrays, like, f"run {self.path}")
        return Agent(jax.tree.map(lambda x: x[seed], state.learner.params), self.world, self.config)

    def export_agent(self, path: str | Path, seed: int = 0) -> Path:
        """Writes one seed's agent to a single small file that `load` reads."""
        settings = RunFolder(self.path).settings() | {"seed": seed}
        save_agent(Path(path), checkpoint.named_arrays(self.agent(seed).params), settings)
        return Path(path)


def train(
    world: str | World,
    reward: str | IntrinsicReward = "ndigo-4",
    *,
    preset_name: str = "cpu",
    out: str | Path | None = None,
    minutes: float | None = None,
    logs: Sequence[str] = (),
    console: Console | None = None,
    **changes: Any,
) -> Run:
    """Trains an agent and returns its run; `changes` are fields of `Config`, such as `learner_steps`.

    A world or reward may be a name or a record of your own. A run made from records is reloaded by
    handing the same records to `open_run`.
    """
    world_name = world if isinstance(world, str) else world.name
    reward_name = reward if isinstance(reward, str) else reward.name
    config = preset(preset_name, world=world_name, reward=reward_name, **changes)
    world, reward = find_world(world), find_reward(reward)
    path = Path(out) if out else default_path(config)
    new_run(path, config, world, reward)
    return resume(path, world=world, reward=reward, minutes=minutes, logs=logs, console=console)


def resume(
    path: str | Path,
    *,
    world: World | None = None,
    reward: IntrinsicReward | None = None,
    minutes: float | None = None,
    logs: Sequence[str] = (),
    console: Console | None = None,
) -> Run:
    """Continues a run from its newest good checkpoint."""
    run = open_run(path, world=world, reward=reward)
    outcome = continue_run(
        RunFolder(run.path), run.config, run.world, run.reward, minutes=minutes, logs=logs, console=console
    )
    return dataclasses.replace(run, outcome=outcome)


def open_run(path: str | Path, *, world: World | None = None, reward: IntrinsicReward | None = None) -> Run:
    """A run on disk, as it stands."""
    settings = RunFolder.open(path).settings()
    config = _config(settings, path)
    return Run(
        path=Path(path),
        config=config,
        world=world or find_world(config.world),
        reward=reward or find_reward(config.reward),
    )


def load(
    path: str | Path, *, seed: int = 0, world: World | None = None, reward: IntrinsicReward | None = None
) -> Agent:
    """The agent of a run folder, or of a single agent file."""
    path = Path(path)
    if path.is_dir():
        return open_run(path, world=world, reward=reward).agent(seed)
    settings, arrays = load_agent(path)
    config = _config(settings, path)
    world, reward = world or find_world(config.world), reward or find_reward(config.reward)
    like = jax.eval_shape(make_learner(config, world, reward).init, jax.random.key(0)).params
    return Agent(checkpoint.into_tree(arrays, like, str(path)), world, config)


def find_world(world: str | World) -> World:
    """An experiment's world, a registered one, or MODULE:NAME of your own."""
    if isinstance(world, World):
        return world
    if world in EXPERIMENTS:
        return EXPERIMENTS[world].world
    if ":" in world:
        return _from_module(world)
    if world not in WORLDS:
        raise unknown_name("world", world, [*EXPERIMENTS, *WORLDS])
    return make_world(world)


def find_reward(reward: str | IntrinsicReward) -> IntrinsicReward:
    return make_reward(reward) if isinstance(reward, str) else reward


def default_path(config: Config) -> Path:
    """runs/WORLD-REWARD-TIME, not yet taken."""
    stem = f"{config.world.replace(':', '-')}-{config.reward}-{time.strftime('%Y%m%d-%H%M%S')}"
    candidates = [Path("runs") / stem, *(Path("runs") / f"{stem}-{i}" for i in range(2, 1000))]
    return next(path for path in candidates if not path.exists())


def _config(settings: dict[str, Any], path: str | Path) -> Config:
    try:
        return Config(**settings["config"])
    except (KeyError, TypeError) as error:
        raise NdigoError(f"{path} was written by another version: its settings do not fit ({error})") from None


def _from_module(name: str) -> World:
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except ImportError as error:
        raise NdigoError(f"world {name!r}: cannot import {module_name} ({error})") from None
    except AttributeError:
        raise NdigoError(f"world {name!r}: module {module_name} has no {attribute!r}") from None
    world = found() if callable(found) and not isinstance(found, World) else found
    if not isinstance(world, World):
        raise NdigoError(f"world {name!r}: expected a World record, got {type(world).__name__}")
    return world
