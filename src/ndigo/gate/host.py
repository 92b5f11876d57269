"""A world of the host against its record: some steps of one environment in this process, and one in another."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from typing import IO, Any

import jax
import numpy as np

from ndigo.errors import NdigoError, running
from ndigo.gate.shapes import text_of
from ndigo.worlds import World
from ndigo.worlds.host import FAILED

NUM_STEPS = 200  # of uniform actions


@lru_cache(maxsize=32)
def check_host(world: World) -> None:
    """An error in one line where a frame is not what the record says."""
    assert world.host is not None
    whose = f"world {world.name}:"
    rng = np.random.default_rng(0)
    with running(f"{whose} an environment of it"):
        envs = world.host.open(1, 0)
    frames = []
    with contextlib.closing(envs):
        for t in range(NUM_STEPS):
            with running(f"{whose} step {t} of it"):
                if t:
                    envs.send(rng.integers(0, world.num_actions, 1))
                o_t = envs.receive().o_t if t else envs.reset(0).o_t
            _require_types(f"{whose} a frame", o_t, world.frame.spec)
            frames.append(jax.tree.map(np.array, o_t))
    o_t = jax.tree.map(lambda *parts: np.concatenate(parts), *frames)
    if (wrong := world.frame.wrong(o_t)) is not None:
        raise NdigoError(f"{whose} {wrong}")


@lru_cache(maxsize=32)
def check_processes(world: World) -> None:
    """An error in one line, by the other process's own last word, where it cannot make the environment."""
    if world.host is None:
        return
    with tempfile.TemporaryFile() as said:
        try:
            with _errors_into(said), contextlib.closing(world.host.open(1, 1)) as envs:
                envs.reset(0)
        except NdigoError as error:
            said.seek(0)
            words = said.read().decode(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(words) if line.strip()), "")
            if not isinstance(error.__cause__, EOFError | ConnectionError) or not last:
                raise  # what was raised in there came back, or nothing was said
            raise NdigoError(f"world {world.name}: {FAILED}{last.rpartition(FAILED)[2]}") from None


@contextlib.contextmanager
def _errors_into(file: IO[bytes]) -> Iterator[None]:
    """What this process and those that it starts meanwhile write to stderr goes into the file.

    One that dies before it has begun, in the import of the script say, has no other way to tell why.
    """
    before = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


def _require_types(whose: str, found: Any, spec: Any) -> None:
    if isinstance(spec, dict):
        if not isinstance(found, dict) or set(found) != set(spec):
            raise NdigoError(f"{whose} is {text_of(found)}, expected a dictionary with {', '.join(map(repr, spec))}")
        for name, part in spec.items():
            _require_types(f"{whose} under {name!r}", found[name], part)
        return
    if not hasattr(found, "dtype") or (found.shape[1:], found.dtype) != (spec.shape, spec.dtype):
        shown = f"{found.dtype}{list(found.shape[1:])}" if hasattr(found, "dtype") else text_of(found)
        raise NdigoError(f"{whose} is {shown}, expected {spec.dtype}{list(spec.shape)}: read must return the frame")
