"""Many copies of a world as one Gymnasium vector environment, stepped by one jitted call.

A copy's step number T = `max_episode_steps` shows o_T and truncates its episode. Episodes of our own worlds all have
that length, so their copies end together; a world with `ends` may end each of its copies at any step before. What
follows in a copy that ended is Gymnasium's `AutoresetMode`:

    NEXT_STEP  (default)  the next step ignores its action and shows the new o_0
    SAME_STEP             step T itself shows the new o_0, with o_T in info["final_obs"]: no step is idle,
                          but most of Gymnasium's own observation wrappers refuse this mode
    DISABLED              the caller resets; where copies end apart, those of `options={"reset_mask": ...}`
"""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from ndigo.errors import NdigoError, unknown_name
from ndigo.interop.outcome import Outcome, has_outcomes, outcome_of
from ndigo.interop.pictures import MODES, has_map, modes_of, picture
from ndigo.interop.spaces import space_of
from ndigo.types import Truth
from ndigo.worlds import World
from ndigo.worlds.rollout import begin_where


class WorldVectorEnv(gymnasium.vector.VectorEnv):
    """`num_envs` copies of any `World`; observations are NumPy arrays [num_envs, ...] of its frames."""

    metadata = {  # noqa: RUF012 (Gymnasium's way)
        "render_modes": [*MODES],
        "render_fps": 10,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        world: World,
        num_envs: int,
        max_episode_steps: int | None = None,  # None: the world's own
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,  # or its value, such as "SameStep"
    ) -> None:
        if num_envs < 1:
            raise NdigoError(f"num_envs {num_envs}: a vector environment has at least 1 copy")
        modes = [mode.value for mode in AutoresetMode]
        if not isinstance(autoreset_mode, AutoresetMode) and autoreset_mode not in modes:
            raise unknown_name("autoreset_mode", autoreset_mode, modes)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        drawn = modes_of(world, render_mode)
        self.metadata = {**self.metadata, "render_modes": drawn, "autoreset_mode": self.autoreset_mode}
        self.world = world
        self.num_envs = num_envs
        self.max_episode_steps = world.num_steps if max_episode_steps is None else max_episode_steps
        if self.max_episode_steps < 1:
            raise NdigoError(f"max_episode_steps {self.max_episode_steps}: an episode has at least 1 step")
        self.render_mode = render_mode
        self.single_observation_space = space_of(world.frame)
        self.single_action_space = spaces.Discrete(world.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._start, self._renew, self._move = _jitted(world, num_envs)
        self._everyone = np.ones(num_envs, bool)
        self._states: Any = None
        self._clock = 0  # steps since the key was drawn
        self._time = np.zeros(num_envs, int)  # steps of each copy's episode
        self._is_over = np.zeros(num_envs, bool)  # copies that a next step would begin anew

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if options is None or "reset_mask" not in options:
            return self._begin(self._everyone)
        mask = np.asarray(options["reset_mask"])
        if self.world.ends is None:
            raise NdigoError("reset_mask: the copies of this environment end together and are reset together")
        if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            found = f"{mask.dtype}{list(mask.shape)}"
            raise NdigoError(f"reset_mask {found}: need {self.num_envs} True or False, and at least one True")
        return self._begin(mask if self._states is not None else self._everyone)

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        a_t = self._checked(actions)
        was_over = self._is_over
        if self._states is None or (was_over.any() and self.autoreset_mode is AutoresetMode.DISABLED):
            raise gymnasium.error.ResetNeeded("step before reset: call reset first")
        if was_over.all():
            o_t, infos = self._begin(was_over)
            return o_t, np.zeros(self.num_envs), ~was_over, ~was_over, infos
        self._clock, self._time = self._clock + 1, self._time + 1
        self._states, o_t, self._truth, outcome = self._move(self._key, self._clock, self._states, a_t)
        rewards, is_over, terminations = self._in_numpy(outcome)
        is_over |= self._time == self.max_episode_steps
        if was_over.any():  # they begin anew instead, whatever their action
            rewards[was_over], is_over[was_over], terminations[was_over] = 0.0, False, False
            o_t, infos = self._begin(was_over)
        else:
            o_t, infos = _copied(o_t), self._infos(self._everyone)
        self._is_over = is_over
        if is_over.any() and self.autoreset_mode is AutoresetMode.SAME_STEP:
            final = _masked(is_over, final_obs=_as_objects(o_t, is_over), final_info=self._infos(is_over))
            o_t, infos = self._begin(is_over)
            infos |= final
        return o_t, rewards, terminations, is_over & ~terminations, infos

    def render(self) -> tuple[Any, ...] | None:
        if self.render_mode is None:
            return None
        if self._states is None:
            raise gymnasium.error.ResetNeeded("render before reset: call reset first")
        seen = jax.tree.map(np.asarray, self._truth) if has_map(self.world) else self._states
        each = (jax.tree.map(lambda x, i=i: x[i], seen) for i in range(self.num_envs))
        return tuple(picture(self.world, self.render_mode, one) for one in each)

    def _begin(self, who: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Starts an episode in these copies; the random numbers to come follow from one draw of `np_random`."""
        self._key = jax.random.key(self.np_random.integers(2**31))
        self._clock, self._time, self._is_over = 0, np.where(who, 0, self._time), self._is_over & ~who
        begun = self._start(self._key) if who.all() else self._renew(self._key, who, self._states)
        self._states, o_t, self._truth = begun
        return _copied(o_t), self._infos(self._everyone)

    def _in_numpy(self, outcome: Outcome | None) -> Outcome:
        N = self.num_envs
        if outcome is None:
            return Outcome(np.zeros(N), np.zeros(N, bool), np.zeros(N, bool))
        return Outcome(np.array(outcome.reward, float), np.array(outcome.is_over), np.array(outcome.is_terminated))

    def _checked(self, actions: Any) -> np.ndarray:
        a_t = np.asarray(actions)
        if a_t.shape != (self.num_envs,) or a_t.dtype.kind not in "iu":
            raise NdigoError(f"actions {a_t.dtype}{list(a_t.shape)}: need {self.num_envs} whole numbers")
        if a_t.min() < 0 or a_t.max() >= self.world.num_actions:
            raise NdigoError(f"actions {a_t.min()} to {a_t.max()}: an action is 0 to {self.world.num_actions - 1}")
        return a_t.astype(np.int32)

    def _infos(self, who: np.ndarray) -> dict[str, Any]:
        if self._truth is None:
            return {}
        return _masked(who, agent=np.array(self._truth.agent), objects=np.array(self._truth.objects))


def _masked(who: np.ndarray, **infos: Any) -> dict[str, Any]:
    """Each entry with the mask Gymnasium wants beside it: which copies have it."""
    return infos | {f"_{name}": who.copy() for name in infos}


def _jitted(world: World, num_envs: int) -> tuple[Any, Any, Any]:
    """`start(key)` and `renew(key, who, states)` to (states, o_t, truth or None).

    And `move(key, t, states, actions)` to the same and the outcomes, None where they are always the same.
    """

    def look(states: Any) -> tuple[Any, Any, Truth | None]:
        truth = None if world.truth is None else jax.vmap(world.truth)(states)
        return states, jax.vmap(world.observe)(states), truth

    def keys(key: jax.Array, t: int) -> jax.Array:
        return jax.random.split(jax.random.fold_in(key, t), num_envs)

    @jax.jit
    def start(key: jax.Array) -> Any:
        return look(jax.vmap(world.reset)(keys(key, 0)))

    @jax.jit
    def renew(key: jax.Array, who: Any, states: Any) -> Any:
        return look(jax.vmap(partial(begin_where, world.reset))(who, keys(key, 0), states))

    @jax.jit
    def move(key: jax.Array, t: int, states: Any, a_t: Any) -> Any:
        states = jax.vmap(world.step)(keys(key, t), states, a_t)
        return *look(states), jax.vmap(partial(outcome_of, world))(states) if has_outcomes(world) else None

    return start, renew, move


def _copied(o_t: Any) -> Any:
    """In NumPy. A view of a JAX array is read-only, and code that trains on it may write."""
    return jax.tree.map(np.array, o_t)


def _as_objects(o_t: Any, who: np.ndarray) -> np.ndarray:
    """[num_envs] objects, each one copy's observation or None: the form Gymnasium gives `final_obs`."""
    objects = np.full(len(who), None, object)
    for i in np.flatnonzero(who):
        objects[i] = jax.tree.map(lambda x, i=i: x[i], o_t)
    return objects
