"""A curiosity on disk: whole or absent, and damage shows.

curiosity.json   what it was made for, sealed (`storage.seal`)
step_N/          the state after N steps (`storage.checkpoint`): the newest two are kept
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ndigo.errors import NdigoError
from ndigo.frames import Frame
from ndigo.storage import checkpoint
from ndigo.storage.run_folder import make_folder, write_whole
from ndigo.storage.seal import seal, unseal

if TYPE_CHECKING:
    from ndigo.curiosity.record import PureCuriosity

FILE = "curiosity.json"
PENDING, SEEN = "pending", "seen"  # what stands before the names of these arrays


def settings(pure: PureCuriosity, num_envs: int, scale: str | None, gamma: float = 0.99) -> dict[str, Any]:
    """What a save and the object it is loaded into must agree in."""
    return {
        "reward": pure.reward.name,
        "frame": told(pure.frame),
        "num_actions": pure.num_actions,
        "num_envs": num_envs,
        "scale": scale or "nats",
        "discount of the scale": gamma if scale else None,
        "config": dataclasses.asdict(pure.config),
    }


def told(frame: Frame) -> str:
    """A frame in words, with a digest of all that it is."""
    shapes = ", ".join(f"{leaf.dtype}{list(leaf.shape)}" for leaf in jax.tree.leaves(frame.spec))
    return f"{type(frame).__name__.lower()} {shapes} ({hashlib.sha256(repr(frame).encode()).hexdigest()[:8]})"


def save(folder: Path, settings: dict[str, Any], step: int, tree: Any, pending: list[Any], seen: Any) -> Path:
    """`tree` has the same form whenever it is saved; the steps not yet learned from may be any number, or none."""
    make_folder(folder)
    write_whole(folder / FILE, seal(json.dumps(settings, indent=1).encode()) + b"\n")
    arrays = checkpoint.named_arrays(tree)
    for i, steps in enumerate(pending):
        arrays |= _prefixed(f"{PENDING}{i:08}:", steps)
    arrays |= _prefixed(f"{SEEN}:", seen)
    return checkpoint.save(folder, step, arrays, checkpoint.fingerprint(settings))


def load(folder: Path, settings: dict[str, Any], like: Any, frame: Frame) -> tuple[int, Any, list[Any], Any]:
    """Step, tree, pending steps and newest frames of the newest good save."""
    if not (folder / FILE).is_file():
        raise NdigoError(f"{folder} holds no saved curiosity: it has no {FILE}")
    try:
        found, _ = unseal((folder / FILE).read_bytes().removesuffix(b"\n"))
    except ValueError as error:
        raise NdigoError(f"{folder / FILE} is damaged ({error})") from None
    refuse_other(str(folder), found, settings)
    step, arrays = checkpoint.load_newest(folder, checkpoint.fingerprint(settings), warnings.warn)
    rest = {name: arrays.pop(name) for name in list(arrays) if name.startswith((PENDING, SEEN))}
    pending = [_steps(rest, prefix, frame) for prefix in sorted({name.split(":")[0] for name in rest} - {SEEN})]
    return step, checkpoint.into_tree(arrays, like, str(folder)), pending, _frames(rest, f"{SEEN}:", frame)


def refuse_other(source: str, found: dict[str, Any], expected: dict[str, Any]) -> None:
    """An error that names the first setting in which the two differ."""
    flat_found, flat_expected = ({**s, **s.get("config", {})} for s in (found, expected))
    for name, value in flat_expected.items():
        if name != "config" and flat_found.get(name) != value:
            raise NdigoError(f"{source} was saved with {name} {flat_found.get(name)}, expected {value}")


def _prefixed(prefix: str, tree: Any) -> dict[str, np.ndarray]:
    return {prefix + name: array for name, array in checkpoint.named_arrays(tree).items()}


def _steps(arrays: dict[str, np.ndarray], prefix: str, frame: Frame) -> tuple[Any, ...]:
    """(a_t, o_tp1, is_first, o_last), by their places."""
    a_t, is_first = (arrays[f"{prefix}:[{i}]"] for i in (0, 2))
    o_tp1, o_last = (_frames(arrays, f"{prefix}:[{i}]", frame) for i in (1, 3))
    return a_t, o_tp1, is_first, o_last


def _frames(arrays: dict[str, np.ndarray], prefix: str, frame: Frame) -> Any:
    """The frames whose arrays' names begin so; None where there are none."""
    if not any(name.startswith(prefix) for name in arrays):
        return None
    return jax.tree_util.tree_map_with_path(lambda path, _: arrays[prefix + jax.tree_util.keystr(path)], frame.spec)
