"""This project's worlds (Experiment 1), in each of the forms a user can hold them."""

from __future__ import annotations

from contenders.contender import Contender, Run

SHOWS, MOVES = "5x5x3 one-hot uint8", "white noise, every step"


def start_world(copies: int) -> Run:
    from contenders.rollout import scanned
    from ndigo import EXPERIMENTS

    world = EXPERIMENTS["exp1"].world

    def step(key, state, a_t):
        state = world.step(key, state, a_t)
        return state, world.observe(state)

    return scanned(world.reset, step, world.num_actions, copies)


def start_gymnax_style(copies: int) -> Run:
    from contenders.rollout import scanned
    from ndigo import EXPERIMENTS
    from ndigo.interop.gymnax import GymnaxWorld

    env = GymnaxWorld(EXPERIMENTS["exp1"].world)

    def step(key, state, a_t):
        o_t, state, *_ = env.step(key, state, a_t)
        return state, o_t

    return scanned(lambda key: env.reset(key)[1], step, env.num_actions, copies)


def start_single(copies: int) -> Run:
    import gymnasium
    import numpy as np

    import ndigo.interop.gymnasium  # noqa: F401 (registers)

    env = gymnasium.make("ndigo/FiveRooms-v0", experiment=1)

    def run(seed: int) -> int:
        actions, total = np.random.default_rng(seed).integers(5, size=10 * 400).tolist(), 0
        for t, action in enumerate(actions):
            if t % 400 == 0:
                env.reset(seed=seed + t)
            total += int(env.step(action)[0][2, 2, 1])
        return len(actions)

    return run


def start_vector(copies: int) -> Run:
    import gymnasium
    import numpy as np

    import ndigo.interop.gymnasium  # noqa: F401 (registers)

    envs = gymnasium.make_vec("ndigo/FiveRooms-v0", num_envs=copies, experiment=1)

    def run(seed: int) -> int:
        actions, total = np.random.default_rng(seed).integers(5, size=(400, copies)), 0
        envs.reset(seed=seed)
        for a_t in actions:
            total += int(envs.step(a_t)[0].sum())
        return actions.size

    return run


CONTENDERS = {
    "ndigo": Contender("ndigo", SHOWS, MOVES, "all copies, every 400 steps", start_world),
    "ndigo-gymnax": Contender("ndigo, gymnax interface", SHOWS, MOVES, "inside every step", start_gymnax_style),
    "ndigo-single": Contender(
        "ndigo, Gymnasium", SHOWS, MOVES + "; truth in info", "every 400 steps", start_single, copies=(1,)
    ),
    "ndigo-vector": Contender(
        "ndigo, Gymnasium vector", SHOWS, MOVES + "; truth in info", "all copies, every 400 steps", start_vector
    ),
}
