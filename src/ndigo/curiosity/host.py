"""Curiosity as an object that keeps its own state and speaks NumPy: for a hand-written loop in PyTorch, say.

    curiosity = ndigo.Curiosity("ndigo-4", frame, num_actions, num_envs)
    r, nats = curiosity.pay(actions, observations, is_first)                # one step, [N] and [N, C]
    r = curiosity.pay_rollout(                                              # a rollout as CleanRL keeps it, [T, N]
        actions, observations, next_observations=next_obs, is_first=dones, next_is_first=next_done)
    numbers = curiosity.learn()                                             # from all that was paid since the last time

Everything is checked before anything changes: after an error the object is as it was.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, SupportsIndex

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ndigo.config import Config
from ndigo.curiosity import saving, scaling
from ndigo.curiosity.learning import Numbers
from ndigo.curiosity.pending import NO_ACTION, Pending, Steps, rollouts_of
from ndigo.curiosity.record import PureCuriosity, check_arguments, check_count, check_frames, check_seed, make_curiosity
from ndigo.errors import NdigoError
from ndigo.frames import Frame
from ndigo.frames.join import outside
from ndigo.rewards import IntrinsicReward, make_reward
from ndigo.storage.run_folder import named_path
from ndigo.training.twins import PLAIN, computed_by


class Curiosity:
    """One world model that watches `num_envs` streams, pays for them and learns from them.

    reward  a name (ndigo-4) or a record          frame  what the agent sees (`ndigo.frames`)
    config  sizes, rates and replay of the world model, as `ndigo.config.preset("cpu", window=16)`; what concerns the
            agent is not read; without it `ndigo.curiosity.record.DEFAULT`, the cpu preset's sizes with a window of 32
    scale   None: pay in nats; "return-std": divided by the running deviation of the discounted returns of the pay
    gamma   the discount of those returns; without `scale` not read
    seed    of the weights, and of which windows are learned from
    """

    def __init__(
        self,
        reward: str | IntrinsicReward,
        frame: Frame,
        num_actions: SupportsIndex,
        num_envs: SupportsIndex,
        *,
        config: Config | None = None,
        seed: int = 0,
        scale: str | None = None,
        gamma: float = 0.99,
    ):
        num_envs = check_count("num_envs", num_envs)
        seed, gamma = check_seed(seed), scaling.check_scale(scale, gamma)
        reward = make_reward(reward) if isinstance(reward, str) else reward
        num_actions = check_arguments(reward, frame, num_actions, config)
        self._programs = _compiled(reward, frame, num_actions, config, scale, gamma)
        self.pure = self._programs.pure
        self.frame, self.num_actions, self.num_envs, self.scale = frame, num_actions, num_envs, scale
        self.gamma = gamma
        key, self._key = jax.random.split(jax.random.key(seed))
        self.state = self._programs.init(key, num_envs)
        self.carry = self.pure.start(num_envs)
        self.clock = 0  # steps paid, and resets
        self.numbers: Numbers | None = None  # of the last `learn` that learned
        self._scaling = scaling.start(num_envs)
        self._pending = Pending()
        self._seen: Any = None  # the newest frames
        self._has_warned = False

    def __repr__(self) -> str:
        reward = self.pure.reward.name
        return f"Curiosity({reward}, {self.num_envs} environments, {self.clock} steps, {int(self.state.step)} updates)"

    @property
    def channels(self) -> tuple[str, ...]:
        return self.pure.channels

    @property
    def num_pending(self) -> int:
        """Steps paid since the last `learn`, resets left out; of more than two replays hold, only the newest."""
        return self._pending.num_steps

    def reset(self, observations: Any) -> None:
        """The first frames of all streams; what they showed before is over, with no last frame of its own."""
        first = self._first(self._frames("observations", observations, (self.num_envs,)))
        carry, scales, *_ = self._paid(self._programs.pay, self.carry, self._scaling, first)
        self._keep(carry, scales, _in_time(first))

    def pay(self, actions: Any, observations: Any, is_first: Any = None, finals: Any = None) -> tuple[Any, Any]:
        """r [N] and its nats by channel [N, C] for the actions that led to these frames.

        Where `is_first` is True the frame begins an episode. In worlds that reset within a step (Gymnasium's SAME_STEP,
        Stable-Baselines3) it is this step's dones; there `finals` hold the frame that ended the episode before, and
        the action is paid for that. Where the step after the end resets (NEXT_STEP, Gymnasium's default), it is the
        dones of the step before, without `finals`, and that step is paid 0. Gymnasium's infos.get("final_obs") will do,
        and a list of frames and None: where no episode ended, what `finals` hold is not read, and where one did they
        must hold its last frame.
        """
        lead = (self.num_envs,)
        a_t, o = self._actions(actions, lead), self._frames("observations", observations, lead)
        first = np.zeros(lead, bool) if is_first is None else self._flags("is_first", is_first, lead)
        ended = first & (self._seen is not None)
        o_last = None if finals is None else self._frames("finals", self._all_finals(finals, o, ended), lead)
        if self._seen is None and not first.all():
            raise NdigoError("pay before the first frames: reset(observations) first, or is_first all True")
        step = (a_t, o, first, o_last)
        carry, scales, r, r_c = self._paid(self._programs.pay, self.carry, self._scaling, step)
        self._keep(carry, scales, _in_time(step))
        return r, r_c

    def pay_rollout(
        self,
        actions: Any,
        observations: Any,
        *,
        next_observations: Any,
        is_first: Any,
        next_is_first: Any,
        finals: Any = None,
    ) -> np.ndarray:
        """r [T, N] of a rollout as CleanRL keeps it: `observations[t]` is what `actions[t]` was chosen for.

        is_first[t] says whether observations[t] begins an episode, `next_is_first` whether `next_observations`, the
        frames after the last action, do. Rollouts follow each other: each begins with those of the one before. Where
        actions[t] ended an episode and the world reset within the step, finals[t] holds the frame that ended it;
        without `finals` such an action is paid 0.
        """
        a_t = self._actions(actions, (*np.shape(_as_numpy(actions))[:1], self.num_envs))
        if (T := len(a_t)) == 0:
            raise NdigoError("actions has no steps, expected a rollout of at least 1")
        o_t = self._frames("observations", observations, (T, self.num_envs))
        o_T = self._frames("next_observations", next_observations, (self.num_envs,))
        first_t = self._flags("is_first", is_first, (T, self.num_envs))
        first_T = self._flags("next_is_first", next_is_first, (self.num_envs,))
        begin = jax.tree.map(lambda x: x[0], o_t)
        o_tp1 = jax.tree.map(lambda x, end: np.concatenate([x[1:], end[None]]), o_t, o_T)
        first = np.concatenate([first_t[1:], first_T[None]])
        o_last = None if finals is None else self._frames("finals", self._all_finals(finals, o_tp1, first), first.shape)
        steps = (a_t, o_tp1, first, o_last)
        carry, scales, begun = self.carry, self._scaling, []
        if self._seen is None:
            reset = self._first(begin)
            carry, scales, *_ = self._paid(self._programs.pay, carry, scales, reset)
            begun = [_in_time(reset)]
        elif not all(map(np.array_equal, jax.tree.leaves(begin), jax.tree.leaves(self._seen))):
            raise NdigoError(
                "observations[0] are not the next_observations of the rollout before; where others begin, reset() first"
            )
        carry, scales, r = self._paid(self._programs.pay_rollout, carry, scales, steps)
        self._keep(carry, scales, *begun, steps)
        return r

    def learn(self) -> Numbers | None:
        """Learns from all that was paid since the last time; the updates' numbers, None where nothing was learned.

        That is where nothing was paid, and until every stream has `config.window` steps after its first frame (32 where
        no config says otherwise): the steps are kept for later. Of more steps than the replay holds, it has the newest.
        """
        if self.num_pending == 0:
            return None
        if not self._has_warned and (told := outside(self.frame, [o for _, o, *_ in self._pending.rollouts])):
            warnings.warn(told, stacklevel=2)
            self._has_warned = True
        next_key, key = jax.random.split(self._key)
        *before, last = rollouts_of(self._pending.rollouts, self.state.streams.num_held)
        self._store(before)
        self.state, numbers = self._programs.learn(key, self.state, last, None)
        self._key, self._pending = next_key, Pending()
        numbers = jax.device_get(numbers)
        if numbers.updates == 0:
            return None
        self.numbers = numbers
        return numbers

    def believe(self) -> np.ndarray:
        """The beliefs b_t [N, D] after the newest frames: the world model as a representation."""
        return np.array(self.pure.believe(self.carry))

    def save(self, path: str | Path) -> Path:
        """Weights, optimiser, replay, beliefs, keys and clock into a folder; the save before stays beside it."""
        return saving.save(
            named_path(path), self._settings(), self.clock, self._tree(), self._pending.rollouts, self._seen
        )

    def load(self, path: str | Path) -> None:
        """Goes on from a save, bit for bit; an error where it is of another reward, frame, size or setting.

        The next step is one after those that were saved: where environments begin anew, `reset` follows `load`.
        """
        found = saving.load(named_path(path), self._settings(), self._tree(), self.frame)
        self.clock, tree, pending, self._seen = found
        self.state, self.carry, self._scaling, self._key = tree
        self._pending = Pending(pending)

    def _tree(self) -> Any:
        return self.state, self.carry, self._scaling, self._key

    def _settings(self) -> dict[str, Any]:
        return saving.settings(self.pure, self.num_envs, self.scale, self.gamma)

    def _first(self, o: Any) -> Any:
        """A reset as a step: all frames are first ones, and no action led to them."""
        return np.full(self.num_envs, NO_ACTION, np.int32), o, np.ones(self.num_envs, bool), None

    def _paid(self, program: Any, carry: Any, scales: Any, steps: Any) -> tuple[Any, ...]:
        """The new carry and scaling, then r, and of one step its split by channel; an error where r is not finite."""
        (carry, scales), *paid = program(self.state.params, carry, scales, steps)
        r, *split = map(np.array, paid)
        if not np.isfinite(r).all():
            raise NdigoError(
                f"the world model paid {r[~np.isfinite(r)][0]} after {self.clock} steps: it has diverged; "
                f"load a save of before, and lower model_rate below {self.pure.config.model_rate:g}"
            )
        return carry, scales, r, *split

    def _keep(self, carry: Any, scales: Any, *rollouts: Steps) -> None:
        """What was paid, for the next steps and the next `learn`."""
        self.carry, self._scaling = carry, scales
        self._pending.add(rollouts)
        self.clock += sum(len(a_t) for a_t, *_ in rollouts)
        self._seen = jax.tree.map(lambda x: x[-1], rollouts[-1][1])
        num_held = self.state.streams.num_held
        if self._pending.num_frames > 2 * num_held:  # twice: so only one step in many waits for it
            old, self._pending = self._pending.split(num_held)
            self._store(rollouts_of(old, num_held))

    def _store(self, rollouts: list[Steps]) -> None:
        """Into the replay, without an update: so the key is not read."""
        for steps in rollouts:
            self.state, _ = self._programs.learn(self._key, self.state, steps, 0)

    def _frames(self, name: str, observations: Any, lead: tuple[int, ...]) -> Any:
        """Frames of the right shape, type and values, in memory of our own."""
        o = arrays(observations)
        check_frames(name, self.frame, o, lead)
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[len(lead) :]), o)
        if (wrong := self.frame.wrong(flat)) is not None:
            raise NdigoError(f"{name} after {self.clock} steps: {wrong} (frame i is that of environment i)")
        return jax.tree.map(lambda x, spec: np.array(x, spec.dtype), o, self.frame.spec)

    def _all_finals(self, finals: Any, o: Any, ended: np.ndarray) -> Any:
        """Its last frame where an episode ended, else `o`; Gymnasium has one object for each environment, or None."""
        is_array = isinstance(finals, np.ndarray)
        if is_array and finals.dtype.kind == "O" and finals.ndim > ended.ndim:
            finals = np.array(finals.tolist())  # to NumPy objects that are all frames of one shape are one array
        has_objects = finals.dtype.kind == "O" if is_array else isinstance(finals, list | tuple)
        if ended.ndim > 1 or not has_objects:
            finals = arrays(finals)
            check_frames("finals", self.frame, finals, ended.shape)
            return jax.tree.map(lambda last, x: np.where(ended.T, last.T, x.T).T, finals, o)  # over a frame's axes
        if (shape := finals.shape if is_array else (len(finals),)) != ended.shape:
            raise NdigoError(f"finals has the shape {list(shape)}, expected {list(ended.shape)}")
        found = [jax.tree.map(lambda x: x[n], o) for n in range(self.num_envs)]  # noqa: B023
        for n in np.flatnonzero(ended):
            if finals[n] is None:
                raise NdigoError(f"environment {n} ended an episode, and finals[{n}] is None, expected its last frame")
            found[n] = arrays(finals[n])
            check_frames(f"finals[{n}]", self.frame, found[n], ())
        return jax.tree.map(lambda *frames: np.stack(frames), *found)

    def _actions(self, actions: Any, lead: tuple[int, ...]) -> np.ndarray:
        a_t = _as_numpy(actions)
        if a_t.shape != lead or a_t.dtype.kind not in "iu":
            raise NdigoError(f"actions are {a_t.dtype}{list(a_t.shape)}, expected whole numbers {list(lead)}")
        if a_t.size and not 0 <= a_t.min() <= a_t.max() < self.num_actions:
            raise NdigoError(f"actions reach from {a_t.min()} to {a_t.max()}, expected 0 to {self.num_actions - 1}")
        return a_t.astype(np.int32)

    def _flags(self, name: str, flags: Any, lead: tuple[int, ...]) -> np.ndarray:
        found = _as_numpy(flags)
        if found.shape != lead or not np.isin(found, (0, 1)).all():
            raise NdigoError(f"{name} is {found.dtype}{list(found.shape)}, expected True or False {list(lead)}")
        return found.astype(bool)


def arrays(o: Any) -> Any:
    """Observations in NumPy, dictionaries of any kind as plain ones: to JAX an ordered one is no frame of a join."""
    return {k: arrays(x) for k, x in o.items()} if isinstance(o, Mapping) else jax.tree.map(_as_numpy, o)


def _as_numpy(x: Any) -> np.ndarray:
    """A tensor of PyTorch too, wherever it is."""
    return np.asarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x)


def _in_time(step: Any) -> Steps:
    """One step as a rollout."""
    return jax.tree.map(lambda x: x[None], step)


class _Programs(NamedTuple):
    pure: PureCuriosity
    init: Any
    pay: Any
    pay_rollout: Any
    learn: Any


@lru_cache(maxsize=8)
def _compiled(
    reward: Any, frame: Frame, num_actions: int, config: Config | None, scale: str | None, gamma: float
) -> _Programs:
    """The pure functions with scaling, compiled once for all objects made alike.

    `learn` overwrites the state, whose replay is large; what the streams carry stays, in case the pay is no number.
    """
    pure = make_curiosity(reward, frame, num_actions, config)

    def rescaled(scales: Any, r: Any, is_first: Any, is_step: Any) -> Any:
        return scaling.scaled(scales, r, is_first, is_step, gamma) if scale is not None else (scales, r)

    def pay(params: Any, carry: Any, scales: Any, step: Any) -> Any:
        # By the plain functions: for one frame per stream the fast encoder's dense weights cost more than they save.
        is_step = carry.ages.is_step(step[2], step[3] is not None)
        carry, r, r_c = pure.pay(computed_by(PLAIN, params), carry, *step)
        scales, r = rescaled(scales, r, step[2], is_step)
        return (carry, scales), r, r_c

    def pay_rollout(params: Any, carry: Any, scales: Any, steps: Any) -> Any:
        is_first, ages_t = jnp.asarray(steps[2]), carry.ages.over(steps[2])[0]
        carry, r_t, _ = pure.pay_rollout(params, carry, *steps)
        x_t = r_t, is_first, ages_t.is_step(is_first, steps[3] is not None)
        scales, r_t = lax.scan(lambda scales, x: rescaled(scales, *x), scales, x_t)
        return (carry, scales), r_t

    def learn(key: Any, state: Any, steps: Any, num_updates: int | None) -> Any:
        return pure.learn(key, state, *steps, num_updates=num_updates)

    return _Programs(
        pure,
        init=jax.jit(pure.init, static_argnums=1),
        pay=jax.jit(pay),
        pay_rollout=jax.jit(pay_rollout),
        learn=jax.jit(learn, static_argnums=3, donate_argnums=1),
    )
