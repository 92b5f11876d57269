"""What episodes show of an agent: how often it saw each object, and how well it knows where they are."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ndigo.evaluation.tracking import Tracking, track
from ndigo.evaluation.visits import in_view, visits
from ndigo.model import Probe, discovery_loss
from ndigo.types import Episode
from ndigo.worlds import World

AT_ONCE = 10  # episodes: the probe's answers over all cells are by far the largest array


class Evaluation(eqx.Module):
    """What one episode shows: visits of what can be in view (`streams.seen_names`), discovery loss of the objects."""

    visits: Float[Array, " seen"]
    first_visit: Float[Array, " seen"]
    frequency: Float[Array, " seen"]  # 1 where the episode saw it, so that the mean is the share of episodes that did
    discovery_loss: Float[Array, " N"]  # nats, mean over steps; empty where there is no probe
    # The rest only where episodes end by themselves, of one episode of at most `num_steps` steps (`streams.py`).
    coverage: Float[Array, ""] | None = None  # distinct places
    task_return: Float[Array, ""] | None = None  # undiscounted
    episode_steps: Float[Array, ""] | None = None
    reward: Float[Array, ""] | None = None  # the intrinsic reward per step
    reward_c: Float[Array, " C"] | None = None  # where the pay has a split
    model_loss_c: Float[Array, " C"] | None = None  # nats, one step ahead, where something is predicted


class Measured(eqx.Module):
    """What E episodes of one seed show."""

    evaluation: Evaluation  # each field with a leading E
    tracking: Tracking | None  # sums over the episodes; None where there is no probe


def measure(world: World, probe: Probe | None, episodes: Episode, b_t: Float[Array, "E S+1 D"]) -> Measured:
    """What E whole episodes show, with the belief after each of their frames."""
    S = world.num_steps  # o_S is not counted

    def of_one(pair: tuple[Episode, Float[Array, "S+1 D"]]) -> tuple[Evaluation, Tracking | None]:
        episode, b_t = pair
        is_visible = in_view(world.frame, world.frame.unpack(episode.o_t[:S]))
        loss = jnp.zeros((S, 0)) if probe is None else discovery_loss(probe, b_t[:S], episode.cells[:S])
        seen = visits(is_visible)
        return Evaluation(
            visits=seen.count,
            first_visit=seen.first,
            frequency=seen.is_seen.astype(jnp.float32),
            discovery_loss=loss.mean(axis=0),
        ), None if probe is None else track(is_visible, loss)

    # `lax.map` in batches cannot reshape arrays with an empty axis, as cells are where nobody knows them.
    if probe is None:
        evaluation, tracking = jax.vmap(of_one)((episodes, b_t))
    else:
        evaluation, tracking = lax.map(of_one, (episodes, b_t), batch_size=AT_ONCE)
    return Measured(evaluation, jax.tree.map(lambda x: x.sum(axis=0), tracking))
