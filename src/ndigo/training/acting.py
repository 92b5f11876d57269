"""Episodes: a world, the Q-network that acts in it and the belief that runs beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ndigo.agent import pack, window_starts
from ndigo.evaluation.glass_box import object_cells
from ndigo.training.learner import Params
from ndigo.types import Window
from ndigo.worlds import World


class Frame(eqx.Module):
    """One step of an episode, as the scan emits it."""

    o_t: Array
    a_tm1: Array
    a_t: Array
    mu_t: Array
    belief: Array  # before o_t
    q_state: Array  # before o_t
    cells: Array
    watched: Any


def run_episode(
    world: World,
    params: Params,
    key: Array,
    epsilon: Float[Array, ""],
    *,
    watch: Callable[[Any, Array], Any] = lambda state, b_t: None,
) -> tuple[Frame, Frame]:
    """Plays one episode epsilon-greedily: its steps 0..S-1, and the last frame o_S (whose a_t is unused).

    `watch(state, b_t)` is evaluated at every step and kept in `watched`. An epsilon of 1 acts at random.
    """
    S, A = world.num_steps, world.num_actions
    key_reset, key_world, key_explore, key_action = jax.random.split(key, 4)
    # Drawn before the loop: inside it each draw would be a kernel of its own.
    keys = jax.random.split(key_world, S)
    explores = jax.random.uniform(key_explore, (S,)) < epsilon
    random_a = jax.random.randint(key_action, (S,), 0, A)

    def look(state, a_tm1, belief, q_state, explores, random_a):
        o_t = world.observe(state)
        b_t = params.model.core.step(o_t, a_tm1, belief)
        h_t = params.q.core.step(o_t, a_tm1, q_state)
        greedy = params.q.heads(h_t).argmax(axis=-1)
        a_t = jnp.where(explores, random_a, greedy)
        mu_t = jnp.where(a_t == greedy, 1 - epsilon + epsilon / A, epsilon / A)
        frame = Frame(
            o_t=pack(o_t),
            a_tm1=a_tm1.astype(jnp.int8),
            a_t=a_t.astype(jnp.int8),
            mu_t=mu_t,
            belief=belief,
            q_state=q_state,
            cells=object_cells(world, state),
            watched=watch(state, b_t),
        )
        return frame, a_t, b_t, h_t

    def body(carry, step):
        state, a_tm1, belief, q_state = carry
        key_step, explores, random_a = step
        frame, a_t, b_t, h_t = look(state, a_tm1, belief, q_state, explores, random_a)
        return (world.step(key_step, state, a_t), a_t, b_t, h_t), frame

    # b_0 = GRU(z_0, stay, 0): action 0 stands before the first frame.
    nothing = jnp.zeros(params.model.core.size)
    first = (world.reset(key_reset), jnp.int32(0), nothing, jnp.zeros(params.q.core.size))
    last, frames = lax.scan(body, first, (keys, explores, random_a))
    return frames, look(*last, jnp.bool_(False), jnp.int32(0))[0]


def cut_windows(frames: Frame, last: Frame, T: int) -> Window:
    """An episode as its replay rows, [W, T, ...], frames packed."""
    starts = window_starts(len(frames.a_t), T)
    with_last = jax.tree.map(
        lambda x_t, end: jnp.concatenate([x_t, end[None]]),
        (frames.o_t, frames.a_tm1, frames.cells),
        (last.o_t, last.a_tm1, last.cells),
    )

    def rows(x_t: Array, length: int) -> Array:
        return jnp.stack([x_t[s : s + length] for s in starts])

    o_t, a_tm1, cells = (rows(x, T + 1) for x in with_last)
    at_start = jnp.array(starts)
    return Window(
        o_t=o_t,
        a_tm1=a_tm1,
        a_t=rows(frames.a_t, T),
        mu_t=rows(frames.mu_t, T),
        belief=frames.belief[at_start],
        q_state=frames.q_state[at_start],
        start=at_start.astype(jnp.int32),
        cells=cells,
    )
