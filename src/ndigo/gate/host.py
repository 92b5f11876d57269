"""A world of the host against its record: some steps of one environment, in this process."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ndigo.errors import NdigoError, running
from ndigo.gate.shapes import text_of
from ndigo.worlds import World

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
