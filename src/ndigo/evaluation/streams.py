"""What an episode that ends by itself shows: places, events, the task's return, and the intrinsic reward.

Each stream here starts with an episode's first frame. Only that episode counts, up to its last frame or to the end of
the stream.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, UInt32

from ndigo.agents.agent import Params
from ndigo.evaluation.coverage import distinct, place_of
from ndigo.evaluation.measure import Evaluation, Measured
from ndigo.evaluation.visits import in_view, visits
from ndigo.model import discovery_loss
from ndigo.rewards import IntrinsicReward, task_of
from ndigo.types import Window
from ndigo.worlds import World

AT_ONCE = 10  # episodes, at most: the model's answers for all steps and horizons are large
MOST_ANSWERS = 2**28  # numbers among them, for one seed: a gigabyte


class Note(eqx.Module):
    """What the measures need of a state."""

    place: UInt32[Array, ""]
    happens: Bool[Array, " events"]


def note(world: World, state: Any) -> Note:
    happens = jnp.zeros(0, bool) if world.happens is None else world.happens(state)
    return Note(place=place_of(world, state), happens=happens)


def seen_names(world: World) -> list[str]:
    """The names of all that visits are counted of: objects that can be in view, then events."""
    return [channel.name for channel in world.channels if channel.kind == "one_hot"] + list(world.events)


def measure_streams(world: World, reward: IntrinsicReward, params: Params, streams: Window, notes: Note) -> Measured:
    """What E greedy streams [E, S, ...] show, with a note of each of their states [E, S+1]; their frames are packed."""

    def of_one(stream_and_notes: tuple[Window, Note]) -> Evaluation:
        stream, noted = stream_and_notes
        assert stream.is_first is not None
        frames = world.frame.unpack(stream.o_t)
        is_counted = jnp.cumsum(stream.is_first) == 1
        is_step = is_counted[1:]
        is_there = jnp.concatenate([in_view(world.frame, frames), noted.happens], axis=-1)
        found = visits(is_there & is_counted[:, None])
        window = eqx.tree_at(
            lambda w: (w.o_t, w.a_tm1, w.a_t, w.cells),
            stream,
            (frames, stream.a_tm1.astype(jnp.int32), stream.a_t.astype(jnp.int32), stream.cells.astype(jnp.int32)),
        )
        seen, paid = params.pay(reward, window)
        known = paid.is_known & is_step
        loss = jnp.zeros((len(is_counted), 0))
        if params.probe is not None:
            loss = discovery_loss(params.probe, seen.b_t, window.cells)
        return Evaluation(
            visits=found.count,
            first_visit=jnp.where(found.is_seen, found.first, world.num_steps),
            frequency=found.is_seen.astype(jnp.float32),
            discovery_loss=_mean(loss, is_counted),
            coverage=distinct(noted.place, is_counted).astype(jnp.float32),
            task_return=jnp.where(is_step, task_of(stream), 0.0).sum(),
            episode_steps=is_step.sum().astype(jnp.float32),
            reward=_mean(paid.r_t, known),
            reward_c=None if paid.r_tc is None else _mean(paid.r_tc, known),
            model_loss_c=None if seen.loss_tk is None else _mean(seen.loss_tk[:, 0], is_step),
        )

    num, model = len(streams.start), params.model
    answers = 0 if model.predictor is None else world.num_steps * model.num_ahead * model.likelihood.num_outputs
    at_once = max(n for n in range(1, AT_ONCE + 1) if num % n == 0 and (n == 1 or n * answers <= MOST_ANSWERS))
    # Not lax.map(batch_size=...): it cannot reshape arrays with an empty axis, as cells are where nobody knows them.
    blocks = jax.tree.map(lambda x: x.reshape(num // at_once, at_once, *x.shape[1:]), (streams, notes))
    found = lax.map(jax.vmap(of_one), blocks)
    return Measured(evaluation=jax.tree.map(lambda x: x.reshape(num, *x.shape[2:]), found), tracking=None)


def _mean(x_t: Float[Array, "T ..."], counts: Bool[Array, " T"]) -> Float[Array, "..."]:
    weight = counts / jnp.maximum(counts.sum(), 1)
    return (x_t * weight.reshape(-1, *(1,) * (x_t.ndim - 1))).sum(axis=0)
