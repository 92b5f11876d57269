"""MiniGrid's four rooms, the closest of its worlds: 19x19, an egocentric view, nothing else moves."""

from __future__ import annotations

import random

from contenders.contender import Contender, Run

STEPS = 20_000  # in one timing, over all copies


def start(copies: int) -> Run:
    import gymnasium
    import minigrid  # noqa: F401 (registers)  # pyright: ignore[reportMissingImports]

    envs = [gymnasium.make("MiniGrid-FourRooms-v0", agent_view_size=5, max_steps=400) for _ in range(copies)]

    def run(seed: int) -> int:
        random.seed(seed)
        total, num_rounds = 0, max(1, STEPS // copies)
        is_over = [True] * copies
        for _ in range(num_rounds):
            for i, env in enumerate(envs):
                if is_over[i]:
                    env.reset(seed=random.randrange(2**31))
                o_t, _, terminated, truncated, _ = env.step(random.randrange(3))  # left, right, forward
                is_over[i] = terminated or truncated
                total += int(o_t["image"][2, 2, 0])
        return num_rounds * copies

    return run


CONTENDERS = {
    "minigrid": Contender(
        "MiniGrid FourRooms",
        "5x5x3 symbols, occluded",
        "nothing",
        "when over",
        start,
        requirements=("minigrid==3.2.0", "numpy==2.4.6"),
    )
}
