"""Gymnasium environments that are stepped together, several in each process.

`Batch` is an environment of environments: its action has one entry for each of them, its observation all that they
show. So Gymnasium's AsyncVectorEnv, with shared memory, steps one `Batch` per process, and the number of processes is
that of the cores, whatever the number of environments.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv
from gymnasium.vector.utils import batch_space

from ndigo.errors import NdigoError, UserCodeError, first_line, traceback_of
from ndigo.worlds.host import FAILED, Listen, Told, nobody

Event = Callable[[Any, float], Any]  # environment, reward of the step into this state -> whether it happens there
SILENT = gymnasium.logger.ERROR + 1  # Gymnasium's warnings are the tracebacks of what is told in one line
WAIT = 0.1  # seconds between two looks for a signal; what is told ends the wait at once
OUTCOME = "observation, reward, terminated, truncated, info"


@dataclass(frozen=True)
class Reading:
    """How what an environment shows becomes the record of a step."""

    name: str  # of the world
    space: spaces.Space  # of a frame, as the world's frame has it
    read: Callable[[Any], Any]  # observation -> frame, in NumPy
    first_action: int  # Gymnasium's Discrete spaces may begin elsewhere than at 0
    place: Callable[[Any], Any] | None
    events: tuple[Event, ...]

    def where(self, env: Any) -> list[float]:
        """The numbers of a place in a row."""
        return [] if self.place is None else _numbers(self.place(env))

    def outcome(self, told: Any) -> tuple[Any, Any, bool, bool]:
        """Observation, reward, terminated and truncated, of all that `step` returned.

        An older environment returns four values, the last a dictionary: taken for `truncated`, it would end every
        episode at its first step.
        """
        if not isinstance(told, tuple) or len(told) != 5:
            found = f"{len(told)} values" if isinstance(told, tuple) else f"a {type(told).__name__}"
            raise NdigoError(f"world {self.name}: its step returned {found}, expected five values: {OUTCOME}")
        for what, value in zip(("terminated", "truncated"), told[2:4], strict=True):
            if not isinstance(value, bool | np.bool_):
                kind = type(value).__name__
                raise NdigoError(f"world {self.name}: {what} of its step is of type {kind}, expected bool")
        return told[:4]


class Batch(gymnasium.Env):
    """k environments; one whose episode has ended begins anew in the next step, whatever the action."""

    def __init__(self, make: Callable[[], Any], num_envs: int, num_actions: int, num_places: int, reading: Reading):
        if multiprocessing.parent_process() is not None:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # for the run, which finishes its chunk
                signal.signal(number, signal.SIG_IGN)
            threading.Thread(target=die_with_parent, daemon=True).start()
        self._make, self._num_envs, self._reading = make, num_envs, reading
        self._envs: list[Any] = []  # made at the first reset: what is raised there, a process tells
        self._is_over = np.zeros(num_envs, bool)
        one = {
            "o_t": reading.space,
            "reward": spaces.Box(-np.inf, np.inf, (), np.float32),
            "is_last": spaces.Box(0, 1, (), np.int8),
            "is_terminal": spaces.Box(0, 1, (), np.int8),
            "place": spaces.Box(-np.inf, np.inf, (num_places,), np.float64),
            "happens": spaces.Box(0, 1, (len(reading.events),), np.int8),
        }
        self.observation_space = batch_space(spaces.Dict(one), num_envs)
        self.action_space = spaces.MultiDiscrete([num_actions] * num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        with self._failing():
            if not self._envs:
                import_module_of(self._make)
                self._envs = [self._make() for _ in range(self._num_envs)]
            seeds = [None] * len(self._envs) if seed is None else range(seed, seed + len(self._envs))
            shown = [(env.reset(seed=s)[0], 0.0, False, False) for env, s in zip(self._envs, seeds, strict=True)]
            return self._told(shown), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        shown = []
        with self._failing():
            for env, a, is_over in zip(self._envs, action, self._is_over, strict=True):
                if is_over:
                    shown.append((env.reset()[0], 0.0, False, False))
                else:
                    shown.append(self._reading.outcome(env.step(int(a) + self._reading.first_action)))
            return self._told(shown), 0.0, False, False, {}

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """In a process of its own, whatever is raised comes to the run as one kind of error.

        Gymnasium hands errors over by pickle: the run would wait for ever for one that cannot be pickled. A traceback
        cannot, and comes as a note.
        """
        try:
            yield
        except BaseException as error:  # sys.exit too, and a Ctrl-C that the environment made up
            if isinstance(error, NdigoError) or multiprocessing.parent_process() is None:
                raise
            told = UserCodeError(f"world {self._reading.name}: {FAILED}{first_line(error)}")
            if frames := traceback_of(error):
                told.add_note(frames)
            raise told from error

    def draw(self) -> Any:
        """The first environment's own picture of itself; None where it makes none."""
        env = self._envs[0]
        try:
            return env.render() if env.render_mode == "rgb_array" else None
        except gymnasium.error.DependencyNotInstalled:
            return None

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def _told(self, shown: Sequence[tuple[Any, Any, bool, bool]]) -> dict[str, Any]:
        observations, rewards, terminated, truncated = zip(*shown, strict=True)
        is_terminal, reading = np.array(terminated, bool), self._reading
        self._is_over = is_terminal | np.array(truncated, bool)
        pairs = list(zip(self._envs, rewards, strict=True))
        return {
            "o_t": _stacked([reading.read(o if isinstance(o, dict | tuple) else np.asarray(o)) for o in observations]),
            "reward": np.array(rewards, np.float32),
            "is_last": self._is_over.astype(np.int8),
            "is_terminal": is_terminal.astype(np.int8),
            "place": np.array([reading.where(env) for env in self._envs], np.float64),
            "happens": np.array([[bool(f(env, r)) for f in reading.events] for env, r in pairs], np.int8),
        }


class Here:
    """A batch in this process."""

    def __init__(self, batch: Batch):
        self._batch, self._told = batch, None

    def reset(self, seed: int, listen: Listen = nobody) -> Told:
        return told_of(self._batch.reset(seed=seed)[0])

    def send(self, a_t: np.ndarray) -> None:
        self._told = self._batch.step(a_t)[0]

    def receive(self, listen: Listen = nobody) -> Told:
        return told_of(self._told)

    def close(self) -> None:
        self._batch.close()


class InProcesses:
    """Batches in processes of their own, by Gymnasium's vector environment."""

    def __init__(self, name: str, make: Callable[[], Batch], num_processes: int, num_each: int):
        self._name, self._shape = name, (num_processes, num_each)
        self._envs: Any = None
        # Not forked: the device's threads would be, too.
        with self._failing():
            self._envs = AsyncVectorEnv([make] * num_processes, context="spawn", shared_memory=True, copy=False)

    def reset(self, seed: int, listen: Listen = nobody) -> Told:
        with self._failing():
            num_processes, num_each = self._shape
            self._envs.reset_async(seed=[seed + num_each * i for i in range(num_processes)])
            self._wait(listen)
            return self._joined(self._envs.reset_wait()[0])

    def send(self, a_t: np.ndarray) -> None:
        with self._failing():
            self._envs.step_async(a_t.reshape(self._shape))

    def receive(self, listen: Listen = nobody) -> Told:
        with self._failing():
            self._wait(listen)
            return self._joined(self._envs.step_wait()[0])

    def close(self) -> None:
        if self._envs is None or self._envs.closed:
            return
        for process in self._envs.processes:
            process.kill()  # they hear no lesser signal
        # Gymnasium asks for the step under way, which nobody waits for any more: the dead answer with an error.
        with warnings.catch_warnings(action="ignore"), contextlib.suppress(Exception):
            self._envs.close(terminate=True)
        self._envs.closed = True

    def _wait(self, listen: Listen) -> None:
        """Returns when every process has something to say, if only that it ended. A long wait would hear no signal."""
        for pipe in self._envs.parent_pipes:
            while not pipe.poll(WAIT):
                listen()

    def _joined(self, shown: Any) -> Told:
        """[processes, each, ...] as [N, ...]."""
        num = self._shape[0] * self._shape[1]
        return jax.tree.map(lambda x: x.reshape(num, *x.shape[2:]), told_of(shown))

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        level, gymnasium.logger.min_level = gymnasium.logger.min_level, SILENT
        try:
            yield
        except Exception as error:
            self.close()
            if isinstance(error, NdigoError):  # as it was raised in the process, inside of one of Gymnasium's making
                raise next((told for told in error.args if isinstance(told, NdigoError)), error) from None
            raise NdigoError(f"world {self._name}: {FAILED}{self._reason(error)}") from error
        finally:
            gymnasium.logger.min_level = level

    def _reason(self, error: Exception) -> str:
        if isinstance(error, RuntimeError) and "bootstrapping phase" in str(error):
            return 'a script that trains says `if __name__ == "__main__":`, because their processes import it'
        if not isinstance(error, EOFError | ConnectionError):  # broken pipes among them
            return first_line(error)
        when = " before it had begun" if self._envs is None else ", killed or out of memory"
        return f"one of their processes ended{when}"


def die_with_parent() -> None:
    """Ends this process when the one that started it is no more, also in the middle of a step that hangs."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def import_module_of(make: Callable[[], Any]) -> None:
    """A lambda comes to a process by value, without its module, whose imports may register what it makes."""
    name = getattr(make, "__module__", None)
    if name is None or name in sys.modules:
        return
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):  # one that was made by hand is in no file
            raise


def told_of(shown: Any) -> Told:
    flags = {name: np.asarray(shown[name]) > 0 for name in ("is_last", "is_terminal", "happens")}
    return Told(o_t=shown["o_t"], reward=shown["reward"], place=shown["place"], **flags)


def _numbers(tree: Any) -> list[float]:
    if isinstance(tree, int | float | np.number):  # most are, and to make arrays of them costs a tenth of a step
        return [float(tree)]
    if isinstance(tree, tuple | list):
        return [number for part in tree for number in _numbers(part)]
    return np.asarray(tree, float).ravel().tolist()


def _stacked(frames: Sequence[Any]) -> Any:
    if isinstance(frames[0], dict):
        return {name: _stacked([frame[name] for frame in frames]) for name in frames[0]}
    return np.stack(frames)
