"""How actors explore: epsilon-z-greedy (Dabney, Ostrovski and Barreto, 2021).

At each step an actor that is not in a random stretch begins one with chance epsilon: one uniformly drawn action,
repeated for n steps,

    P(n) ~ n^-2,   n cut at `longest`

Otherwise it takes its network's best action. Long stretches are what carries an actor out of a room: single random
steps come only sqrt(S) far in S steps. With `longest` = 1 this is plain epsilon-greedy.

# Paper: only the number of actors is printed. Ours: epsilon-z-greedy, epsilons up to 1, because what has been learned
# pays nothing any more: greedy policies then freeze wherever they are, and single random steps do not get away from
# there (docs/deviations.md).
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

EXPONENT = 2.0  # of the stretches' lengths (Dabney et al.)


class Stretches(eqx.Module):
    """The random stretches of one episode, step by step."""

    is_random: Bool[Array, " S"]  # inside a stretch
    is_repeat: Bool[Array, " S"]  # inside one, and not its first step
    a_t: Int[Array, " S"]  # what the actor does inside one


def chance(
    is_repeat: Bool[Array, "..."], is_greedy: Bool[Array, "..."], epsilon: Float[Array, ""], num_actions: int
) -> Float[Array, "..."]:
    """mu(a_t), the probability with which the actor chose a_t; inside a stretch it is 1, as it has no choice."""
    by_chance = epsilon / num_actions
    return jnp.where(is_repeat, 1.0, jnp.where(is_greedy, 1 - epsilon + by_chance, by_chance))


def draw_episode(
    key: Array, epsilon: Float[Array, ""], num_steps: int, num_actions: int, longest: int = 1
) -> tuple[Array, Array, Stretches]:
    """All of an episode's randomness: the reset's key, a key for each of the world's steps, the random stretches."""
    key_reset, key_world, key_explore = jax.random.split(key, 3)
    stretches = draw_stretches(key_explore, epsilon, num_steps, num_actions, longest)
    return key_reset, jax.random.split(key_world, num_steps), stretches


def draw_stretches(
    key: Array, epsilon: Float[Array, ""], num_steps: int, num_actions: int, longest: int = 1
) -> Stretches:
    """A whole episode's stretches. They depend on no state, so they are drawn without a loop over steps.

    Gaps and stretches alternate: gap i lasts g_i >= 0 steps, P(g) = epsilon (1 - epsilon)^g, and stretch i lasts
    n_i >= 1. So stretch i ends at the sum of the first i gaps and lengths.
    """
    key_gap, key_length, key_action = jax.random.split(key, 3)
    S = num_steps
    u = jax.random.uniform(key_gap, (S,), minval=jnp.finfo(jnp.float32).tiny)
    gap = jnp.clip(jnp.log(u) / jnp.log1p(-epsilon), 0, S).astype(jnp.int32)  # S where epsilon is 0
    length = draw_lengths(key_length, S, longest)
    end = jnp.cumsum(gap + length)
    which = jnp.cumsum(jnp.zeros(S, jnp.int32).at[end].add(1, mode="drop"))  # how many have ended by step t
    into = jnp.arange(S) - (end - length)[which]  # steps since the current one began; negative before
    return Stretches(
        is_random=into >= 0,
        is_repeat=into > 0,
        a_t=jax.random.randint(key_action, (S,), 0, num_actions)[which],
    )


def draw_lengths(key: Array, num: int, longest: int) -> Int[Array, " num"]:
    """n with P(n) = n^-2 / zeta(2); what is longer than `longest` is cut to it."""
    share = np.arange(1, longest, dtype=np.float64) ** -EXPONENT / (math.pi**2 / 6)
    below = jnp.asarray(np.cumsum(share), jnp.float32)  # P(length <= n), n = 1 .. longest - 1
    return 1 + (jax.random.uniform(key, (num, 1)) >= below).sum(axis=1, dtype=jnp.int32)


def actor_epsilons(num_actors: int, first: float, last: float) -> Float[Array, " E"]:
    """Each actor's epsilon: from `first` to `last` in equal ratios; a single actor has `first`."""
    share = jnp.arange(num_actors) / max(num_actors - 1, 1)
    return first ** (1 - share) * last**share
