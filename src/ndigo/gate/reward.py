"""A reward against its record: what its functions return, and whether what it pays of sampled frames adds up.

It is paid inside the learner's own loss, as in training: on the tables of a fresh model, over windows of
sampled episodes.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ndigo.agents.agent import Params
from ndigo.config import Config
from ndigo.errors import NdigoError, running
from ndigo.frames import Frame
from ndigo.gate.host import NUM_STEPS, sample_host
from ndigo.gate.shapes import once, require_array, require_record, require_same, returned, text_of
from ndigo.gate.world import EPISODES, MOST_STEPS, MOST_TRIED, Sample, sample
from ndigo.model import inside
from ndigo.rewards import REWARDS, IntrinsicReward, PaySum, pay_stored, refuse_short, table
from ndigo.training.learner import make_learner
from ndigo.training.model_and_reward import init_model
from ndigo.types import Paid, Seen, Window
from ndigo.worlds import World

TOLERANCE = 1e-3  # of the sum over channels, as a share of the largest pay: sums in bfloat16 are no closer


@lru_cache(maxsize=MOST_TRIED)
def check_reward(reward: IntrinsicReward, world: World, config: Config) -> None:
    """An error in one line where a function of the reward does not return what the record says."""
    _check_record(reward)
    whose = f"reward {reward.name}:"
    T = min(config.window, world.num_steps, MOST_STEPS if world.host is None else NUM_STEPS)

    def pay(params: Any, memory: Any, model: Any, seen: Seen) -> Paid:
        """What it pays, and in its notes what it and its `reads` make of another table."""
        with running(f"{whose} pay"):
            paid = reward.pay(params, memory, model, seen)
        _check_types(whose, paid, T, len(world.channels))
        more = (reward, params, memory, model, seen)
        return dataclasses.replace(paid, notes=(paid.notes, _both_ways(*more), _with_others_beyond(*more)))

    learner = make_learner(config, world, dataclasses.replace(reward, pay=pay))
    with running(f"{whose} init or remember"):
        state = jax.eval_shape(learner.init, jax.random.key(0))
    _check_memory(reward, state.memory)

    def play(key: Any, params: Params, window: Window) -> Paid:
        """The loss of the window, of which only what was paid on the way is kept."""
        own = reward.init(key, params.model)
        _, (_, paid) = learner.loss(
            dataclasses.replace(params, reward=own), params.agent, reward.remember(params.model), window, jnp.int32(0)
        )
        return paid

    # To compile the networks' own init would take longer than all else.
    params = jax.tree.map(_small, dataclasses.replace(state.params, reward=None))
    window = _window(reward, world, T, params)
    with running(f"{whose} pay"):
        paid = jax.device_get(once(play)(jax.random.key(0), params, window))
    notes, tried, other = paid.notes
    _check_paid(reward, state.params.model, state.memory, dataclasses.replace(paid, notes=notes), tried)
    if other is not None:
        _refuse_late(whose, paid, other)


def check_pay(reward: IntrinsicReward, frame: Frame, num_actions: int, config: Config) -> None:
    """The same for a reward in somebody's own loop, tried without a world: on made-up frames and actions.

    One of the streams has an episode that ends amid the window.
    """
    _check_record(reward)
    whose, T, rng = f"reward {reward.name}:", reward.num_ahead + 2, np.random.default_rng(0)
    like = jax.eval_shape(lambda key: init_model(key, config, reward, frame, num_actions), jax.random.key(0))
    memory = returned(f"{whose} remember", reward.remember, like)
    _check_memory(reward, memory)
    is_first = np.zeros((T + 1, EPISODES), bool)
    is_first[0], is_first[2, 0] = True, True
    a_tm1 = np.where(is_first, 0, rng.integers(num_actions, size=is_first.shape, dtype=np.int32))
    o_t = jax.tree.map(lambda x: rng.integers(2, size=(*is_first.shape, *x.shape)).astype(x.dtype), frame.spec)

    def play(key: Any, model: Any, o_t: Any, a_tm1: Array, is_first: Array) -> tuple[Paid, Any, Any]:
        window = Window(
            o_t=o_t,
            a_tm1=a_tm1,
            a_t=a_tm1[1:],
            mu_t=jnp.full((T, EPISODES), 1 / num_actions),
            belief=jnp.zeros((EPISODES, model.core.size)),
            agent_state=jnp.zeros((EPISODES, 0)),
            start=jnp.zeros(EPISODES, jnp.int32),
            cells=jnp.zeros((T + 1, EPISODES, 0), jnp.int32),
            is_first=is_first,
        )
        seen = model.look(window) if reward.trains_belief else model.look(window, reward.num_ahead)
        with running(f"{whose} init"):
            own = reward.init(key, model)
        with running(f"{whose} pay"):
            paid = reward.pay(own, reward.remember(model), model, seen)
        _check_types(whose, paid, T, len(frame.channels))
        more = (reward, own, reward.remember(model), model, seen)
        return paid, _both_ways(*more), _with_others_beyond(*more)

    model = jax.tree.map(_small, like)
    # A curiosity may be made inside somebody's `jit`.
    with running(f"{whose} pay"), jax.ensure_compile_time_eval():
        paid, tried, other = jax.device_get(once(play)(jax.random.key(0), model, o_t, a_tm1, is_first))
    _check_paid(reward, like, memory, paid, tried)
    if other is not None:
        _refuse_late(whose, paid, other)
        if not paid.is_known[-1].any():
            raise NdigoError(f"{whose} pay never knows a window's last step, and a stream is paid for no other")


def refuse_unhashable(reward: IntrinsicReward) -> None:
    """An error where what was tried could not be remembered."""
    try:
        hash(reward)
    except TypeError:
        said = "its functions must be hashable; write @dataclass(frozen=True)"
        raise NdigoError(f"reward {reward.name}: {said}") from None


def refuse_short_windows(config: Config, world: World, reward: IntrinsicReward) -> None:
    """An error where a window or an episode is shorter than the reward looks ahead: it would pay nothing."""
    holders = {"a window": config.window}
    if world.has_one_length:
        holders[f"an episode of {world.name}"] = world.num_steps
    for holder, steps in holders.items():
        refuse_short(reward, holder, steps, "it would pay nothing")


def _small(leaf: jax.ShapeDtypeStruct) -> np.ndarray:
    """Weights of a fresh network, or close to it."""
    return np.random.default_rng(0).normal(0, 0.05, leaf.shape).astype(leaf.dtype)


def _check_record(reward: IntrinsicReward) -> None:
    whose = f"reward {reward.name}:"
    if not isinstance(reward.name, str) or not reward.name:
        raise NdigoError(f"a reward's name is {reward.name!r}, expected text")
    if reward.name in REWARDS and reward != REWARDS[reward.name]:
        raise NdigoError(f"{whose} another reward has this name: choose one that reports can tell from it")
    if isinstance(reward.num_ahead, bool) or not isinstance(reward.num_ahead, int) or reward.num_ahead < 1:
        raise NdigoError(f"{whose} num_ahead is {reward.num_ahead!r}, expected a whole number of at least 1")
    for field in ("pay", "init", "remember", "after_update"):
        if not callable(getattr(reward, field)):
            raise NdigoError(f"{whose} {field} is {getattr(reward, field)!r}, expected a function")
    if reward.pay is pay_stored and reward.on_episode is None:
        raise NdigoError(f"{whose} it has neither pay, reads nor on_episode, expected one of them")


def _check_memory(reward: IntrinsicReward, memory: Any) -> None:
    if reward.reads_memory and not hasattr(memory, "look"):
        said = f"reads_memory reads a model, and remember returned {text_of(memory)}"
        raise NdigoError(f"reward {reward.name}: {said}")


def _check_paid(reward: IntrinsicReward, model: Any, memory: Any, paid: Paid, tried: Any) -> None:
    """What it paid, what it remembers of that, and what `_both_ways` made of another table."""
    whose, step = f"reward {reward.name}:", jax.ShapeDtypeStruct((), jnp.int32)
    after = returned(f"{whose} after_update", reward.after_update, memory, model, paid, step)
    require_same(f"{whose} after_update", after, memory, "what remember returned")
    _check_values(whose, paid)
    if tried is not None:
        _check_reads(whose, *tried)


def _check_types(whose: str, paid: Any, T: int, C: int) -> None:
    require_record(f"{whose} pay", paid, Paid)
    require_array(f"{whose} pay's r_t", paid.r_t, (T, EPISODES), "floating")
    if paid.r_tc is not None:
        require_array(f"{whose} pay's r_tc", paid.r_tc, (T, EPISODES, C), "floating")
    require_array(f"{whose} pay's is_known", paid.is_known, (T, EPISODES), "bool")
    require_array(f"{whose} pay's loss", paid.loss, (), "floating")


def _check_values(whose: str, paid: Paid) -> None:
    r_t, known = np.asarray(paid.r_t, np.float64), np.asarray(paid.is_known)
    if not np.isfinite(paid.loss):
        raise NdigoError(f"{whose} pay's loss is {float(paid.loss)}, expected a finite number")
    if not np.isfinite(r_t[known]).all():
        t = int((known & ~np.isfinite(r_t)).any(axis=1).argmax())
        raise NdigoError(f"{whose} pay's r_t is not finite at step {t} of a fresh model, expected finite numbers")
    if paid.r_tc is None:
        return
    r_tc = np.asarray(paid.r_tc, np.float64)
    off = np.abs(r_tc.sum(axis=-1) - r_t)[known]
    scale = max(np.abs(r_t[known]).max(initial=0.0), np.abs(r_tc[known]).max(initial=0.0))
    if not (off <= TOLERANCE * scale + 1e-6).all():
        worst = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
        ours, theirs = r_tc.sum(axis=-1)[known][worst], r_t[known][worst]
        raise NdigoError(f"{whose} pay's r_tc sums to {ours:.4g} where r_t is {theirs:.4g}, expected the same sum")


def _both_ways(reward: IntrinsicReward, params: Any, memory: Any, model: Any, seen: Seen) -> tuple[Paid, Array] | None:
    """What `pay`, and what `reads` make of the window with a table of losses that differ, as a fresh model's do not.

    r_t = sum over (k, w) of w L_{t+1|t+1-k}, k cut at the episode's first frame: so a stream is paid (`curiosity`).
    """
    if not reward.reads:
        return None
    drawn = jax.random.uniform(jax.random.key(0), table(seen).shape)
    seen = dataclasses.replace(seen, loss_tk=jnp.where(table(seen) == 0, 0.0, drawn))  # 0: beyond the window
    by_reads = PaySum(reward.reads, reward.reads_memory)(params, memory, model, seen)
    return reward.pay_steps(params, memory, model, seen), by_reads.r_t


def _with_others_beyond(reward: IntrinsicReward, params: Any, memory: Any, model: Any, seen: Seen) -> Paid | None:
    """What `pay` makes of a window with other losses beyond its end, where they are 0; None where it reads none."""
    if reward.reads or seen.loss_tk is None:  # `reads` look back
        return None
    is_inside = inside(seen.loss_tk.shape[:-1])[..., None]
    beyond = jnp.where(is_inside, seen.loss_tk, seen.loss_tk.max() + 1)
    return reward.pay_steps(params, memory, model, dataclasses.replace(seen, loss_tk=beyond))


def _refuse_late(whose: str, paid: Paid, other: Paid) -> None:
    """An error where losses beyond the window change what its last step is paid: in a stream that is every step."""
    off = np.abs(paid.r_t - other.r_t) > TOLERANCE * np.abs(paid.r_t).max() + 1e-6
    if (off & paid.is_known & other.is_known)[-1].any():
        raise NdigoError(f"{whose} pay's r_t at step t reads frames after t+1, which no stream has: pay when they came")


def _check_reads(whose: str, paid: Paid, by_reads: np.ndarray) -> None:
    """An error where a stream would be paid, by `reads`, what the window is not paid."""
    r_t, known = np.asarray(paid.r_t, np.float64), np.asarray(paid.is_known)
    scale = max(np.abs(r_t[known]).max(initial=0.0), np.abs(by_reads[known]).max(initial=0.0))
    is_off = known & ~(np.abs(by_reads - r_t) <= TOLERANCE * scale + 1e-6)
    if is_off.any():
        t, n = np.argwhere(is_off)[0]
        ours, theirs = f"{by_reads[t, n]:.4g}", f"{r_t[t, n]:.4g}"
        raise NdigoError(f"{whose} reads sum to {ours} at step {t} where pay's r_t is {theirs}, expected the same")


def _window(reward: IntrinsicReward, world: World, T: int, params: Params) -> Window:
    """The first T steps of sampled episodes, as the learner reads them from the replay."""
    episodes = sample(world) if world.host is None else sample_host(world)
    a_t = jnp.asarray(episodes.a_t[:, :T].swapaxes(0, 1), jnp.int32)
    o_t = jax.tree.map(lambda x: jnp.asarray(x[:, : T + 1].swapaxes(0, 1)), episodes.o_t)
    num_objects = 0 if params.probe is None else len(world.objects)
    nothing = jnp.zeros((EPISODES, params.agent.core.size))
    return Window(
        o_t=o_t,
        a_tm1=jnp.concatenate([jnp.zeros_like(a_t[:1]), a_t]),
        a_t=a_t,
        mu_t=jnp.full(a_t.shape, 1 / world.num_actions),
        belief=nothing,
        agent_state=nothing,
        start=jnp.zeros(EPISODES, jnp.int32),
        cells=jnp.zeros((T + 1, EPISODES, num_objects), jnp.int32),
        is_first=None if episodes.is_first is None else jnp.asarray(episodes.is_first[:, : T + 1].T),
        task_t=None if world.task_reward is None else jnp.zeros(a_t.shape),
        r_tc=None if reward.on_episode is None else _paid_by_episode(reward, world, params.model, episodes)[:T],
    )


def _paid_by_episode(reward: IntrinsicReward, world: World, model: Any, episodes: Sample) -> Array:
    """What `on_episode` makes of each episode, [S, B, C]."""
    whose = f"reward {reward.name}: on_episode"
    assert reward.on_episode is not None
    with running(whose):
        pay_episode = reward.on_episode(world)
    if not callable(pay_episode):
        raise NdigoError(f"{whose} returned {type(pay_episode).__name__}, expected a function of (model, a_t, o_t)")
    a_t, o_t = jnp.asarray(episodes.a_t, jnp.int32), jax.tree.map(jnp.asarray, episodes.o_t)
    found = returned(f"{whose}'s function", pay_episode, model, a_t[0], jax.tree.map(lambda x: x[0], o_t))
    has_split = getattr(found, "shape", ())[1:] != (1,)
    shape = (a_t.shape[1], len(world.channels) if has_split else 1)
    require_array(f"{whose}'s function", found, shape, "floating", "" if has_split else ", as it has no split")
    with running(f"{whose}'s function"):
        r_tc = once(jax.vmap(pay_episode, in_axes=(None, 0, 0), out_axes=1))(model, a_t, o_t)
    if not np.isfinite(r_tc).all():
        raise NdigoError(f"{whose}'s function returned numbers that are not finite")
    return r_tc
