"""Steps per second of a suite through our adapter, beside its own step with its own reset, in one run.

    python benchmarks/suites.py                                            every suite that is installed
    python benchmarks/suites.py navix::Navix-DoorKey-8x8-v0 --actors 256   these worlds, at that number of copies

Both scan random actions, carry frame, reward and end from step to step, and add up every frame. The calls of the two
take turns, so that whatever else the machine does falls on both. The table gives the median over the pairs of calls,
and the quartiles beside it. Where the processor is the device, it also gives the ratio of processor time, which other
programs disturb less.

The two do not do the same work:

- Ours splits a key per copy and step, for the step and for the reset, as gymnax and Craftax do.
- Ours shows the true last frame of an episode, and makes new worlds only where one is over. A suite's own reset makes
  one at every step of every copy, or in the step that follows.
- Ours shows each frame as bits or tiles, as it is learned from. A suite's is added up as it is.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from rich.console import Console
from rich.table import Table

from ndigo.fast.resets import begin_where
from ndigo.interop.suites import suite_world
from ndigo.worlds import World

WORLDS = (
    "gymnax::Breakout-MinAtar",
    "navix::Navix-DoorKey-8x8-v0",
    "xminigrid::XLand-MiniGrid-R4-9x9",
    "craftax::Craftax-Classic-Symbolic-v1",
    "craftax::Craftax-Symbolic-v1",
)
Scan = Callable[[Any], Any]  # key -> a number that depends on every frame
Made = tuple[Callable[[Any], Any], Callable[[Any, Any, Any], Any], Callable[[Any], Any]]  # reset, step, frame of state


def ours(world: World) -> Made:
    assert world.ends is not None
    ends: Any = world.ends

    def step(key: Any, state: Any, a_t: Any) -> Any:
        key_step, key_reset = jax.random.split(key)
        return begin_where(world.reset, ends(state)[0], key_reset, world.step(key_step, state, a_t))

    return world.reset, step, world.observe


def gymnax(id_: str) -> Made:
    env, params = importlib.import_module("gymnax").make(id_)
    return (
        lambda key: (*env.reset(key, params), jnp.float32(0), jnp.bool_(False), jnp.bool_(False)),
        lambda key, state, a_t: env.step(key, state[1], a_t, params)[:5],
        lambda state: state[0],
    )


def navix(id_: str) -> Made:
    env = importlib.import_module("navix").make(id_)
    return env.reset, lambda key, timestep, a_t: env.step(timestep, a_t), lambda timestep: timestep.observation


def xminigrid(id_: str) -> Made:
    env, params = importlib.import_module("xminigrid").make(id_)
    env = importlib.import_module("xminigrid.wrappers").GymAutoResetWrapper(env)
    return (
        lambda key: env.reset(params, key),
        lambda key, timestep, a_t: env.step(params, timestep, a_t),
        lambda timestep: timestep.observation,
    )


def craftax(id_: str) -> Made:
    env = importlib.import_module("craftax.craftax_env").make_craftax_env_from_name(id_, auto_reset=True)
    params = env.default_params
    return (
        lambda key: (*env.reset(key, params), jnp.float32(0), jnp.bool_(False)),
        lambda key, state, a_t: env.step(key, state[1], a_t, params)[:4],
        lambda state: state[0],
    )


THEIRS = {"gymnax": gymnax, "navix": navix, "xminigrid": xminigrid, "craftax": craftax}


def scan_of(made: Made, num_actions: int, num_actors: int, num_steps: int) -> Scan:
    """All actors' random walks; frames are added up, so that none is left out."""
    reset, step, frame = made

    def body(carry: Any, key: Any) -> Any:
        state, total = carry
        key_step, key_a = jax.random.split(key)
        a_t = jax.random.randint(key_a, (num_actors,), 0, num_actions)
        state = jax.vmap(step)(jax.random.split(key_step, num_actors), state, a_t)
        seen = sum(x.astype(jnp.float32).sum() for x in jax.tree.leaves(jax.vmap(frame)(state)))
        return (_alike(state, carry[0]), total + seen), None

    def run(key: Any) -> Any:
        key_reset, key_run = jax.random.split(key)
        state = jax.vmap(reset)(jax.random.split(key_reset, num_actors))
        return lax.scan(body, (state, jnp.float32(0)), jax.random.split(key_run, num_steps))[0][1]

    return jax.jit(run)


def _alike(new: Any, old: Any) -> Any:
    """Some suites begin with other types than they go on with."""
    return jax.tree.map(lambda x, y: x.astype(y.dtype) if hasattr(y, "dtype") else x, new, old)


class Took(NamedTuple):
    """Of each call: seconds on the clock, and of all threads of this process."""

    wall: list[float]
    processor: list[float]


def side_by_side(scans: dict[str, Scan], repeats: int) -> dict[str, Took]:
    """What each call took, in turns; the first calls, which compile, are not counted."""
    for scan in scans.values():
        jax.block_until_ready(scan(jax.random.key(0)))
    took = {name: Took([], []) for name in scans}
    for i in range(repeats):
        for name, scan in scans.items():
            wall, processor = time.perf_counter(), time.process_time()
            jax.block_until_ready(scan(jax.random.key(i + 1)))
            took[name].wall.append(time.perf_counter() - wall)
            took[name].processor.append(time.process_time() - processor)
    return took


def shares(ours: list[float], own: list[float]) -> list[float]:
    """Quartiles of ours over its own, pair by pair."""
    return statistics.quantiles((a / b for a, b in zip(ours, own, strict=True)), n=4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="*", metavar="SUITE::ID", help="default: one or two of every suite installed")
    parser.add_argument("--actors", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=31, help="calls of each; at least 2")
    parser.add_argument("--json", type=Path, help="where the figures go")
    args = parser.parse_args()
    names = args.worlds or [name for name in WORLDS if importlib.util.find_spec(name.partition("::")[0])]
    if unknown := [name for name in names if name.partition("::")[0] not in THEIRS]:
        parser.error(f"{unknown[0]}: name SUITE::ID with one of {', '.join(THEIRS)}")
    table = Table("world", "ours, steps/s", "its own, steps/s", "ours takes (quartiles)", "processor time")
    by_world = {}
    for name in names:
        world, (suite, _, id_) = suite_world(name), name.partition("::")
        scans = {
            "ours": scan_of(ours(world), world.num_actions, args.actors, args.steps),
            "its own": scan_of(THEIRS[suite](id_), world.num_actions, args.actors, args.steps),
        }
        took = side_by_side(scans, max(args.repeats, 2))
        low, middle, high = shares(took["ours"].wall, took["its own"].wall)
        processor = shares(took["ours"].processor, took["its own"].processor)[1]
        rates = [f"{args.actors * args.steps / statistics.median(of.wall):,.0f}" for of in took.values()]
        said = f"{processor:.2f} times" if jax.default_backend() == "cpu" else "-"
        table.add_row(name, *rates, f"{middle:.2f} times ({low:.2f} to {high:.2f})", said)
        by_world[name] = {"actors": args.actors, "steps": args.steps, "share": middle, "processor_share": processor}
        by_world[name]["took"] = {kind: of._asdict() for kind, of in took.items()}
    Console(width=120).print(table, f"{jax.devices()[0].device_kind}, {args.actors} copies, {args.steps} steps")
    if args.json is not None:
        args.json.write_text(json.dumps({"device": jax.devices()[0].device_kind, "worlds": by_world}, indent=1))


if __name__ == "__main__":
    main()
