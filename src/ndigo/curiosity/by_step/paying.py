"""Pay step by step, for N streams at once: the rewards that are sums over the table of losses.

    r_s = sum over (k, w) of w L_{s+1 | max(s+1-k, first)}          (`IntrinsicReward.reads`)

NDIGO-H is L_{s+1|s-H} - L_{s+1|s+1-H}: it needs the frame that has just come and what H+1 beliefs foretold of it.
Before H+1 frames of an episode were seen both terms are the same, so its first H steps are paid 0. A step costs K = H+1
rows of the predictor's GRU and as many decodings as the reward reads losses.

Streams are frames in a row. `is_first` marks the first of an episode: every state begins anew there, and nothing is
predicted or paid across it. Where a world resets within a step, the frame that ended the old episode comes beside the
new first frame, as `o_last`: it is what the last action is paid for.

Of a whole rollout beliefs wait for each other; predictions and losses do not. So `pay_rollout` unrolls beliefs over T
steps, then all predictions over K, then reads all losses: tens of kernels for a GPU, where T steps are thousands. It
pays what the steps pay one after another, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ndigo.curiosity.by_step import flight
from ndigo.model import WorldModel
from ndigo.networks import gru_step
from ndigo.rewards import IntrinsicReward
from ndigo.rewards.reward import Reads

MOST_NUMBERS = 2**28  # states and logits of a rollout in memory at once: a GB


class Params(eqx.Module):
    """What pays: the world model, the reward's own networks and what the reward remembers of earlier updates."""

    model: WorldModel
    reward: Any
    memory: Any


class Step(eqx.Module):
    """One step of N streams, or T of them with a leading axis."""

    a_t: Int[Array, "*T N"]  # the action before the frame; means nothing before a first one
    o_tp1: Any  # frames [*T, N, ...]
    is_first: Bool[Array, "*T N"]
    o_last: Any = None  # frames [*T, N, ...]: the one before a first; read nowhere else


class Pay(eqx.Module):
    """What the step was worth."""

    r: Float[Array, " N"]
    r_c: Float[Array, "N C"]  # the same by channel; 0 where a reward has no such split
    is_known: Bool[Array, " N"]  # False: no step led to this frame, or the stream was entered in mid-episode


class Ages(eqx.Module):
    """How much of its episode each stream has seen."""

    num: Int[Array, " N"]  # frames
    is_whole: Bool[Array, " N"]  # from the first one on

    @staticmethod
    def start(num_envs: int) -> Ages:
        return Ages(num=jnp.zeros(num_envs, jnp.int32), is_whole=jnp.zeros(num_envs, bool))

    def after(self, is_first: Bool[Array, " N"]) -> Ages:
        begins = is_first | (self.num == 0)
        return Ages(num=jnp.where(begins, 1, self.num + 1), is_whole=jnp.where(begins, is_first, self.is_whole))

    def is_step(self, is_first: Bool[Array, "*T N"], has_last: bool) -> Bool[Array, "*T N"]:
        """Whether an action led to the frame that is paid for; `has_last` where `o_last` comes beside a new first."""
        return self.num > 0 if has_last else ~(is_first | (self.num == 0))

    def over(self, is_first: Bool[Array, "T N"]) -> tuple[Ages, Ages]:
        """The ages before each of T steps, [T, N], and `after` the last: none of these steps waits for another."""
        t = jnp.arange(len(is_first))[:, None]
        begins = is_first.at[0].set(is_first[0] | (self.num == 0))
        began = lax.cummax(jnp.where(begins, t, -1), axis=0)  # -1: before these steps
        num = jnp.where(began < 0, self.num + 1 + t, 1 + t - began)
        is_whole = jnp.where(began < 0, self.is_whole, (began > 0) | is_first[0])
        before = jax.tree.map(lambda x, x_t: jnp.concatenate([x[None], x_t[:-1]]), self, Ages(num, is_whole))
        return before, Ages(num[-1], is_whole[-1])


class Flights(eqx.Module):
    """What the streams carry of one model."""

    b: Float[Array, "N D"]
    flying: Any  # [K, N, ...]


class Carry(eqx.Module):
    ages: Ages
    flights: tuple[Flights, ...]  # of the model and, where the reward reads it, of the remembered one


def models(params: Params, reward: IntrinsicReward) -> list[tuple[WorldModel, Reads]]:
    """Each model that is read, and the (k, w) it is read with."""
    both = [(params.model, reward.reads), (params.memory, reward.reads_memory)]
    return [(model, reads) for model, reads in both if reads]


def start(params: Params, reward: IntrinsicReward, num_envs: int) -> Carry:
    """The carry before any frame."""

    def empty(model: WorldModel, K: int) -> Flights:
        assert model.predictor is not None
        b = jnp.zeros((num_envs, model.core.size))
        return Flights(b=b, flying=flight.begin(model.predictor, K, b))

    flights = tuple(empty(model, reads[-1][0]) for model, reads in models(params, reward))
    return Carry(ages=Ages.start(num_envs), flights=flights)


def encode(params: Params, reward: IntrinsicReward, step: Step) -> tuple[Any, tuple[Array, ...]]:
    """What the last frame is as a target, and the new frame as each model sees it: no step waits for another's."""
    return params.model.likelihood.target(seen_by_action(step, step.is_first)), tuple(
        model.core.encoder(step.o_tp1) for model, _ in models(params, reward)
    )


def seen_by_action(step: Step, is_last: Bool[Array, "*T N"]) -> Any:
    """The frame that the action led to: `o_last` where it ended an episode."""
    if step.o_last is None:
        return step.o_tp1

    def chosen(last: Array, new: Array) -> Array:
        return jnp.where(is_last.reshape(*is_last.shape, *(1,) * (new.ndim - is_last.ndim)), last, new)

    return jax.tree.map(chosen, step.o_last, step.o_tp1)


def pay(
    params: Params, reward: IntrinsicReward, carry: Carry, step: Step, encoded: tuple[Any, tuple[Array, ...]]
) -> tuple[Carry, Pay]:
    """One step of N streams; `encoded` is `encode` of it."""
    target, z_tp1 = encoded
    ages = carry.ages
    begins = step.is_first | (ages.num == 0)
    a_t = jnp.where(step.is_first, 0, step.a_t)
    flights, r_c = [], jnp.float32(0.0)
    for (model, reads), flights_of, z in zip(models(params, reward), carry.flights, z_tp1, strict=True):
        assert model.predictor is not None
        # The action itself, not `a_t`: it led to the old episode's last frame even where a new episode begins.
        flown = flight.advance(model.predictor, flights_of.flying, step.a_t)
        r_c = r_c + weighted(model, reads, partial(flight.logits, model.predictor, flown), target, ages.num)
        before = jnp.where(begins[:, None], 0.0, flights_of.b)
        b = gru_step(model.core.gru.weight, model.core.inputs(z, a_t), before)
        flights.append(Flights(b=b, flying=flight.launch(model.predictor, flown, b)))
    carry = Carry(ages=ages.after(step.is_first), flights=tuple(flights))
    return carry, pay_of(params, reward, ages, step, r_c)


def rollout_is_faster() -> bool:
    """Than its steps. A GPU waits for every kernel of each; on a CPU a step stays in the cache, a rollout does not."""
    return jax.default_backend() != "cpu"


def pay_rollout(
    params: Params, reward: IntrinsicReward, carry: Carry, steps: Step, encoded: tuple[Any, tuple[Array, ...]]
) -> tuple[Carry, Pay]:
    """T steps of N streams, [T, N]; `encoded` is `encode` of them. In parts, where states and logits would not fit."""
    T, N = steps.is_first.shape
    K = max(reads[-1][0] for _, reads in models(params, reward))
    per_step = N * K * (params.model.core.size + params.model.likelihood.num_outputs)
    size = max((n for n in range(1, T + 1) if T % n == 0 and n * per_step <= MOST_NUMBERS), default=1)

    def part(carry: Carry, x: Any) -> tuple[Carry, Pay]:
        return pay_part(params, reward, carry, *x)

    parts = jax.tree.map(lambda x: x.reshape(T // size, size, *x.shape[1:]), (steps, encoded))
    carry, paid = lax.scan(part, carry, parts)
    return carry, jax.tree.map(lambda x: x.reshape(T, *x.shape[2:]), paid)


def pay_part(
    params: Params, reward: IntrinsicReward, carry: Carry, steps: Step, encoded: tuple[Any, tuple[Array, ...]]
) -> tuple[Carry, Pay]:
    """`pay_rollout` of so many steps that all fits."""
    target, z_tp1 = encoded
    ages, after = carry.ages.over(steps.is_first)
    begins = steps.is_first | (ages.num == 0)
    a_tm1 = jnp.where(steps.is_first, 0, steps.a_t)
    flights, r_c = [], jnp.float32(0.0)
    for (model, reads), flights_of, z in zip(models(params, reward), carry.flights, z_tp1, strict=True):
        assert model.predictor is not None
        b_tp1 = model.core.unroll(z, a_tm1, flights_of.b, begins)
        logits, flying = flight.fly(model.predictor, flights_of.flying, b_tp1, steps.a_t)
        r_c = r_c + weighted(model, reads, logits, target, ages.num)
        flights.append(Flights(b=b_tp1[-1], flying=flying))
    return Carry(ages=after, flights=tuple(flights)), pay_of(params, reward, ages, steps, r_c)


def pay_of(params: Params, reward: IntrinsicReward, ages: Ages, step: Step, r_c: Array) -> Pay:
    """The weighted losses `r_c` as pay: 0 where no step led to the frame, known where all that it reads was seen.

    `ages` are those before the step.
    """
    is_step = ages.is_step(step.is_first, step.o_last is not None)
    furthest = max(reads[-1][0] for _, reads in models(params, reward))
    r_c = jnp.where(is_step[..., None], r_c, 0.0)
    return Pay(r_c.sum(-1), r_c, is_step & (ages.is_whole | (ages.num >= furthest)))


def weighted(
    model: WorldModel,
    reads: Reads,
    logits: Callable[[Int[Array, "R *T N"]], Float[Array, "R *T N O"]],
    target: Any,
    num_frames: Int[Array, "*T N"],
) -> Float[Array, "*T N C"]:
    """sum over (k, w) of w L_{s+1|s+1-k}; k reaches back to the first of the frames that were seen."""
    ks = jnp.stack([jnp.clip(num_frames, 1, k) for k, _ in reads])
    targets = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(reads), *x.shape)), target)
    losses = model.likelihood.nats(logits(ks), targets)
    total, last = jnp.float32(0.0), losses[0]
    for i, (_, w) in enumerate(reads):
        # The same prediction has one loss, to the last bit: what cancels is 0.
        last = losses[i] if i == 0 else jnp.where((ks[i] == ks[i - 1])[..., None], last, losses[i])
        total = total + w * last
    return total
