"""A curiosity on disk: whole or absent, and damage shows.

curiosity.json   what it was made for, sealed (`storage.seal`)
step_N/          the state after N steps (`storage.checkpoint`): the newest two are kept
"""

from __future__ import annotations

import contextlib
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
from ndigo.storage.agents import refuse_non_finite
from ndigo.storage.lock import one_writer
from ndigo.storage.run_folder import read_whole, write_whole
from ndigo.storage.seal import seal, unseal

if TYPE_CHECKING:
    from ndigo.curiosity.record import PureCuriosity

FILE = "curiosity.json"
PENDING, SEEN = "pending", "seen"  # what stands before the names of these arrays


def settings(pure: PureCuriosity, num_envs: int, scale: str | None, gamma: float = 0.99) -> dict[str, Any]:
    """What a save and the object it is loaded into must agree in."""
    return {
        "reward": pure.reward.name,
        "frame": in_words(pure.frame),
        "num_actions": pure.num_actions,
        "num_envs": num_envs,
        "scale": scale or "nats",
        "discount of the scale": gamma if scale else None,
        "config": dataclasses.asdict(pure.config),
    }


def in_words(frame: Frame) -> str:
    """A frame in words, with a digest of all that it is."""
    shapes = ", ".join(f"{leaf.dtype}{list(leaf.shape)}" for leaf in jax.tree.leaves(frame.spec))
    return f"{type(frame).__name__.lower()} {shapes} ({hashlib.sha256(repr(frame).encode()).hexdigest()[:8]})"


def save(folder: Path, settings: dict[str, Any], step: int, tree: Any, pending: list[Any], seen: Any) -> Path:
    """`tree` has the same form whenever it is saved; the steps not yet learned from may be any number, or none."""
    arrays = checkpoint.named_arrays(tree)
    for i, steps in enumerate(pending):
        arrays |= _prefixed(f"{PENDING}{i:08}:", steps)
    arrays |= _prefixed(f"{SEEN}:", seen)
    refuse_non_finite(arrays, f"the curiosity for {folder}")
    fingerprint = checkpoint.fingerprint(settings)
    _refuse_run(folder)
    with one_writer(folder):
        if (folder / FILE).exists():
            refuse_other(str(folder), _settings_in(folder), settings)
            _refuse_later(folder, step, fingerprint)
        else:
            write_whole(folder / FILE, seal(json.dumps(settings, indent=1).encode()) + b"\n")
        checkpoint.remove_unfinished(folder)
        return checkpoint.save(folder, step, arrays, fingerprint)


def load(folder: Path, settings: dict[str, Any], like: Any, frame: Frame) -> tuple[int, Any, list[Any], Any]:
    """Step, tree, pending steps and newest frames of the newest good save."""
    if not (folder / FILE).is_file():
        raise NdigoError(f"{folder} holds no saved curiosity: it has no {FILE}")
    refuse_other(str(folder), _settings_in(folder), settings)
    step, arrays = checkpoint.load_newest(folder, checkpoint.fingerprint(settings), warnings.warn)
    source = f"{folder}/step_{step}"
    refuse_non_finite(arrays, source)
    rest = {name: arrays.pop(name) for name in list(arrays) if name.startswith((PENDING, SEEN))}
    tree = checkpoint.into_tree(arrays, like, source)
    num_envs = settings["num_envs"]
    try:
        prefixes = sorted({name.split(":")[0] for name in rest} - {SEEN})
        pending = [_steps(rest, prefix, frame, num_envs) for prefix in prefixes]
        return step, tree, pending, _frames(rest, f"{SEEN}:", frame, (num_envs,))
    except (KeyError, ValueError) as error:
        raise NdigoError(f"{source} is of another configuration: {error} of the steps not yet learned from") from None


def refuse_other(source: str, found: dict[str, Any], expected: dict[str, Any]) -> None:
    """An error that names the first setting in which the two differ."""
    flat_found, flat_expected = ({**_config_in(s), **s} for s in (found, expected))
    for name, value in flat_expected.items():
        if name != "config" and flat_found.get(name) != value:
            raise NdigoError(f"{source} was saved with {name} {flat_found.get(name)}, expected {value}")


def _config_in(settings: dict[str, Any]) -> dict[str, Any]:
    config = settings.get("config")
    return config if isinstance(config, dict) else {}


def _settings_in(folder: Path) -> dict[str, Any]:
    try:
        return unseal(read_whole(folder / FILE).removesuffix(b"\n"))[0]
    except ValueError as error:
        raise NdigoError(f"{folder / FILE} is damaged ({error})") from None


def _refuse_run(folder: Path) -> None:
    """An error where a run is, or checkpoints that are no curiosity's: the oldest of them would be cleared away."""
    if not (folder / FILE).exists() and ((folder / "config.json").exists() or checkpoint.steps(folder)):
        raise NdigoError(f"{folder} holds a run or its checkpoints; save a curiosity in a folder of its own")


def _refuse_later(folder: Path, step: int, fingerprint: str) -> None:
    """An error where a good save of a later step is there: `load` would return that one, and not what is saved now."""
    for later in (other for other in checkpoint.steps(folder) if other > step):
        with contextlib.suppress(checkpoint.UnusableCheckpoint):
            checkpoint.load(folder / f"step_{later}", fingerprint)
            raise NdigoError(f"{folder} has a save of step {later}, later than {step}: load that, or save elsewhere")


def _prefixed(prefix: str, tree: Any) -> dict[str, np.ndarray]:
    return {prefix + name: array for name, array in checkpoint.named_arrays(tree).items()}


def _steps(arrays: dict[str, np.ndarray], prefix: str, frame: Frame, num_envs: int) -> tuple[Any, ...]:
    """(a_t, o_tp1, is_first, o_last), by their places."""
    lead = (len(arrays[f"{prefix}:[0]"]), num_envs)
    a_t, is_first = (_array(arrays, f"{prefix}:[{i}]", lead, kind) for i, kind in ((0, np.int32), (2, np.bool_)))
    o_tp1, o_last = (_frames(arrays, f"{prefix}:[{i}]", frame, lead) for i in (1, 3))
    if o_tp1 is None:
        raise KeyError(f"{prefix}:[1]")
    return a_t, o_tp1, is_first, o_last


def _frames(arrays: dict[str, np.ndarray], prefix: str, frame: Frame, lead: tuple[int, ...]) -> Any:
    """The frames whose arrays' names begin so; None where there are none."""
    if not any(name.startswith(prefix) for name in arrays):
        return None
    return jax.tree_util.tree_map_with_path(
        lambda path, spec: _array(arrays, prefix + jax.tree_util.keystr(path), (*lead, *spec.shape), spec.dtype),
        frame.spec,
    )


def _array(arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array that has this shape and type, or an error of it."""
    found = arrays[name]
    if found.shape != shape or found.dtype != dtype:
        raise ValueError(f"{name} is {found.dtype}{list(found.shape)}")
    return found
