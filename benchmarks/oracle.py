"""Time the exact filter: `python -m benchmarks.oracle [--episodes 1024] [--experiment exp1]`.

Filters that many whole episodes of a random walker, keeping every belief, and prints the median of
five runs after one that compiles.
"""

from __future__ import annotations

import argparse
import statistics
import time

import jax

from ndigo.agent import random_walker
from ndigo.oracle import make_filter
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.worlds.rollout import rollout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1024)
    parser.add_argument("--experiment", default="exp1")
    args = parser.parse_args()
    world = EXPERIMENTS[args.experiment].world
    T = world.num_steps
    walk = jax.jit(jax.vmap(lambda key: rollout(world, random_walker(world), key)))
    walks = walk(jax.random.split(jax.random.key(0), args.episodes))
    a_t, o_t = walks.a_t, walks.o_t
    run = jax.jit(jax.vmap(make_filter(world).run))
    started = time.perf_counter()
    jax.block_until_ready(run(a_t, o_t))
    first = time.perf_counter() - started
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        jax.block_until_ready(run(a_t, o_t))
        seconds.append(time.perf_counter() - started)
    median = statistics.median(seconds)
    print(
        f"{args.experiment}: {args.episodes} episodes x {T} steps filtered in {median:.2f} s "
        f"({min(seconds):.2f}-{max(seconds):.2f}; first call with compilation {first:.1f} s), "
        f"{args.episodes * T / median / 1e6:.2f} M steps/s on {jax.devices()[0].device_kind}"
    )


if __name__ == "__main__":
    main()
