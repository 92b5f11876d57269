"""Any Gymnasium environment with discrete actions, stepped by processes of the host while the device learns.

    world = from_gymnasium(lambda: gymnasium.make("MiniGrid-KeyCorridorS3R3-v0"), num_envs=32,
                           place=lambda env: (*env.unwrapped.agent_pos, env.unwrapped.agent_dir))

A process is started afresh and imports what it needs, so a script that trains says `if __name__ == "__main__":`.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ndigo.errors import NdigoError, UserCodeError, first_line, install, running, unknown_name
from ndigo.frames import Frame, Join, Vector
from ndigo.frames.frame import require_counts
from ndigo.from_module import import_own
from ndigo.interop.suites.bounds import within_bounds
from ndigo.interop.suites.minigrid_view import read_image, read_known_image
from ndigo.interop.suites.spaces import frame_of
from ndigo.interop.suites.stepped import GOAL, MOST_STEPS, require_discrete, require_frame
from ndigo.worlds import World
from ndigo.worlds.host import Draw, Environments, Host, on_the_host

REGISTERED_BY = {"MiniGrid": "minigrid", "BabyAI": "minigrid", "ALE": "ale_py"}  # ids' first words -> their package
DISCRETE = ("Acrobot-v1", "CartPole-v1", "FrozenLake-v1")  # ids to offer: others' actions may be continuous
EXTRAS = {"minigrid": "minigrid"}  # packages -> our extra that installs them


def from_gymnasium(
    make: Callable[[], Any],
    *,
    num_envs: int | None = None,
    name: str | None = None,
    frame: Frame | None = None,
    read: Callable[[Any], Any] | None = None,
    place: Callable[[Any], Any] | None = None,
    events: Mapping[str, Callable[[Any, float], Any]] | None = None,
    num_steps: int | None = None,
    make_drawn: Callable[[], Any] | None = None,
) -> World:
    """The world of the environments that `make` makes.

    `read` turns an observation into what `frame` has, in NumPy. `place` reads the environment, and so does each of
    `events`, with the reward of the step into its state. `num_envs` are the actors of a run whose settings do not say.
    Films have the environment's own pictures where `make_drawn`, or else `make`, gives it the render_mode "rgb_array".
    """
    # Here and not above: whoever has no Gymnasium may still import this file.
    from ndigo.interop.spaces import space_of
    from ndigo.interop.suites.processes import Batch, Here, InProcesses, Reading

    _check_arguments(make, events, num_envs=num_envs, num_steps=num_steps)
    with running("from_gymnasium: make()"):
        env = make()
    if not hasattr(env, "observation_space"):
        raise NdigoError(f"from_gymnasium: make() returned a {type(env).__name__}, expected a Gymnasium environment")
    name = str(name or getattr(env.spec, "id", None) or type(env.unwrapped).__name__)
    num_actions = require_discrete(name, env.action_space)
    with running(f"world {name}: an episode of it"):
        first, _ = env.reset(seed=0)
    is_read_as_declared = frame is None and read is None
    if frame is None:
        frame, own = frame_of(name, env.observation_space, lambda: first if read is None else read(first))
        read = read or own
    require_frame(name, frame)
    first_action, happening = int(getattr(env.action_space, "start", 0)), tuple((events or {}).values())
    reading = Reading(name, space_of(frame), read or as_it_is, first_action, place, happening)
    tried = reading
    if is_read_as_declared and read is read_image:
        tried = dataclasses.replace(reading, read=partial(read_known_image, name))
    elif is_read_as_declared and isinstance(frame, Vector | Join):
        tried = dataclasses.replace(reading, read=within_bounds(name, env.observation_space, reading.read))
    longest = num_steps or min(_longest(env) or MOST_STEPS, MOST_STEPS)
    with running(f"world {name}: an episode of it"):
        num_places = len(reading.where(env))
        env.close()

    def open_envs(num: int, num_processes: int) -> Environments:
        if num_processes == 0:
            return Here(Batch(make, num, num_actions, num_places, tried))
        each = num // num_processes
        batch = partial(Batch, make, each, num_actions, num_places, reading)
        return InProcesses(name, batch, num_processes, each)

    def open_drawn() -> tuple[Environments, Draw]:
        batch = Batch(make_drawn or make, 1, num_actions, num_places, reading)
        return Here(batch), batch.draw

    refuse = on_the_host(name)
    return World(
        name=name,
        frame=frame,
        actions=tuple(f"action{i}" for i in range(num_actions)),
        num_steps=longest,
        reset=refuse,
        step=refuse,
        observe=refuse,
        ends=refuse,
        task_reward=refuse,
        events=tuple(events or ()),
        happens=refuse if events else None,
        host=Host(open_envs, open_drawn, num_envs),
    )


def _check_arguments(make: Any, events: Any, **counts: Any) -> None:
    if not callable(make):
        raise NdigoError(
            f"from_gymnasium: make is a {type(make).__name__}, expected a function that makes environments"
        )
    if events is not None and not isinstance(events, Mapping):
        raise NdigoError(f"from_gymnasium: events is a {type(events).__name__}, expected functions by their names")
    require_counts("from_gymnasium", **{name: count for name, count in counts.items() if count is not None})


def _longest(env: Any) -> int | None:
    """Steps of an episode, where the environment says so."""
    found = getattr(getattr(env, "spec", None), "max_episode_steps", None) or getattr(env.unwrapped, "max_steps", None)
    return int(found) if found is not None and math.isfinite(found) else None


def as_it_is(observation: Any) -> Any:
    return observation


def make_by_id(id_: str, **options: Any) -> Any:
    """For the processes too: each imports the package that registers the id."""
    gymnasium = importlib.import_module("gymnasium")
    package = REGISTERED_BY.get(id_.partition("-")[0].partition("/")[0])
    if package is not None and importlib.util.find_spec(package) is not None:
        importlib.import_module(package)
    return gymnasium.make(id_, **options)


def make_drawn_by_id(id_: str) -> Any:
    env = make_by_id(id_)
    if "rgb_array" not in env.metadata.get("render_modes", ()):
        return env
    env.close()
    return make_by_id(id_, render_mode="rgb_array")


def agent_place(env: Any) -> tuple[Any, ...]:
    """MiniGrid's agent: its cell and where it looks."""
    return (*env.unwrapped.agent_pos, env.unwrapped.agent_dir)


def is_paid(env: Any, reward: float) -> bool:
    return reward > 0


def by_name(gymnasium: Any, id_: str) -> World:
    package = REGISTERED_BY.get(id_.partition("-")[0].partition("/")[0])
    module, _, own_id = id_.rpartition(":")
    if (registers := module if module in REGISTERED_BY.values() else package) is not None:
        try:
            importlib.import_module(registers)
        except ImportError as error:
            how = install(EXTRAS[registers]) if registers in EXTRAS else f"pip install {registers}"
            raise NdigoError(f"world gymnasium::{id_}: {registers} is not installed ({error}): {how}") from None
    elif module:
        import_own(f"gymnasium::{id_}", "world", module, own_id)
    if id_ not in gymnasium.registry and not module:
        such = [such for such in DISCRETE if such in gymnasium.registry]
        known = unknown_name("Gymnasium environment", id_, gymnasium.registry, such=such)
        raise NdigoError(f"{known}; an id that your module registers is gymnasium::MODULE:ID")
    is_minigrid = package == "minigrid"
    try:
        return from_gymnasium(
            partial(make_by_id, id_),
            make_drawn=partial(make_drawn_by_id, id_),
            name=f"gymnasium::{id_}",
            place=agent_place if is_minigrid else None,
            events={GOAL[0]: is_paid} if is_minigrid else None,
        )
    except UserCodeError as error:  # what is not installed is no mistake in anybody's code
        why = error.__cause__
        if why is not None and isinstance(why, gymnasium.error.Error | ImportError):
            raise NdigoError(f"world gymnasium::{id_}: {first_line(why)}") from None
        raise
