"""A world of the host against its record: some steps of environments in this process, and one in another."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from typing import IO

import jax
import numpy as np

from ndigo.errors import NdigoError, running
from ndigo.gate.shapes import require_array
from ndigo.gate.world import EPISODES, MOST_TRIED, Sample, check_frame_types
from ndigo.worlds import World
from ndigo.worlds.host import FAILED

NUM_STEPS = 200  # of each


@lru_cache(maxsize=MOST_TRIED)
def sample_host(world: World) -> Sample:
    """Uniform actions in a few environments; an error in one line where one shows what the record does not say."""
    assert world.host is not None
    whose = f"world {world.name}:"
    actions = np.random.default_rng(0).integers(0, world.num_actions, (NUM_STEPS, EPISODES))
    with running(f"{whose} an environment of it"):
        envs = world.host.open(EPISODES, 0)
    frames, ends = [], []
    with contextlib.closing(envs):
        for t in range(NUM_STEPS + 1):
            with running(f"{whose} step {t} of it"):
                if t:
                    envs.send(actions[t - 1])
                told = envs.receive() if t else envs.reset(0)
            check_frame_types(f"{whose} read", jax.tree.map(lambda x: x[0], told.o_t), world.frame.spec)
            require_array(f"{whose} step {t} of it: its rewards", told.reward, (EPISODES,), "floating")
            if not np.isfinite(told.reward).all():
                n = int((~np.isfinite(told.reward)).argmax())
                raise NdigoError(
                    f"{whose} step {t} of it returned the reward {told.reward[n]}, expected a finite number"
                )
            if not np.isfinite(told.place).all():
                raise NdigoError(f"{whose} step {t} of it: place returned numbers that are not finite")
            frames.append(jax.tree.map(np.array, told.o_t))
            ends.append(np.array(told.is_last))
    o_t = jax.tree.map(lambda *parts: np.stack(parts, axis=1), *frames)
    for n in range(EPISODES):
        if (wrong := world.frame.wrong(jax.tree.map(lambda x: x[n], o_t))) is not None:  # noqa: B023
            raise NdigoError(f"{whose} {wrong}")
    is_first = np.stack([np.ones(EPISODES, bool), *ends[:-1]], axis=1)
    return Sample(o_t, actions.T, truth=None, is_first=is_first)


@lru_cache(maxsize=MOST_TRIED)
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
