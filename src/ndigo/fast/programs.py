"""Programs that are traced once for all processes.

JAX's persistent cache spares compiling, but it looks a program up by its text, and to write that text (trace the
functions, lower what they do) takes Python seconds: most of a second start. Here the text itself is kept, and looked up
by what it is made from: the package's sources, the run's settings, its arguments' types, the versions and the kind of
device. A program that cannot be read is traced anew and replaced.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
from jax import export

import ndigo
from ndigo.config import Config
from ndigo.errors import CACHE_VARIABLES, NdigoError
from ndigo.fast.compile_cache import by_source
from ndigo.storage.run_folder import make_folder, write_whole
from ndigo.worlds import World

MOST_KEPT = 200  # programs; the oldest go
# JAX does not promise that other versions of it will know these calls of our kernels; no other version asks for them.
KERNELS = [export.DisabledSafetyCheck.custom_call(name) for name in ("__gpu$xla.gpu.triton", "triton_kernel_call_ffi")]


def settings_text(config: Config, world: World) -> str | None:
    """The settings as text, if they say all about a program; None where a user's own record has a part in it."""
    if any(mark in name for name in (config.world, config.reward) for mark in ":<"):
        return None
    return json.dumps([dataclasses.asdict(config), world.name])


def kept(
    name: str,
    function: Callable[..., Any],
    settings: str | None,
    *,
    donate: int | None = None,
    compiler_options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """`jit` of a function, for arguments of one shape and type; not traced if an earlier command has traced it.

    `settings` say all that it closes over (`settings_text`), and `name` tells it from others that are made from the
    same; `donate` is the argument that may be overwritten.
    """
    plain = jax.jit(function, donate_argnums=() if donate is None else (donate,), compiler_options=compiler_options)
    folder = by_source()
    if settings is None or folder is None:
        return plain
    program: Callable[..., Any] | None = None

    def find(args: tuple[Any, ...]) -> Callable[..., Any]:
        leaves, structure = jax.tree.flatten(args)
        types = [str(jax.typeof(leaf)) for leaf in leaves]
        path = folder / _digest("\n".join([*_surroundings(), name, settings, *types]).encode())
        sizes = [len(jax.tree.leaves(arg)) for arg in args]
        first = 0 if donate is None else sum(sizes[:donate])
        donated = () if donate is None else range(first, first + sizes[donate])

        def compiled(text: export.Exported, shape: Any) -> Callable[..., Any]:
            # Compiled here, for arrays wherever they are: a call's results are bound to their device and its first
            # arguments are not, for which `jit` would compile once more.
            run = jax.jit(text.call, donate_argnums=tuple(donated), compiler_options=compiler_options)
            run = run.lower(*leaves).compile()
            result = jax.tree.structure(tree_of(shape, args))
            return lambda *args: jax.tree.unflatten(result, run(*jax.tree.leaves(args)))

        if (found := _load(path)) is not None:
            with contextlib.suppress(Exception):  # no program of ours, whatever its digest says: made anew
                return compiled(*found)
        shape: Any = None

        def flat(*leaves: Any) -> list[Any]:
            nonlocal shape
            result = function(*jax.tree.unflatten(structure, leaves))
            shape = outline(result, args)
            if jax.tree.structure(tree_of(shape, args)) != jax.tree.structure(result):
                raise TypeError(f"{name} returns what has no outline")
            return jax.tree.leaves(result)

        try:
            text = export.export(jax.jit(flat), disabled_checks=KERNELS)(*leaves)
        except Exception:  # what cannot be kept may still be run; and a mistake in it shows itself there
            return plain
        _save(path, text, shape)
        return compiled(text, shape)

    def call(*args: Any) -> Any:
        nonlocal program
        program = program or find(args)
        return program(*args)

    return call


@functools.cache
def _surroundings() -> list[str]:
    """What else a program depends on: sources, versions, variables and the kind of device."""
    root = Path(ndigo.__file__).parent
    sources = [f"{path.relative_to(root)} {_digest(path.read_bytes())}" for path in sorted(root.rglob("*.py"))]
    versions = [f"{package} {version(package)}" for package in ("jax", "jaxlib", "numpy", "equinox", "optax")]
    # Not where programs are kept: they are the same after a move.
    names = [n for n in sorted(os.environ) if n.startswith("JAX_") and not n.startswith(CACHE_VARIABLES)]
    variables = [f"{name}={os.environ[name]}" for name in names]
    return [*sources, *versions, *variables, platform.python_version(), jax.devices()[0].device_kind]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _bound(path: Path, data: bytes) -> bytes:
    """The digest of a program under its key, so that another's file in its place is no match."""
    return _digest(path.name.encode() + b"\n" + data).encode()


def _load(path: Path) -> tuple[export.Exported, Any] | None:
    """A program and the outline of its result."""
    try:
        digest, _, data = path.read_bytes().partition(b"\n")
        # JAX reads a program's text only when it compiles it: a damaged one would be found out too late.
        if digest != _bound(path, data):
            return None
        shape, _, text = data.partition(b"\n")
        return export.deserialize(bytearray(text)), json.loads(shape)
    except Exception:  # a file that is no program can fail anywhere in JAX's reader
        return None


def _save(path: Path, text: export.Exported, shape: Any) -> None:
    """Keeps it if there is room; a run does not fail for it."""
    with contextlib.suppress(OSError, NdigoError):
        make_folder(path.parent)
        own = path.with_name(f"{path.name}-{os.getpid()}")  # others may be writing the same one
        data = json.dumps(shape).encode() + b"\n" + bytes(text.serialize())
        write_whole(own, _bound(path, data) + b"\n" + data)
        own.replace(path)
        ours = [p for p in path.parent.iterdir() if re.fullmatch(r"[0-9a-f]{64}(-[0-9]+)?", p.name)]
        for old in sorted(ours, key=lambda p: p.stat().st_mtime)[:-MOST_KEPT]:
            old.unlink(missing_ok=True)


def outline(result: Any, args: tuple[Any, ...]) -> Any:
    """The structure of a program's result as JSON, so that it need not be traced to know what its leaves are.

    A part that has the structure of an argument is that argument's number; else a tuple is a list, a record its class
    and fields, and an array is "leaf".
    """
    structures = [jax.tree.structure(arg) for arg in args]

    def of(x: Any) -> Any:
        if (structure := jax.tree.structure(x)) in structures:
            return structures.index(structure)
        if type(x) is tuple:
            return [of(part) for part in x]
        if isinstance(x, eqx.Module):
            fields = {field.name: of(getattr(x, field.name)) for field in dataclasses.fields(x)}
            return {"record": [type(x).__module__, type(x).__qualname__], "fields": fields}
        return None if x is None else "leaf"

    return of(result)


def tree_of(shape: Any, args: tuple[Any, ...]) -> Any:
    """A tree of that outline, whatever its leaves; records are looked for among what has been imported."""
    if isinstance(shape, int):
        return args[shape]
    if isinstance(shape, list):
        return tuple(tree_of(part, args) for part in shape)
    if isinstance(shape, dict):
        module, name = shape["record"]
        fields = {field: tree_of(part, args) for field, part in shape["fields"].items()}
        return getattr(sys.modules[module], name)(**fields)
    return shape
