"""The audit: what an agent's model pays it, beside what a perfect model would pay on the very same episodes.

One reward of three tables of L_{t+k|t}:

    learned     the model's
    attainable  a perfect model's that has the same likelihood: every channel on its own, and but for a mixture every
                cell of wall
    ideal       the exact -ln p(o) of whole frames (`ndigo.oracle`)

Learned less attainable is the model's error, attainable less ideal the likelihood's, and the ideal is the reward's own
doing. Likewise the probe's loss stands beside the exact filter's, the floor under any reader of the agent's frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from ndigo.agent import QNetwork
from ndigo.audit.seeking import Plan, make_seeker, plan_of
from ndigo.errors import NdigoError
from ndigo.evaluation.visits import in_view
from ndigo.model import WorldModel
from ndigo.model.probe import Probe, discovery_loss
from ndigo.oracle import Episode, Nats, ReferenceAgent, knowledge, make_filter, play
from ndigo.rewards import IntrinsicReward, pay_exactly
from ndigo.types import Window
from ndigo.worlds import World

AT_ONCE = 10  # episodes; the tables of losses are the largest arrays


class Mind(eqx.Module):
    """The networks that are judged."""

    model: WorldModel
    q: QNetwork
    probe: Probe | None


class AuditedEpisode(eqx.Module):
    """One episode, judged. Of what the agent does not have (a predictor, a probe), None."""

    learned: Float[Array, "S C"] | None  # nats, by channel
    attainable: Float[Array, "S C"]
    ideal: Float[Array, "S C"]
    probe_loss: Float[Array, "S N"] | None  # nats, of o_0 ... o_{S-1}
    floor: Float[Array, "S N"]
    is_visible: Bool[Array, "S N"]


def acting(mind: Mind) -> ReferenceAgent:
    """The trained agent as a policy: its best action, at every frame."""
    policy = mind.q

    def act(key: Array, o_t: Array, state: tuple[Array, Array]):
        a_tm1, h_tm1 = state
        h_t, q_t = policy.step(o_t, a_tm1, h_tm1)
        a_t = q_t.argmax(axis=-1).astype(jnp.int32)
        return a_t, (a_t, h_t)

    return ReferenceAgent("greedy", (jnp.int32(0), jnp.zeros(mind.q.core.size)), act)


def judge_policy(
    world: World,
    reward: IntrinsicReward,
    policy: Callable[[Mind | None], ReferenceAgent],
    minds: Sequence[Mind] | None,
    key: Array,
    num_episodes: int,
) -> AuditedEpisode:
    """Episodes of a policy under each mind (or under none), every field [minds, episodes, S, ...].

    `reward` is any that reads the table of losses and nothing else.
    """
    judge = _judge(world, reward)
    keys = jax.random.split(key, num_episodes)

    @jax.jit
    def run(mind: Mind | None) -> AuditedEpisode:
        return lax.map(lambda key: judge(mind, play(world, policy(mind), key)), keys, batch_size=AT_ONCE)

    return _stacked([jax.device_get(run(mind)) for mind in minds or [None]])


def judge_seekers(
    world: World, reward: IntrinsicReward, minds: Sequence[Mind] | None, key: Array, num_episodes: int
) -> dict[str, AuditedEpisode]:
    """For each object, episodes that go and look for it, whoever the agent is: what each object has to offer."""
    judge = _judge(world, reward)
    keys = jax.random.split(key, num_episodes)

    seeker = make_seeker(world)

    @jax.jit
    def run(mind: Mind | None, plan: Plan) -> AuditedEpisode:
        return lax.map(lambda key: judge(mind, play(world, seeker(plan), key)), keys, batch_size=AT_ONCE)

    found = {}
    for name in world.objects:
        plan = plan_of(world, name)
        found[name] = _stacked([jax.device_get(run(mind, plan)) for mind in minds or [None]])
    return found


def _stacked(per_mind: list[AuditedEpisode]) -> AuditedEpisode:
    return jax.tree.map(lambda *xs: np.stack(xs), *per_mind)


def _judge(world: World, reward: IntrinsicReward) -> Callable[[Mind | None, Episode], AuditedEpisode]:
    filter_ = make_filter(world)
    exact = pay_exactly(reward, world, Nats.by_cell, Nats.by_channel, Nats.by_chain)
    S, cols = world.num_steps, (world.map_shape or (0, 0))[1]

    def learned(mind: Mind, episode: Episode) -> tuple[Array | None, Array | None]:
        cells = episode.truth_t.objects @ jnp.array([cols, 1])
        window = Window(
            o_t=episode.o_t,
            a_tm1=jnp.concatenate([jnp.zeros(1, jnp.int32), episode.a_t]),
            a_t=episode.a_t,
            mu_t=jnp.ones(S),
            belief=jnp.zeros(mind.model.core.size),
            agent_state=jnp.zeros(mind.q.core.size),
            start=jnp.int32(0),
            cells=cells,
        )
        seen = mind.model.look(window)
        r_tc = None if mind.model.predictor is None else reward.pay(None, None, mind.model, seen).r_tc
        return r_tc, None if mind.probe is None else discovery_loss(mind.probe, seen.b_t[:S], cells[:S])

    def judge(mind: Mind | None, episode: Episode) -> AuditedEpisode:
        known = knowledge(filter_, episode.a_t, episode.o_t, episode.truth_t.objects)
        r_tc, probe_loss = (None, None) if mind is None else learned(mind, episode)
        by_cell, by_channel, ideal = exact(episode.a_t, episode.o_t)
        return AuditedEpisode(
            learned=r_tc,
            attainable=by_channel if mind is not None and mind.model.likelihood.num_mixed > 1 else by_cell,
            ideal=ideal,
            probe_loss=probe_loss,
            floor=known.discovery_loss[:S],
            is_visible=in_view(world, episode.o_t[:S]),
        )

    return judge


def refuse_short_sight(mind: Mind, reward: IntrinsicReward) -> None:
    """An error where the model does not predict as far ahead as the reward looks."""
    if mind.model.predictor is not None and mind.model.num_ahead < reward.num_ahead:
        raise NdigoError(
            f"reward {reward.name} looks {reward.num_ahead} steps ahead, and this agent's model {mind.model.num_ahead}"
        )
