"""gymnax's MetaMaze, the smallest grid world there is, with its own autoreset and, to its favour, without."""

from __future__ import annotations

from contenders.contender import Contender, Run


def start_with(does_reset: bool, copies: int) -> Run:
    import gymnax  # pyright: ignore[reportMissingImports]

    from contenders.rollout import scanned

    env, params = gymnax.make("MetaMaze-misc")
    advance = env.step if does_reset else env.step_env

    def step(key, state, a_t):
        o_t, state, *_ = advance(key, state, a_t, params)
        return state, o_t

    return scanned(lambda key: env.reset(key, params)[1], step, env.num_actions, copies)


SHOWS, MOVES = "15 floats: 3x3 walls, last action, reward, time", "nothing"
REQUIREMENTS = ("gymnax==1.0.1", "jax==0.10.2", "six==1.17.0")  # gymnax imports six without asking for it
CONTENDERS = {
    "gymnax": Contender(
        "gymnax MetaMaze", SHOWS, MOVES, "none", lambda n: start_with(False, n), requirements=REQUIREMENTS
    ),
    "gymnax-reset": Contender(
        "gymnax MetaMaze", SHOWS, MOVES, "inside every step", lambda n: start_with(True, n), requirements=REQUIREMENTS
    ),
}
