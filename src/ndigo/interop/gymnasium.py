"""Our worlds, and yours, as Gymnasium environments.

    import gymnasium, ndigo.interop.gymnasium
    gymnasium.make("ndigo/FiveRooms-v0", experiment=1)  # experiments 1 to 4
    gymnasium.make("ndigo/Maze-v0")  # Experiment 5
    gymnasium.make_vec("ndigo/FiveRooms-v0", num_envs=64, experiment=1)
    gymnasium.make("ndigo/World-v0", world="custom_world:world")  # any world, by the name commands take or as a record

or, without the second import, `gymnasium.make("ndigo.interop.gymnasium:ndigo/FiveRooms-v0")`. Every world of `WORLDS`
has an id of its own, such as `ndigo/FixedAndNoise-v0` for `fixed_and_noise`; after you add one, call `register`.

Reward and ends are the world's task's. Our own have none: reward 0.0, and no episode terminates. Gymnasium's
`TimeLimit` truncates an episode after the world's number of steps (`max_episode_steps`). A single environment steps in
plain Python where its world has a map of objects that can, else by one call to JAX; many at once step in JAX.
`info` tells where everything is; an agent that reads it is no longer discovering anything.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, SupportsIndex

import gymnasium
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit

from ndigo.errors import NdigoError
from ndigo.interop.finding import find_world
from ndigo.interop.jax_world import JaxWorld
from ndigo.interop.numpy_world import MOVES, NumpyWorld
from ndigo.interop.outcome import has_outcomes
from ndigo.interop.pictures import MODES, has_map, modes_of, picture
from ndigo.interop.spaces import space_of
from ndigo.interop.vector import WorldVectorEnv
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.worlds import EPISODE_STEPS, WORLDS, World, make_world

FIVE_ROOMS_EXPERIMENTS = (1, 2, 3, 4)
MAZE_EXPERIMENT = 5
WORDS_AHEAD = 128  # steps whose random words are drawn at once: one call to NumPy costs as much as a step


class WorldEnv(gymnasium.Env[Any, SupportsIndex]):
    """One copy of a world. Where episodes have no end of their own, wrap it in `TimeLimit`."""

    metadata = {"render_modes": [*MODES], "render_fps": 10}  # noqa: RUF012 (Gymnasium's way)

    def __init__(self, world: World, render_mode: str | None = None) -> None:
        self.metadata = {**self.metadata, "render_modes": modes_of(world, render_mode)}
        self.world = world
        self.render_mode = render_mode
        self.observation_space: spaces.Space[Any] = space_of(world.frame)
        self.action_space = spaces.Discrete(world.num_actions)
        can_walk = world.own_grid is not None and all(o.kind in MOVES for o in world.own_grid.objects)
        self._copy: Any = NumpyWorld(world) if can_walk and not has_outcomes(world) else JaxWorld(world)
        self._words: list[list[int]] = []  # for the steps to come

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        # Words drawn ahead belong to the old episode: a new one follows from the generator alone.
        self._words.clear()
        self._copy.reset_from(self.np_random.integers(2**32, size=self._copy.num_reset_words).tolist())
        return self._copy.observe(), self._copy.cells()

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        a_t = operator.index(action)
        if not 0 <= a_t < self.world.num_actions:
            raise NdigoError(f"action {a_t}: an action is 0 to {self.world.num_actions - 1}")
        if not self._words:
            self._words = self.np_random.integers(2**32, size=(WORDS_AHEAD, self._copy.num_step_words)).tolist()
        self._copy.step_from(self._words.pop(), a_t)
        reward, is_over, is_terminated = self._copy.outcome()
        return self._copy.observe(), reward, is_terminated, is_over and not is_terminated, self._copy.cells()

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        seen = self._copy.truth() if has_map(self.world) else self._copy.state
        return picture(self.world, self.render_mode, seen)


class FiveRoomsEnv(WorldEnv):
    """The paper's 5 rooms, with the objects of Experiment 1, 2, 3 or 4."""

    def __init__(self, experiment: int = 1, view: int = 5, render_mode: str | None = None) -> None:
        super().__init__(five_rooms_world(experiment, view), render_mode)


class MazeEnv(WorldEnv):
    """The paper's maze: Experiment 5."""

    def __init__(self, view: int = 5, render_mode: str | None = None) -> None:
        super().__init__(_world_of(MAZE_EXPERIMENT, view), render_mode)


def world_env(world: str | World, render_mode: str | None = None, **options: Any) -> gymnasium.Env:
    """One copy of the world, or of that name's, with episodes of its own length; options are `make_world`'s."""
    found = _found(world, **options)
    return TimeLimit(WorldEnv(found, render_mode), found.num_steps)


def world_vector(num_envs: int, world: str | World, view: int | None = None, **options: Any) -> WorldVectorEnv:
    """Many copies; `options` are `WorldVectorEnv`'s."""
    return WorldVectorEnv(_found(world, **({} if view is None else {"view": view})), num_envs, **options)


def _found(world: str | World, **options: Any) -> World:
    if not isinstance(world, World):
        return find_world(world, **options)
    if options:
        raise NdigoError(f"{', '.join(options)}: for a world by name; world {world.name!r} is a record, made already")
    return world


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
    return _cached_world(EXPERIMENTS[f"exp{int(experiment)}"].world_name, view)


@functools.cache  # a world is immutable, so all copies of an environment share one
def _cached_world(name: str, view: int) -> World:
    return make_world(name, view=view)


def register() -> None:
    """Adds the environments to Gymnasium's registry; importing this module has done it for all worlds known then."""
    papers: dict[str, Any] = {"max_episode_steps": EPISODE_STEPS}
    entries = [
        ("ndigo/FiveRooms-v0", FiveRoomsEnv, five_rooms_vector, papers),
        ("ndigo/Maze-v0", MazeEnv, maze_vector, papers),
        ("ndigo/World-v0", world_env, world_vector, {}),
        *((id_of(world), world_env, world_vector, {"kwargs": {"world": world}}) for world in WORLDS),
    ]
    for name, single, vector, options in entries:
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point=f"{__name__}:{single.__name__}",
                vector_entry_point=f"{__name__}:{vector.__name__}",
                **options,
            )


def id_of(world: str) -> str:
    """`ndigo/FixedAndNoise-v0` for the world `fixed_and_noise`."""
    return f"ndigo/{''.join(part.capitalize() for part in world.split('_'))}-v0"


register()
