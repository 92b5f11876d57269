"""What a function returns, without running it, in the words of an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ndigo.errors import NdigoError, running
from ndigo.fast.compiling import quick_options


def returned(whose: str, function: Callable[..., Any], *args: Any) -> Any:
    """The tree of types that `function(*args)` has; what it raises is an error that says whose it is."""
    with running(whose):
        return jax.eval_shape(function, *args)


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jit` of what runs a single time: on a CPU it is compiled in half the time, unoptimised."""
    return jax.jit(function, compiler_options=quick_options())


def require_array(whose: str, found: Any, shape: Sequence[int], kind: type | str, why: str = "") -> None:
    """`kind` is a type (`jnp.uint8`) or a class of them ("integer", "floating", "bool")."""
    expected = f"{kind if isinstance(kind, str) else jnp.dtype(kind).name}{_axes(shape)}"
    is_right = hasattr(found, "dtype") and tuple(found.shape) == tuple(shape) and _is_kind(found.dtype, kind)
    if not is_right:
        raise NdigoError(f"{whose} returned {text_of(found)}, expected {expected}{why}")


def require_record(whose: str, found: Any, record: type) -> None:
    if not isinstance(found, record):
        raise NdigoError(f"{whose} returned {text_of(found)}, expected a {record.__name__} record")


def require_same(whose: str, found: Any, wanted: Any, of: str) -> None:
    """The same tree of the same types; `of` says what `wanted` is."""
    if jax.tree.structure(found) != jax.tree.structure(wanted):
        raise NdigoError(f"{whose} returned {text_of(found)}, expected {text_of(wanted)} as {of}")
    leaves, others = jax.tree_util.tree_flatten_with_path(found)[0], jax.tree.leaves(wanted)
    for (path, leaf), other in zip(leaves, others, strict=True):
        if (leaf.shape, leaf.dtype) != (other.shape, other.dtype):
            where = jax.tree_util.keystr(path)
            part = f" in {where}" if where else ""
            raise NdigoError(f"{whose} returned {text_of(leaf)}{part}, expected {text_of(other)} as {of}")


def text_of(found: Any) -> str:
    """`int32[3,5]` of an array; the kind of anything else, with its leaves if they are few."""
    if _is_array(found):
        return f"{found.dtype}{_axes(found.shape)}"
    if found is None:
        return "None"
    leaves = jax.tree.leaves(found)
    inside = f" of {', '.join(map(text_of, leaves))}" if len(leaves) <= 4 and all(map(_is_array, leaves)) else ""
    return f"a {type(found).__name__}{inside}"


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "dtype")


def _is_kind(dtype: Any, kind: type | str) -> bool:
    if isinstance(kind, str):
        return jnp.issubdtype(dtype, {"integer": jnp.integer, "floating": jnp.floating, "bool": jnp.bool_}[kind])
    return dtype == jnp.dtype(kind)


def _axes(shape: Sequence[int]) -> str:
    return f"[{','.join(map(str, shape))}]"
