"""NAVIX's four rooms: MiniGrid's in JAX, with its own autoreset and, to its favour, without."""

from __future__ import annotations

from contenders.contender import Contender, Run


def start_with(method: str, copies: int) -> Run:
    import jax
    import navix  # pyright: ignore[reportMissingImports]

    from contenders.rollout import scanned

    env = navix.make("Navix-FourRooms-v0", observation_fn=navix.observations.symbolic_first_person)
    advance = getattr(env, method)

    def step(key: jax.Array, timestep, a_t):
        timestep = advance(timestep, a_t)
        return timestep, timestep.observation

    # Actions left, right, forward; as many steps as its episode has, for 400 would take minutes.
    return scanned(env.reset, step, 3, copies, num_steps=100)


SHOWS, REQUIREMENTS = "7x7x3 symbols, occluded", ("navix==0.7.4", "jax==0.10.2")
CONTENDERS = {
    "navix": Contender(
        "NAVIX FourRooms", SHOWS, "nothing", "none", lambda n: start_with("_step", n), requirements=REQUIREMENTS
    ),
    "navix-reset": Contender(
        "NAVIX FourRooms", SHOWS, "nothing", "inside every step", lambda n: start_with("step", n),
        requirements=REQUIREMENTS,
    ),
}  # fmt: skip
