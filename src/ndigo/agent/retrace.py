"""Retrace (Munos et al. 2016) and R2D2's rescaling of values (Pohlen et al. 2018)."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

EPSILON = 1e-3  # paper (R2D2)


def rescale(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """h(x) = sign(x) (sqrt(|x| + 1) - 1) + epsilon x.

    sqrt(|x| + 1) - 1 is computed as |x| / (sqrt(|x| + 1) + 1), which cancels nothing near 0.
    """
    return x / (jnp.sqrt(jnp.abs(x) + 1) + 1) + EPSILON * x


def unscale(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """h^-1(x) = sign(x) d (d + 2),   d = 2|x| / (1 + 2e + sqrt((1 + 2e)^2 + 4e|x|)).

    e is EPSILON. d = sqrt(|h^-1(x)| + 1) - 1 solves e d^2 + (1 + 2e) d = |x|, in the form that cancels nothing: the
    textbook inverse is off by 1e-4 in float32, and intrinsic rewards are that small.
    """
    size = jnp.abs(x)
    b = 1 + 2 * EPSILON
    d = 2 * size / (b + jnp.sqrt(b * b + 4 * EPSILON * size))
    return jnp.sign(x) * d * (d + 2)


def retrace_targets(
    *,
    r_t: Float[Array, "T ..."],
    v_tp1: Float[Array, "T ..."],
    q_tp1: Float[Array, "T ..."],
    c_tp1: Float[Array, "T ..."],
    gamma: float | Float[Array, "T ..."],
) -> Float[Array, "T ..."]:
    """The corrected return of every step of a window, on raw (unscaled) rewards and values.

        G_t = r_t + gamma_t (V_{t+1} + c_{t+1} (G_{t+1} - Q_{t+1}))

    V is the target policy's value, Q the value of the action taken, c = lambda min(1, pi / mu). The last step of the
    window or of an episode is bootstrapped from V: its c_tp1 must be 0, and its q_tp1 then has no effect. gamma_t is 0
    where an episode terminates; an episode that is merely cut is bootstrapped from its true last frame.
    """

    # G_t = x_t + y_t G_{t+1} is linear: an associative scan needs log2(T) passes in place of T steps.
    x_t, y_t = r_t + gamma * (v_tp1 - c_tp1 * q_tp1), gamma * c_tp1

    def join(later: tuple[Array, Array], earlier: tuple[Array, Array]) -> tuple[Array, Array]:
        return earlier[0] + earlier[1] * later[0], earlier[1] * later[1]

    return lax.associative_scan(join, (x_t, y_t), reverse=True)[0]
