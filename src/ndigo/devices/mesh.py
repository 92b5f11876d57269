"""The mesh: which device trains which seeds, and which part of a seed.

    seeds   the seeds of a run, dealt out in order; devices along this axis never speak to each other
    data    equal parts of each seed (see `parts`); one all-reduce of gradients per update

Functions are written for one device and its seeds. `over_devices` has every device of the mesh run them on its own,
so that a device computes what it would compute alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from ndigo.config import Config
from ndigo.devices.parts import ALONE, DATA, Parts
from ndigo.errors import NdigoError, unknown_name

SEEDS = "seeds"
AXES = (SEEDS, DATA)
BY_SEED = P(SEEDS)  # [S, ...], the same in all parts of a seed
BY_ACTOR = P(SEEDS, DATA)  # [S, E, ...]
BY_BLOCK = P(SEEDS, None, DATA)  # [S, rounds, rows of a round, ...]: a ring whose rounds lie in parts


def make_mesh(seeds: int = 1, data: int = 1, devices: Sequence[Any] | None = None) -> Mesh:
    """The first seeds x data devices; of several processes', the same for all of them."""
    chosen = list(jax.devices() if devices is None else devices)[: seeds * data]
    return jax.make_mesh((seeds, data), AXES, axis_types=(AxisType.Auto,) * 2, devices=chosen)


def parts_of(mesh: Mesh | None) -> Parts:
    return ALONE if mesh is None else Parts(mesh.shape[DATA])


def over_devices(mesh: Mesh | None, function: Callable[..., Any], takes: Any, gives: Any) -> Callable[..., Any]:
    """The function on each device's share of its arguments; without a mesh, the function itself."""
    if mesh is None:
        return function
    # check_vma: what every part of a seed holds alike is so by construction, and kernels cannot say so of themselves.
    return jax.shard_map(function, mesh=mesh, in_specs=takes, out_specs=gives, check_vma=False)


def connect(mesh: Mesh | None) -> None:
    """Opens the connections between several processes' devices, along each axis and among all.

    Done while the processes are in step: they compile for minutes, drift apart by more than half a minute, and that is
    as long as one waits for another to connect.
    """
    if mesh is None or jax.process_count() == 1:
        return

    def speak(x: Any) -> Any:
        for axes in (DATA, SEEDS, AXES):
            x = lax.psum(x, axes)
        return x

    sizes = tuple(mesh.shape[axis] for axis in AXES)
    there = NamedSharding(mesh, BY_ACTOR)
    ones = jax.make_array_from_callback(sizes, there, lambda index: np.ones(sizes, np.float32)[index])
    jax.block_until_ready(jax.jit(over_devices(mesh, speak, BY_ACTOR, P()))(ones))


def choose_mesh(text: str | None, config: Config, lanes: int | None = None) -> Mesh | None:
    """The mesh that `--mesh` asks for; without it, seeds on as many devices as divide them. None is one device.

    Lanes are what trains side by side: the seeds, times the settings that are varied.
    """
    lanes, there = lanes or config.seeds, jax.device_count()
    if text is None:
        seeds, data = max(n for n in range(1, there + 1) if lanes % n == 0), 1
        if jax.process_count() > 1 and seeds < there:
            # A process without a device of the mesh would have nothing to do, and the others would wait for it.
            raise NdigoError(
                f"{_in_words(lanes, config)} do not divide among the {there} devices of {jax.process_count()} "
                f"processes; nearest: --seeds {_nearest_seeds(lanes, config, there)}"
            )
    else:
        seeds, data = read_mesh(text)
        refuse_uneven(text, seeds, data, lanes, config)
    return None if seeds * data == 1 and jax.process_count() == 1 else make_mesh(seeds, data)


def read_mesh(text: str) -> tuple[int, int]:
    """`seeds=4,data=2` as (4, 2); an axis that is not named has one device."""
    if not isinstance(text, str):
        raise NdigoError(f"mesh {text!r}: expected text, such as 'seeds=4,data=2'")
    sizes: dict[str, int] = {}
    for word in text.split(","):
        name, _, number = word.strip().partition("=")
        if name not in AXES:
            raise unknown_name(f"axis in --mesh {text}:", name, AXES)
        if name in sizes or not (number.isdecimal() and 0 < int(number) < 10**6):
            raise NdigoError(f"--mesh {text}: write each axis once with a whole number, as --mesh seeds=4,data=2")
        sizes[name] = int(number)
    return sizes.get(SEEDS, 1), sizes.get(DATA, 1)


def refuse_uneven(text: str, seeds: int, data: int, lanes: int, config: Config) -> None:
    """An error for a mesh that there are no devices for, or that something does not divide by, with the nearest."""
    there, processes = jax.device_count(), jax.process_count()
    if seeds * data > there:
        raise NdigoError(f"--mesh {text}: asks for {seeds * data} devices, and JAX finds {there}")
    if processes > 1 and seeds * data < there:
        raise NdigoError(f"--mesh {text}: asks for {seeds * data} of the {there} devices of {processes} processes")
    if lanes % seeds:
        fits = min((n for n in range(1, there // data + 1) if lanes % n == 0), key=lambda n: (abs(n - seeds), n))
        raise NdigoError(
            f"--mesh {text}: {_in_words(lanes, config)} do not divide by {seeds}; "
            f"nearest: --mesh seeds={fits},data={data}, or --seeds {_nearest_seeds(lanes, config, seeds)}"
        )
    for name in ("actors", "batch"):
        if (number := getattr(config, name)) % data:
            nearest = _nearest_multiple(number, data)
            raise NdigoError(f"--mesh {text}: {name} {number} do not divide by {data}; nearest: --{name} {nearest}")


def _in_words(lanes: int, config: Config) -> str:
    settings = lanes // config.seeds
    return (
        f"{lanes} seeds" if settings == 1 else f"{settings} settings of {config.seeds} seed{'s' * (config.seeds != 1)}"
    )


def _nearest_seeds(lanes: int, config: Config, by: int) -> int:
    """Of each setting, so that the lanes of all divide."""
    return _nearest_multiple(config.seeds, by // math.gcd(by, lanes // config.seeds))


def _nearest_multiple(number: int, of: int) -> int:
    return max(round(number / of), 1) * of
