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

from ndigo.agents.agent import Params
from ndigo.audit.seeking import Plan, make_seeker, plan_of
from ndigo.errors import NdigoError
from ndigo.evaluation.visits import in_view
from ndigo.model.probe import discovery_loss
from ndigo.oracle import Nats, knowledge, make_filter
from ndigo.rewards import IntrinsicReward, pay_exactly, pay_stream
from ndigo.types import Policy, Window
from ndigo.worlds import World
from ndigo.worlds.rollout import Rollout, rollout

AT_ONCE = 10  # episodes; the tables of losses are the largest arrays


class AuditedEpisode(eqx.Module):
    """One episode, audited. Of what the agent does not have (a predictor, a probe), None."""

    learned: Float[Array, "S C"] | None  # nats, by channel
    attainable: Float[Array, "S C"]
    ideal: Float[Array, "S C"]
    probe_loss: Float[Array, "S N"] | None  # nats, of o_0 ... o_{S-1}
    floor: Float[Array, "S N"]
    is_visible: Bool[Array, "S N"]


def audit_policy(
    world: World,
    reward: IntrinsicReward,
    policy: Callable[[Params | None], Policy],
    agents: Sequence[Params] | None,
    key: Array,
    num_episodes: int,
    on_done: Callable[[], None] = lambda: None,
) -> AuditedEpisode:
    """Episodes of a policy under each agent (or under none), every field [agents, episodes, S, ...].

    `reward` is any that reads the table of losses and nothing else; `on_done` hears of every agent that is audited.
    """
    audit = _auditor(world, reward)
    keys = jax.random.split(key, num_episodes)

    @jax.jit
    def run(agent: Params | None) -> AuditedEpisode:
        return lax.map(lambda key: audit(agent, rollout(world, policy(agent), key)), keys, batch_size=AT_ONCE)

    return _stacked([_fetched(run(agent), on_done) for agent in agents or [None]])


def audit_seekers(
    world: World,
    reward: IntrinsicReward,
    agents: Sequence[Params] | None,
    key: Array,
    num_episodes: int,
    on_done: Callable[[], None] = lambda: None,
) -> dict[str, AuditedEpisode]:
    """For each object, episodes that go and look for it, whoever the agent is: what each object has to offer."""
    audit = _auditor(world, reward)
    keys = jax.random.split(key, num_episodes)
    seeker = make_seeker(world)

    @jax.jit
    def run(agent: Params | None, plan: Plan) -> AuditedEpisode:
        return lax.map(lambda key: audit(agent, rollout(world, seeker(plan), key)), keys, batch_size=AT_ONCE)

    found = {}
    for name in world.objects:
        plan = plan_of(world, name)
        found[name] = _stacked([_fetched(run(agent, plan), on_done) for agent in agents or [None]])
    return found


def _fetched(audited: AuditedEpisode, on_done: Callable[[], None]) -> AuditedEpisode:
    found = jax.device_get(audited)
    on_done()
    return found


def _stacked(per_agent: list[AuditedEpisode]) -> AuditedEpisode:
    return jax.tree.map(lambda *xs: np.stack(xs), *per_agent)


def _auditor(world: World, reward: IntrinsicReward) -> Callable[[Params | None, Rollout], AuditedEpisode]:
    filter_ = make_filter(world)
    exact = pay_exactly(reward, world, Nats.by_cell, Nats.by_channel, Nats.by_chain)
    S, cols = world.num_steps, (world.map_shape or (0, 0))[1]

    def learned(agent: Params, episode: Rollout) -> tuple[Array | None, Array | None]:
        cells = episode.truth_t.objects @ jnp.array([cols, 1])
        window = Window.whole(episode.o_t, episode.a_t, agent.model.core.size, cells)
        seen = agent.model.look(window)
        r_tc = None if agent.model.predictor is None else pay_stream(reward, None, None, agent.model, seen).r_tc
        return r_tc, None if agent.probe is None else discovery_loss(agent.probe, seen.b_t[:S], cells[:S])

    def audit(agent: Params | None, episode: Rollout) -> AuditedEpisode:
        is_mixed = agent is not None and getattr(agent.model.likelihood, "num_mixed", 1) > 1
        known = knowledge(filter_, episode.a_t, episode.o_t, episode.truth_t.objects)
        r_tc, probe_loss = (None, None) if agent is None else learned(agent, episode)
        by_cell, by_channel, ideal = exact(episode.a_t, episode.o_t)
        return AuditedEpisode(
            learned=r_tc,
            attainable=by_channel if is_mixed else by_cell,
            ideal=ideal,
            probe_loss=probe_loss,
            floor=known.discovery_loss[:S],
            is_visible=in_view(world.frame, episode.o_t[:S]),
        )

    return audit


def refuse_short_sight(agent: Params, reward: IntrinsicReward) -> None:
    """An error where the model does not predict as far ahead as the reward looks."""
    if agent.model.predictor is not None and agent.model.num_ahead < reward.num_ahead:
        raise NdigoError(
            f"reward {reward.name} looks {reward.num_ahead} steps ahead, and this agent's model {agent.model.num_ahead}"
        )
