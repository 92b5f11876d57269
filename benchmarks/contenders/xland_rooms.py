"""XLand-MiniGrid's four rooms, with its own autoreset wrapper and, to its favour, without."""

from __future__ import annotations

from contenders.contender import Contender, Run


def start_with(does_reset: bool, copies: int) -> Run:
    import jax
    import xminigrid  # pyright: ignore[reportMissingImports]
    from xminigrid.wrappers import GymAutoResetWrapper  # pyright: ignore[reportMissingImports]

    from contenders.rollout import scanned

    env, params = xminigrid.make("MiniGrid-FourRooms")
    params = params.replace(view_size=5)
    if does_reset:
        env = GymAutoResetWrapper(env)

    def step(key: jax.Array, timestep, a_t):
        timestep = env.step(params, timestep, a_t)
        return timestep, timestep.observation

    return scanned(lambda key: env.reset(params, key), step, 3, copies)  # forward, right, left


SHOWS, REQUIREMENTS = "5x5x2 symbols", ("xminigrid==0.9.3", "jax==0.10.2")
CONTENDERS = {
    "xland": Contender(
        "XLand-MiniGrid FourRooms", SHOWS, "nothing", "none", lambda n: start_with(False, n), requirements=REQUIREMENTS
    ),
    "xland-reset": Contender(
        "XLand-MiniGrid FourRooms", SHOWS, "nothing", "inside every step", lambda n: start_with(True, n),
        requirements=REQUIREMENTS,
    ),
}  # fmt: skip
