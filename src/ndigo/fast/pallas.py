"""What the Pallas kernels share: how an array is cut among programs, and a product summed in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as pallas_triton
from jaxtyping import Array

NUM_WARPS = 8
LEAST_ON_CHIP = 99 * 1024  # of the GPUs since Ampere
ON_CHIP = {"8.0": 163 * 1024, **dict.fromkeys(("9.0", "10.0", "10.3"), 227 * 1024)}  # by compute capability


def on_gpu() -> bool:
    """Whether what is traced now will run on a GPU.

    Asked in Python and not by `lax.platform_dependent`, which would trace and differentiate both branches.
    """
    return jax.default_backend() == "gpu"


def on_chip() -> int:
    """Bytes that one program can keep on the chip of the GPU that will run what is traced now."""
    return ON_CHIP.get(jax.local_devices()[0].compute_capability, LEAST_ON_CHIP)


def dot(a: Array, b: Array) -> Array:
    """a b, summed in float32."""
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


def tanh(x: Array, exact: bool) -> Array:
    """Not `exact`: by one instruction of the GPU, right to 11 bits (bfloat16 keeps 8). The interpreter lacks it."""
    return jnp.tanh(x) if exact else pallas_triton.approx_tanh(x)


def sigmoid(x: Array, exact: bool) -> Array:
    return 0.5 * tanh(0.5 * x, exact) + 0.5


def wait(interpret: bool) -> None:
    """A barrier: after it each thread of a program reads what any of them wrote before."""
    if not interpret:
        pallas_triton.debug_barrier()


def call_kernel(
    kernel: Callable[..., None],
    *,
    rows: int,
    inputs: Sequence[tuple[Array, bool]],
    outputs: Sequence[tuple[tuple[int, ...], Any]],
    interpret: bool,
    num_warps: int = NUM_WARPS,
    num_stages: int = 1,
) -> Any:
    """Runs `kernel` once for every `rows` streams, which lie on the second-last axis of each array.

    `inputs` are (array, whether it is cut; else each program gets it whole); `outputs` are (shape, type), all cut.
    With more than one of `num_stages` a loop's next tiles are on their way from memory while this one is computed.
    """
    num_programs = next(array.shape[-2] for array, is_cut in inputs if is_cut) // rows

    def spec(shape: tuple[int, ...], is_cut: bool) -> pl.BlockSpec:
        if not is_cut:
            return pl.BlockSpec(shape, lambda i: (0,) * len(shape))
        before = (0,) * (len(shape) - 2)
        return pl.BlockSpec((*shape[:-2], shape[-2] // num_programs, shape[-1]), lambda i: (*before, i, 0))

    return pl.pallas_call(
        kernel,
        grid=(num_programs,),
        in_specs=[spec(array.shape, is_cut) for array, is_cut in inputs],
        out_specs=[spec(shape, True) for shape, _ in outputs],
        out_shape=[jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in outputs],
        compiler_params=pallas_triton.CompilerParams(num_warps=num_warps, num_stages=num_stages),
        interpret=interpret,
        name=kernel.__qualname__.split(".")[0].strip("_"),
    )(*(array for array, _ in inputs))
