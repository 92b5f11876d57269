"""Many copies of a world as one Gymnasium vector environment, stepped by one jitted call.

Every episode has the same length, so all copies end together: step number T = `max_episode_steps` shows
o_T and truncates them all. What follows is Gymnasium's `AutoresetMode`:

    NEXT_STEP  (default)  the next step ignores its actions and shows the new o_0
    SAME_STEP             step T itself shows the new o_0, with o_T in info["final_obs"]: no step is idle,
                          but most of Gymnasium's own observation wrappers refuse this mode
    DISABLED              the caller resets
"""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from ndigo.errors import NdigoError, unknown_name
from ndigo.interop.spaces import space_of
from ndigo.types import Truth
from ndigo.worlds import World
from ndigo.worlds.render import render_ansi, render_rgb


class WorldVectorEnv(gymnasium.vector.VectorEnv):
    """`num_envs` copies of any `World`; observations are NumPy arrays [num_envs, ...] of its frames."""

    metadata = {  # noqa: RUF012 (Gymnasium's way)
        "render_modes": ["rgb_array", "ansi"],
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
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise NdigoError(f"render_mode {render_mode!r}: known: {', '.join(self.metadata['render_modes'])}")
        modes = [mode.value for mode in AutoresetMode]
        if not isinstance(autoreset_mode, AutoresetMode) and autoreset_mode not in modes:
            raise unknown_name("autoreset_mode", autoreset_mode, modes)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
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
        self._start, self._move = _jitted(world, num_envs)
        self._states: Any = None
        self._time = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if options is not None and "reset_mask" in options:
            raise NdigoError("reset_mask: the copies of this environment end together and are reset together")
        return self._begin()

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        a_t = self._checked(actions)
        if self._states is None or (self._is_over and self.autoreset_mode is AutoresetMode.DISABLED):
            raise gymnasium.error.ResetNeeded("step before reset: call reset first")
        if self._is_over and self.autoreset_mode is AutoresetMode.NEXT_STEP:
            return self._transition(*self._begin(), is_over=False)
        self._time += 1
        self._states, o_t, self._truth = self._move(self._key, self._time, self._states, a_t)
        o_t, infos, is_over = _copied(o_t), self._infos(), self._is_over
        if is_over and self.autoreset_mode is AutoresetMode.SAME_STEP:
            final = self._masked(final_obs=_as_objects(o_t), final_info=infos)
            o_t, infos = self._begin()
            infos |= final
        return self._transition(o_t, infos, is_over=is_over)

    def render(self) -> tuple[Any, ...] | None:
        if self.render_mode is None:
            return None
        if self._states is None:
            raise gymnasium.error.ResetNeeded("render before reset: call reset first")
        if self._truth is None:
            raise NdigoError(f"world {self.world.name!r} has no truth to draw")
        draw = render_rgb if self.render_mode == "rgb_array" else render_ansi
        truth = jax.tree.map(np.asarray, self._truth)
        return tuple(draw(self.world, jax.tree.map(lambda x, i=i: x[i], truth)) for i in range(self.num_envs))

    @property
    def _is_over(self) -> bool:
        return self._time == self.max_episode_steps

    def _transition(self, o_t: Any, infos: dict[str, Any], *, is_over: bool) -> tuple:
        rewards, terminations = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        return o_t, rewards, terminations, np.full(self.num_envs, is_over), infos

    def _begin(self) -> tuple[Any, dict[str, Any]]:
        """Starts an episode in every copy; its random numbers follow from one draw of `np_random`."""
        self._key = jax.random.key(self.np_random.integers(2**31))
        self._time = 0
        self._states, o_0, self._truth = self._start(self._key)
        return _copied(o_0), self._infos()

    def _checked(self, actions: Any) -> np.ndarray:
        a_t = np.asarray(actions)
        if a_t.shape != (self.num_envs,) or a_t.dtype.kind not in "iu":
            raise NdigoError(f"actions {a_t.dtype}{list(a_t.shape)}: need {self.num_envs} whole numbers")
        if a_t.min() < 0 or a_t.max() >= self.world.num_actions:
            raise NdigoError(f"actions {a_t.min()} to {a_t.max()}: an action is 0 to {self.world.num_actions - 1}")
        return a_t.astype(np.int32)

    def _infos(self) -> dict[str, Any]:
        if self._truth is None:
            return {}
        return self._masked(agent=np.array(self._truth.agent), objects=np.array(self._truth.objects))

    def _masked(self, **infos: Any) -> dict[str, Any]:
        """Each entry with the mask Gymnasium wants beside it: here every copy has it."""
        return infos | {f"_{name}": np.ones(self.num_envs, bool) for name in infos}


def _jitted(world: World, num_envs: int) -> tuple[Any, Any]:
    """`start(key)` and `move(key, t, states, actions)`, both to (states, o_t, truth or None)."""

    def look(states: Any) -> tuple[Any, Any, Truth | None]:
        truth = None if world.truth is None else jax.vmap(world.truth)(states)
        return states, jax.vmap(world.observe)(states), truth

    @jax.jit
    def start(key: jax.Array) -> Any:
        return look(jax.vmap(world.reset)(jax.random.split(jax.random.fold_in(key, 0), num_envs)))

    @jax.jit
    def move(key: jax.Array, t: int, states: Any, a_t: Any) -> Any:
        keys = jax.random.split(jax.random.fold_in(key, t), num_envs)
        return look(jax.vmap(world.step)(keys, states, a_t))

    return start, move


def _copied(o_t: Any) -> Any:
    """In NumPy. A view of a JAX array is read-only, and code that trains on it may write."""
    return jax.tree.map(np.array, o_t)


def _as_objects(o_t: Any) -> np.ndarray:
    """[num_envs] objects, each one copy's observation: the form Gymnasium gives `final_obs`."""
    objects = np.empty(len(jax.tree.leaves(o_t)[0]), object)
    for i in range(len(objects)):
        objects[i] = jax.tree.map(lambda x, i=i: x[i], o_t)
    return objects
