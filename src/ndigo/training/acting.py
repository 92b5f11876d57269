"""Episodes: a world, the Q-network that acts in it, and the beliefs it would have had.

The belief never steers the agent, so it is unrolled after the episode, over all frames at once; only
the policy runs step by step.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, UInt8

from ndigo.agent import QNetwork, pack, unpack, window_starts
from ndigo.evaluation.glass_box import object_cells
from ndigo.networks import Core
from ndigo.types import Window
from ndigo.worlds import World


class Episode(eqx.Module):
    """One episode of S steps and S+1 frames; frames are packed."""

    o_t: UInt8[Array, "S+1 P"]
    a_tm1: Int[Array, " S+1"]
    cells: Int[Array, "S+1 N"]
    a_t: Int[Array, " S"]
    mu_t: Float[Array, " S"]
    q_state: Float[Array, "S D"]  # before each frame


def run_episode(world: World, q: QNetwork, key: Array, epsilon: Float[Array, ""]) -> Episode:
    """Plays one episode epsilon-greedily; an epsilon of 1 acts at random."""
    S, A = world.num_steps, world.num_actions
    key_reset, key_world, key_explore, key_action = jax.random.split(key, 4)
    # Drawn before the loop: inside it each draw would be a kernel of its own.
    keys = jax.random.split(key_world, S)
    explores = jax.random.uniform(key_explore, (S,)) < epsilon
    random_a = jax.random.randint(key_action, (S,), 0, A)
    small = jnp.int8 if A <= 127 else jnp.int32  # how the replay stores actions
    policy = q.for_steps()

    def frame(state, a_tm1):
        return pack(world.observe(state)), a_tm1.astype(small), object_cells(world, state)

    def body(carry, step):
        state, a_tm1, q_state = carry
        key_step, explores, random_a = step
        h_t, q_t = policy.step(world.observe(state), a_tm1, q_state)
        greedy = q_t.argmax(axis=-1)
        a_t = jnp.where(explores, random_a, greedy)
        mu_t = jnp.where(a_t == greedy, 1 - epsilon + epsilon / A, epsilon / A)
        return (world.step(key_step, state, a_t), a_t, h_t), (*frame(state, a_tm1), a_t.astype(small), mu_t, q_state)

    # b_0 = GRU(z_0, stay, 0): action 0 stands before the first frame.
    first = (world.reset(key_reset), jnp.int32(0), jnp.zeros(q.core.size))
    (state, a_tm1, _), (o_t, a_tm1_t, cells, a_t, mu_t, q_state) = lax.scan(body, first, (keys, explores, random_a))
    frames = jax.tree.map(
        lambda x_t, end: jnp.concatenate([x_t, end[None]]), (o_t, a_tm1_t, cells), frame(state, a_tm1)
    )
    return Episode(*frames, a_t=a_t, mu_t=mu_t, q_state=q_state)


def beliefs(core: Core, episodes: Episode, shape: tuple[int, int, int]) -> Float[Array, "E S+1 D"]:
    """b_t after every frame of a batch of episodes [E, ...]."""
    z_t = core.encoder(jnp.swapaxes(unpack(episodes.o_t, shape), 0, 1))
    b_t = core.unroll(z_t, episodes.a_tm1.T.astype(jnp.int32), jnp.zeros((len(episodes.a_t), core.size)))
    return jnp.swapaxes(b_t, 0, 1)


def cut_windows(
    episode: Episode, b_t: Float[Array, "S+1 D"], T: int, r_tc: Float[Array, "S C"] | None = None
) -> Window:
    """An episode as its replay rows, [W, T, ...], frames packed, each with the states before its first frame."""
    starts = window_starts(len(episode.a_t), T)

    def rows(x_t: Array, length: int) -> Array:
        return jnp.stack([x_t[s : s + length] for s in starts])

    return Window(
        o_t=rows(episode.o_t, T + 1),
        a_tm1=rows(episode.a_tm1, T + 1),
        a_t=rows(episode.a_t, T),
        mu_t=rows(episode.mu_t, T),
        belief=jnp.stack([b_t[s - 1] if s else jnp.zeros_like(b_t[0]) for s in starts]),
        q_state=jnp.stack([episode.q_state[s] for s in starts]),
        start=jnp.array(starts, jnp.int32),
        cells=rows(episode.cells, T + 1),
        r_tc=None if r_tc is None else rows(r_tc, T),
    )
