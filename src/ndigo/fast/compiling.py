"""The twin of `training.twins.compiled`: programs kept between commands, with the compiler's options for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from ndigo.config import Config
from ndigo.fast.pallas import on_gpu
from ndigo.fast.programs import kept, settings_text
from ndigo.worlds import World

Options = dict[str, bool | int | str]


def compiled(
    function: Callable[..., Any],
    name: str,
    made_from: tuple[Config, World] | None,
    donate: int | None = None,
) -> Callable[..., Any]:
    """`jit` of a function, for arguments of one shape and type; not traced if an earlier command has traced it.

    That is known by what the function is `made_from`, as the plain one says; without it (None) it is always traced.
    """
    if name == "init":
        return jax.jit(function, compiler_options=quick_options())
    options = acting_options() if name == "act" else learning_options()
    settings = None if made_from is None else settings_text(*made_from)
    return kept(name, function, settings, donate=donate, compiler_options=options)


def acting_options() -> Options | None:
    """How acting is compiled: on a GPU kernels run side by side, as each fills but a fraction of it."""
    return {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"} if on_gpu() else None


def learning_options() -> Options | None:
    """How learning is compiled: as acting, but no product is a kernel that XLA generates.

    It would generate a hundred and try each in many shapes, which doubles the time to compile, for nothing: products of
    this size are as fast in the library (docs/performance.md). Acting's are small, and gain from being fused.
    """
    options = acting_options()
    return None if options is None else options | {"xla_gpu_enable_triton_gemm": False}


def quick_options() -> Options | None:
    """How what runs once is compiled: on a CPU, where it is half of a small run's compiling, without optimising."""
    return {"xla_backend_optimization_level": 0} if jax.default_backend() == "cpu" else None
