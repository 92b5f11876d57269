"""What trained agents know beyond their own way: the model elsewhere, and the belief behind a probe that lags.

    python studies/knowledge/table.py results/agents/exp1-ndigo-4.safetensors      # four minutes each on two cores
    python studies/knowledge/table.py --until 400 results/agents/exp1-ndigo-4.safetensors

Three tables. First, one row per agent, the model's loss of the walls one step ahead, and what its reward would
pay for them, on the agent's own greedy episodes and on a random walker's: a model that has forgotten the rest of the
world pays for straying. Then the discovery loss with the probe as trained, and after the probe alone has been trained
on, with the agent and its beliefs as they are, from other episodes than those it is judged on: the difference is what
the belief held and the probe did not read. Last, one row per object, how long the belief holds what it saw: the loss by
steps since the object was in view, with a wide probe that has learned from such frames alone: those up to 49 steps, or
--until more, though a probe of all ages reads less where frames in view are few.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jaxtyping import Array

from ndigo.agents.agent import Agent, Params
from ndigo.api import load_trained
from ndigo.model.probe import Probe, discovery_loss
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.training.acting import beliefs, play
from ndigo.types import Window

EPISODES = {"judged": 400, "learned from": 400}
PROBE_STEPS, PROBE_BATCH, PROBE_RATE = 3_000, 2_048, 1e-3  # falling in a line to a tenth
WIDE = 512  # hidden units of the probe that asks for how long: an absolute cell is a sum of two places
FRAMES = 50_000  # that it learns from, for each object
SINCE = ((0, 1), (1, 3), (3, 6), (6, 12), (12, 25), (25, 50), (50, 100), (100, 400))  # steps since in view: from, below


class Lived(NamedTuple):
    """Episodes [E, S, ...] as the agent lived through them."""

    b_t: Array
    cells: Array
    is_seen: Array  # which objects are in view
    wall_loss: Array  # mean over steps, one step ahead
    wall_reward: Array  # mean over steps


def live(agent: Agent, mind: Params, key: Array, epsilon: float, num_episodes: int) -> Lived:
    world = agent.world
    episodes = jax.vmap(lambda key: play(world, agent.joined(mind.agent), key, jnp.float32(epsilon), world.num_steps))(
        jax.random.split(key, num_episodes)
    )
    b_t = beliefs(mind.model.core, episodes, world.frame)
    whole = Window(
        o_t=jnp.swapaxes(world.frame.unpack(episodes.o_t), 0, 1),
        a_tm1=episodes.a_tm1.T.astype(jnp.int32),
        a_t=episodes.a_t.T.astype(jnp.int32),
        mu_t=episodes.mu_t.T,
        belief=jnp.zeros_like(b_t[:, 0]),
        agent_state=episodes.agent_state[:, 0],
        start=jnp.zeros(num_episodes, jnp.int32),
        cells=jnp.swapaxes(episodes.cells, 0, 1).astype(jnp.int32),
    )
    seen = mind.model.look(whole, agent.num_ahead)
    paid = agent.reward.pay(mind.reward, None, mind.model, seen)
    assert seen.loss_tk is not None
    assert paid.r_tc is not None
    known = paid.is_known / paid.is_known.sum()
    wall_loss, wall_reward = seen.loss_tk[:, 0, ..., 0].mean(), (paid.r_tc[..., 0] * known).sum()
    # The channels behind the walls' are the objects'.
    is_seen = jnp.swapaxes(whole.o_t[:-1, ..., -len(world.objects) :].any(axis=(-3, -2)), 0, 1)
    return Lived(b_t[:, :-1], episodes.cells[:, :-1], is_seen, wall_loss, wall_reward)


def steps_since(is_seen: np.ndarray) -> np.ndarray:
    """Steps since each object was in view [E, S, N]; -1 before it ever was."""
    since = np.full(is_seen.shape, -1)
    for t in range(is_seen.shape[1]):
        before = since[:, t - 1] if t else since[:, t]
        since[:, t] = np.where(is_seen[:, t], 0, np.where(before >= 0, before + 1, -1))
    return since


def holds(lived: Lived, judged: Lived, world: Any, sought: list[int], ranges: list[tuple[int, int]]) -> list[list[str]]:
    """For each object, the loss at each range of steps, by a new probe that learns from such frames of `lived`.

    Nothing where fewer than a hundred frames are so long after.
    """
    probe = Probe(
        jax.random.key(2),
        belief_size=lived.b_t.shape[-1],
        num_objects=len(world.objects),
        num_cells=math.prod(world.map_shape),
        num_hidden=WIDE,
    )
    since, rng = steps_since(np.asarray(lived.is_seen)), np.random.default_rng(0)
    near = [np.argwhere((since[..., i] >= 0) & (since[..., i] < ranges[-1][1])) for i in sought]
    # As many frames of each object: one that an agent stays with would crowd out those that it passes.
    e, t = np.concatenate([rng.choice(frames, FRAMES) for frames in near]).T
    probe = jax.jit(trained_on)(probe, np.asarray(lived.b_t)[e, t], np.asarray(lived.cells)[e, t])
    loss = np.asarray(jax.jit(discovery_loss)(probe, judged.b_t, judged.cells))
    since = steps_since(np.asarray(judged.is_seen))

    def at(i: int, low: int, high: int) -> str:
        found = loss[..., i][(low <= since[..., i]) & (since[..., i] < high)]
        return f"{found.mean():.2f}" if len(found) >= 100 else ""

    return [[at(i, low, high) for low, high in ranges] for i in sought]


def trained_on(probe: Probe, b_n: Array, cells_n: Array) -> Probe:
    """The probe after more steps of its own loss."""
    adam = optax.adam(optax.linear_schedule(PROBE_RATE, PROBE_RATE / 10, PROBE_STEPS))

    def body(state, key):
        probe, moments = state
        chosen = jax.random.randint(key, (PROBE_BATCH,), 0, len(b_n))
        gradient = jax.grad(lambda p: discovery_loss(p, b_n[chosen], cells_n[chosen]).mean(axis=0).sum())(probe)
        step, moments = adam.update(gradient, moments)
        return (jax.tree.map(jnp.add, probe, step), moments), None

    keys = jax.random.split(jax.random.key(0), PROBE_STEPS)
    return lax.scan(body, (probe, adam.init(eqx.filter(probe, eqx.is_array))), keys)[0][0]


def rows(path: Path, ranges: list[tuple[int, int]]) -> tuple[str, str, str]:
    trained = load_trained(path)
    agent = trained.agent()
    mind, probe = agent.networks, agent.params.probe
    assert probe is not None
    key_own, key_walk, key_learn = jax.random.split(jax.random.key(1), 3)
    run = jax.jit(lambda mind, key, epsilon: live(agent, mind, key, epsilon, EPISODES["judged"]))
    own, walk = run(mind, key_own, 0.0), run(mind, key_walk, 1.0)
    other = jax.jit(lambda mind, key: live(agent, mind, key, 0.0, EPISODES["learned from"]))(mind, key_learn)
    flat = (x.reshape(-1, x.shape[-1]) for x in (other.b_t, other.cells))
    more = jax.jit(trained_on)(probe, *flat)
    sought = [agent.world.objects.index(name) for name in EXPERIMENTS[trained.config.world].discovers]
    before, after = (float(discovery_loss(probe, own.b_t, own.cells)[..., sought].mean()) for probe in (probe, more))
    walls = [own.wall_loss, walk.wall_loss, own.wall_reward, walk.wall_reward]
    return (
        f"| {path.stem} | " + " | ".join(f"{float(x):.3f}" for x in walls) + " |",
        f"| {path.stem} | {before:.2f} | {after:.2f} |",
        "\n".join(
            f"| {path.stem}: {agent.world.objects[i]} | " + " | ".join(losses) + " |"
            for i, losses in zip(sought, holds(other, own, agent.world, sought, ranges), strict=True)
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", type=Path, nargs="+")
    parser.add_argument("--until", type=int, default=50, choices=[high for _, high in SINCE])
    args = parser.parse_args()
    since = [(low, high) for low, high in SINCE if high <= args.until]
    walls, probes, held = zip(*(rows(path, since) for path in args.agents), strict=True)
    print("| agent | loss of walls: own way | random walk | reward for walls: own way | random walk |")
    print("|---|--:|--:|--:|--:|", *walls, "", sep="\n")
    print("| agent | discovery loss | with the probe trained on |\n|---|--:|--:|", *probes, "", sep="\n")
    ranges = " | ".join("in view" if high == 1 else f"{low} to {high - 1}" for low, high in since)
    print(f"| steps since the object was in view | {ranges} |", f"|---|{'--:|' * len(since)}", *held, sep="\n")


if __name__ == "__main__":
    main()
