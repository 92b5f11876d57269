"""The twin of `training.acting.play`: an episode in as few kernels as possible.

On a GPU each array that a loop writes to is a kernel of its own, and so is each sum or maximum over an axis; a small
kernel takes as long as a large one. Hence all records of a step are written as one array of bytes, the best action is
found by comparing one action after another, and the network's layers are `joined` before the loop.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, UInt8

from ndigo.agent import QNetwork, chance, draw_episode
from ndigo.evaluation.true_cells import object_cells
from ndigo.fast.encoder import for_a_loop
from ndigo.fast.pallas import on_gpu
from ndigo.frames import Bits
from ndigo.networks import MLP, Core, gru_step, project
from ndigo.types import Episode, action_type
from ndigo.worlds import World

STEPS_A_TURN = 4  # the loop's unrolling on a GPU: a turn itself costs a kernel or two


def play(
    world: World,
    network: JoinedLayers,
    key: Array,
    epsilon: Float[Array, ""],
    every: int = 1,
    longest_stretch: int = 1,
) -> Episode:
    S, A = world.num_steps, world.num_actions
    # Drawn before the loop: inside it each draw would be a kernel of its own.
    key_reset, keys, stretches = draw_episode(key, epsilon, S, A, longest_stretch)
    turn = min(STEPS_A_TURN, every) if on_gpu() else 1
    # Bits are packed after the loop, all at once; another frame need not be one array, nor of whole numbers.
    is_bits, pack = isinstance(world.frame, Bits), world.frame.pack

    def record(state, a_tm1, was_greedy):
        """A frame and how the agent came to it."""
        o_t = world.observe(state)
        return o_t if is_bits else pack(o_t), object_cells(world, state), a_tm1.astype(action_type(A)), was_greedy

    def body(carry, step):
        *seen, h_tm1 = carry
        state, a_tm1, _ = seen
        key_step, is_random, random_a = step
        h_t, q_t = network.step(world.observe(state), a_tm1, h_tm1)
        greedy = best(q_t)
        a_t = jnp.where(is_random, random_a, greedy)
        return (world.step(key_step, state, a_t), a_t, (a_t == greedy).astype(jnp.uint8), h_t), as_bytes(record(*seen))

    def stretch(carry, steps):
        after, records = lax.scan(body, carry, steps, unroll=turn)
        return after, (records, carry[-1])

    first = (world.reset(key_reset), jnp.int32(0), jnp.uint8(0), jnp.zeros(network.size))
    steps = jax.tree.map(
        lambda x: x.reshape(S // every, every, *x.shape[1:]), (keys, stretches.is_random, stretches.a_t)
    )
    (*last, _), (records, agent_state) = lax.scan(stretch, first, steps)
    end = record(*last)
    records = jnp.concatenate([records.reshape(S, -1), as_bytes(end)[None]])
    o_t, cells, a_tm1, was_greedy = from_bytes(records, end)
    return Episode(
        o_t=pack(o_t) if is_bits else o_t,
        a_tm1=a_tm1,
        cells=cells,
        a_t=a_tm1[1:],
        mu_t=chance(stretches.is_repeat, was_greedy[1:] == 1, epsilon, A),
        agent_state=agent_state,
    )


class JoinedLayers(eqx.Module):
    """A Q-network whose step is a few products."""

    encode: Callable[[Array], Array]
    from_features: Float[Array, "Z 3*D"]
    by_action: Float[Array, "A 3*D"]
    weight: Float[Array, "D 3*D"]
    heads: MLP

    @property
    def size(self) -> int:
        return self.weight.shape[0]

    def step(self, o_t: Array, a_tm1: Int[Array, "..."], h_tm1: Float[Array, "... D"]) -> tuple[Array, Array]:
        x_t = project(self.encode(o_t), self.from_features) + self.by_action[a_tm1]
        h_t = gru_step(self.weight, x_t, h_tm1)
        return h_t, self.heads(h_t)


def joined(network: QNetwork) -> JoinedLayers:
    """The Q-network in the form for many steps in a loop: what does not depend on the step is computed once."""
    core: Core = network.core
    return JoinedLayers(
        encode=for_a_loop(core.encoder),
        from_features=core.from_features.weight,
        by_action=core.by_action.astype(jnp.float32),
        weight=core.gru.weight,
        heads=join_heads(network),
    )


def join_heads(network: QNetwork) -> MLP:
    """q = v + adv - mean adv is linear in both heads' hidden layers, so they are one MLP."""

    def add(v: Array, advantage: Array) -> tuple[Array, Array]:
        v, advantage = v.astype(jnp.float32), advantage.astype(jnp.float32)
        shared = jnp.broadcast_to(v, (*v.shape[:-1], advantage.shape[-1]))
        return shared, advantage - advantage.mean(-1, keepdims=True)

    value, advantage = network.value.output, network.advantage.output
    output = [jnp.concatenate(add(value.weight, advantage.weight)), sum(add(value.bias, advantage.bias))]
    hidden = jax.tree.map(lambda *x: jnp.concatenate(x, axis=-1), network.value.hidden, network.advantage.hidden)
    return eqx.tree_at(
        lambda mlp: (mlp.hidden, mlp.output.weight, mlp.output.bias),
        network.advantage,
        (hidden, *(x.astype(advantage.weight.dtype) for x in output)),
    )


def best(q: Float[Array, " A"]) -> Int[Array, ""]:
    """The index of the largest value, the first where several are."""
    largest, where = q[0], jnp.int32(0)
    for a in range(1, len(q)):
        is_larger = q[a] > largest
        largest, where = jnp.where(is_larger, q[a], largest), jnp.where(is_larger, a, where)
    return where


def as_bytes(arrays: Sequence[Array]) -> UInt8[Array, " bytes"]:
    """Arrays of whole numbers end to end, the low byte of each first."""
    parts = [(x.ravel() >> 8 * i if i else x.ravel()).astype(jnp.uint8) for x in arrays for i in range(x.itemsize)]
    return jnp.concatenate(parts)


def from_bytes(rows: UInt8[Array, "S bytes"], like: Sequence[Array]) -> list[Array]:
    """The arrays that `as_bytes` made into rows; `like` are those of one row."""
    arrays, start = [], 0
    for x in like:
        parts = [rows[:, start + i * x.size : start + (i + 1) * x.size].astype(x.dtype) for i in range(x.itemsize)]
        whole = functools.reduce(operator.or_, (part << 8 * i if i else part for i, part in enumerate(parts)))
        arrays.append(whole.reshape(len(rows), *x.shape))
        start += x.nbytes
    return arrays
