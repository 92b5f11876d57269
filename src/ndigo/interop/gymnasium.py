"""The paper's worlds as Gymnasium environments.

    import gymnasium, ndigo.interop.gymnasium
    gymnasium.make("ndigo/FiveRooms-v0", experiment=1)  # experiments 1 to 4
    gymnasium.make("ndigo/Maze-v0")  # Experiment 5
    gymnasium.make_vec("ndigo/FiveRooms-v0", num_envs=64, experiment=1)

or, without the second import, `gymnasium.make("ndigo.interop.gymnasium:ndigo/FiveRooms-v0")`.

Reward is always 0.0 and no episode terminates: Gymnasium's `TimeLimit`, which `make` adds, truncates it
after 400 steps (`max_episode_steps`). A single environment steps in plain Python, many at once in JAX.
`info` tells where everything is; an agent that reads it is no longer discovering anything.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
from gymnasium import spaces

from ndigo.errors import NdigoError
from ndigo.interop.numpy_world import NumpyWorld
from ndigo.interop.vector import WorldVectorEnv
from ndigo.paper.experiments import find_experiment
from ndigo.worlds import EPISODE_STEPS, World, make_world
from ndigo.worlds.render import render_ansi, render_rgb

FIVE_ROOMS_EXPERIMENTS = (1, 2, 3, 4)
MAZE_EXPERIMENT = 5
WORDS_AHEAD = 128  # steps whose random words are drawn at once: one call to NumPy costs as much as a step


class WorldEnv(gymnasium.Env[np.ndarray, SupportsIndex]):
    """One copy of a grid world. Its episodes have no end of their own: wrap it in `TimeLimit`."""

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}  # noqa: RUF012 (Gymnasium's way)

    def __init__(self, world: World, render_mode: str | None = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise NdigoError(f"render_mode {render_mode!r}: known: {', '.join(self.metadata['render_modes'])}")
        self.world = world
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0, 1, world.shape, np.uint8)
        self.action_space = spaces.Discrete(world.num_actions)
        self._copy = NumpyWorld(world)
        self._words: list[list[int]] = []  # for the steps to come

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        # Words drawn ahead belong to the old episode: a new one follows from the generator alone.
        self._words.clear()
        self._copy.reset_from(self.np_random.integers(2**32, size=self._copy.num_reset_words).tolist())
        return self._copy.observe(), self._copy.cells()

    def step(self, action: SupportsIndex) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        a_t = operator.index(action)
        if not 0 <= a_t < self.world.num_actions:
            raise NdigoError(f"action {a_t}: an action is 0 to {self.world.num_actions - 1}")
        if not self._words:
            self._words = self.np_random.integers(2**32, size=(WORDS_AHEAD, self._copy.num_step_words)).tolist()
        self._copy.step_from(self._words.pop(), a_t)
        return self._copy.observe(), 0.0, False, False, self._copy.cells()

    def render(self) -> Any:
        if self.render_mode == "ansi":
            return render_ansi(self.world, self._copy.truth())
        return render_rgb(self.world, self._copy.truth()) if self.render_mode == "rgb_array" else None


class FiveRoomsEnv(WorldEnv):
    """The paper's 5 rooms, with the objects of Experiment 1, 2, 3 or 4."""

    def __init__(self, experiment: int = 1, view: int = 5, render_mode: str | None = None) -> None:
        super().__init__(five_rooms_world(experiment, view), render_mode)


class MazeEnv(WorldEnv):
    """The paper's maze: Experiment 5."""

    def __init__(self, view: int = 5, render_mode: str | None = None) -> None:
        super().__init__(_world_of(MAZE_EXPERIMENT, view), render_mode)


def five_rooms_vector(num_envs: int, experiment: int = 1, view: int = 5, **options: Any) -> WorldVectorEnv:
    """Many copies; `options` are `WorldVectorEnv`'s."""
    return WorldVectorEnv(five_rooms_world(experiment, view), num_envs, **options)


def maze_vector(num_envs: int, view: int = 5, **options: Any) -> WorldVectorEnv:
    """Many copies; `options` are `WorldVectorEnv`'s."""
    return WorldVectorEnv(_world_of(MAZE_EXPERIMENT, view), num_envs, **options)


def five_rooms_world(experiment: int, view: int) -> World:
    if experiment not in FIVE_ROOMS_EXPERIMENTS:
        known = ", ".join(map(str, FIVE_ROOMS_EXPERIMENTS))
        raise NdigoError(
            f"experiment {experiment!r}: ndigo/FiveRooms-v0 has {known}; Experiment {MAZE_EXPERIMENT} is ndigo/Maze-v0"
        )
    return _world_of(experiment, view)


def _world_of(experiment: int, view: int) -> World:
    if not isinstance(view, int):
        raise NdigoError(f"view {view!r}: the side of the agent's view must be an odd whole number")
    return _cached_world(find_experiment(f"exp{int(experiment)}").world_name, view)


@functools.cache  # a world is immutable, so all copies of an environment share one
def _cached_world(name: str, view: int) -> World:
    return make_world(name, view=view)


def register() -> None:
    """Adds the environments to Gymnasium's registry; importing this module has done it."""
    for name, single, vector in (
        ("ndigo/FiveRooms-v0", FiveRoomsEnv, five_rooms_vector),
        ("ndigo/Maze-v0", MazeEnv, maze_vector),
    ):
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point=f"{__name__}:{single.__name__}",
                vector_entry_point=f"{__name__}:{vector.__name__}",
                max_episode_steps=EPISODE_STEPS,
            )


register()
