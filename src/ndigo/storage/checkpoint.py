"""Checkpoints that are whole or absent, and that know when they are damaged.

    checkpoints/step_N/state.safetensors   every array of the state, by its path in the tree
    checkpoints/step_N/manifest.json       step, sha256 of the state, fingerprint of the settings; sealed
    checkpoints/.step_N.old.tmp/           the one of the same step before it, until the new one has its name

Several processes that train one run write a part each in place of the state (see `parts`), and the manifest has every
part's sha256. What is loaded is the same arrays, however many processes wrote them.

safetensors loads a flipped byte without a word, hence the sha256.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from ndigo.errors import NdigoError
from ndigo.storage.in_place import aside_of, put_in_place, take_back
from ndigo.storage.parts import Share, assembled, wait_for_parts, write_part
from ndigo.storage.run_folder import WriteError, make_folder, read_whole, write_whole
from ndigo.storage.seal import seal, unseal

NUM_NEWEST = 2  # the newest, and one to fall back on
ASIDE = r"\.(step_(?:0|[1-9][0-9]*))\.old\.tmp"


def named_arrays(tree: Any) -> dict[str, np.ndarray]:
    """Copies of the tree's leaves by path; typed random keys as their raw words."""
    # A copy: on a CPU numpy would see JAX's own memory, which the next chunk overwrites.
    return {name: np.array(leaf, order="C") for name, leaf in named_leaves(tree).items()}


def named_leaves(tree: Any) -> dict[str, Any]:
    """The tree's leaves themselves by path; typed random keys as their raw words."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path): _raw(leaf) for path, leaf in leaves}


def _to_default_device(name: str, array: np.ndarray) -> jax.Array:
    return jax.device_put(array, may_alias=False)  # compiles nothing, as `asarray` does for every shape


def into_tree(
    arrays: dict[str, np.ndarray],
    like: Any,
    source: str,
    put: Callable[[str, np.ndarray], jax.Array] = _to_default_device,
) -> Any:
    """A tree shaped as `like`, filled from `arrays`, each `put` onto its devices; a mismatch is one line that names the
    first.
    """
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    names = [jax.tree_util.keystr(path) for path, _ in leaves]
    other = f"{source} is of another configuration, or of another version of ndigo"
    for name in sorted(set(names) ^ set(arrays)):
        where = "lacks" if name in names else "has the unknown"
        raise NdigoError(f"{other}: it {where} tensor {name}; train it anew")
    filled = []
    for name, (_, leaf) in zip(names, leaves, strict=True):
        wanted = jax.eval_shape(_raw, leaf)
        found = arrays[name]
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            raise NdigoError(
                f"{other}: {name} is {found.dtype}{list(found.shape)}, "
                f"expected {wanted.dtype}{list(wanted.shape)}; train it anew"
            )
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        filled.append(jax.random.wrap_key_data(put(name, found)) if is_key else put(name, found))
    return jax.tree_util.tree_unflatten(structure, filled)


def learned(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Of a run's whole state, the networks that are kept: where the agent has a mean of its weights, that one."""
    newest, mean = (
        {name.removeprefix(part): x for name, x in arrays.items() if name.startswith(part)}
        for part in (".learner.params", ".learner.policy")
    )
    return newest | {f".agent{name}": x for name, x in mean.items()}


def _raw(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def save(folder: Path, step: int, arrays: dict[str, np.ndarray], fingerprint: str) -> Path:
    """Writes step_N and removes the oldest; on failure the earlier checkpoints are as they were."""
    final, temporary = folder / f"step_{step}", folder / f".step_{step}.tmp"
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        make_folder(temporary)
        data = safetensors.numpy.save(arrays)
        write_whole(temporary / "state.safetensors", data)
        manifest = {"step": step, "state": hashlib.sha256(data).hexdigest(), "fingerprint": fingerprint}
        _publish(temporary, final, manifest)
    except (OSError, WriteError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise WriteError(f"checkpoint of step {step} is not saved ({error}); {last_good(folder)}") from None
    _remove_oldest(folder, step)
    return final


def save_share(folder: Path, step: int, share: Share, fingerprint: str, given_up: threading.Event) -> Path:
    """Writes this process' part of step_N; the first process waits for the others' and makes it a checkpoint."""
    final, temporary = folder / f"step_{step}", folder / f".step_{step}.tmp"
    try:
        write_part(temporary, share)
        if share.process == 0:
            sums = wait_for_parts(temporary, share.processes, given_up)
            _publish(
                temporary, final, {"step": step, "parts": sums, "shapes": share.shapes, "fingerprint": fingerprint}
            )
            _remove_oldest(folder, step)
    except (OSError, WriteError) as error:
        raise WriteError(f"checkpoint of step {step} is not saved ({error}); {last_good(folder)}") from None
    return final


def _publish(temporary: Path, final: Path, manifest: dict[str, Any]) -> None:
    """With its manifest and its name a folder is a checkpoint."""
    write_whole(temporary / "manifest.json", seal(json.dumps(manifest, indent=1).encode()) + b"\n")
    put_in_place(temporary, final)


def _remove_oldest(folder: Path, saved: int) -> None:
    # A later one, which is damaged or was not this run's, does not count: what was just saved stays.
    for old in [step for step in steps(folder) if step <= saved][NUM_NEWEST:]:
        # Renamed first: a kill in the middle leaves no folder that looks like a checkpoint.
        doomed = folder / f".step_{old}.tmp"
        with contextlib.suppress(OSError):  # it can stay: the new one is saved
            os.replace(folder / f"step_{old}", doomed)
            shutil.rmtree(doomed)


def remove_after(folder: Path, step: int) -> None:
    """Removes the checkpoints after `step`: a run that goes on from there makes them again."""
    for newer in (found for found in steps(folder) if found > step):
        doomed = folder / f".step_{newer}.tmp"
        os.replace(folder / f"step_{newer}", doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def remove_unfinished(folder: Path) -> None:
    """Clears what a kill left of checkpoints, and takes back what it left aside; no other name is ours to remove."""
    for path in folder.glob(".step_*.tmp"):
        is_needed = False
        if aside := re.fullmatch(ASIDE, path.name):
            take_back(folder / aside[1])
            is_needed = not (folder / aside[1]).exists()
        if not is_needed and (aside or re.fullmatch(r"\.step_[0-9]+\.tmp", path.name)):
            shutil.rmtree(path, ignore_errors=True)


def steps(folder: Path) -> list[int]:
    """The steps that have a checkpoint, newest first."""
    found = {path.name for path in folder.glob("step_*") if path.is_dir()}
    asides = (re.fullmatch(ASIDE, path.name) for path in folder.glob(".step_*.old.tmp") if path.is_dir())
    found |= {aside[1] for aside in asides if aside}
    return sorted((int(name[5:]) for name in found if re.fullmatch(r"step_(0|[1-9][0-9]*)", name)), reverse=True)


def last_good(folder: Path) -> str:
    """For messages: what a run that stops here can be continued from."""
    left = steps(folder)
    return f"the last good checkpoint is step {left[0]}" if left else "there is no earlier checkpoint"


class UnusableCheckpoint(NdigoError):
    """Not what was written, or not written by this run."""


def load_newest(folder: Path, fingerprint: str, warn: Callable[[str], None]) -> tuple[int, dict[str, np.ndarray]]:
    """The newest good checkpoint; each one that cannot be used is named through `warn`."""
    available = steps(folder)
    if not available:
        raise NdigoError(f"{folder} holds no checkpoint")
    for step in available:
        try:
            return step, load(folder / f"step_{step}", fingerprint)
        except UnusableCheckpoint as problem:
            warn(str(problem))
    raise NdigoError(f"no checkpoint in {folder} can be used: steps {', '.join(map(str, available))}")


def load(path: Path, fingerprint: str) -> dict[str, np.ndarray]:
    """The arrays of one checkpoint folder, once its sha256 and its configuration are right."""
    lies = path if path.is_dir() or not aside_of(path).is_dir() else aside_of(path)
    try:
        manifest, _ = unseal(read_whole(lies / "manifest.json").removesuffix(b"\n"))
        step, written_for = manifest["step"], manifest["fingerprint"]
        sums = manifest["parts"] if "parts" in manifest else {"state.safetensors": manifest["state"]}
        files = {name: read_whole(lies / name) for name in sums}
    except OSError as error:
        name = Path(error.filename or path).name
        raise UnusableCheckpoint(f"checkpoint {path} is damaged ({name}: {error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise UnusableCheckpoint(f"checkpoint {path} is damaged (manifest.json is not as it was written)") from None
    for name, data in files.items():
        if hashlib.sha256(data).hexdigest() != sums[name]:
            raise UnusableCheckpoint(f"checkpoint {path} is damaged ({name} does not match its sha256)")
    if path.name != f"step_{step}":
        raise UnusableCheckpoint(f"checkpoint {path} is not what its name says: it is of step {step}")
    if written_for != fingerprint:
        raise UnusableCheckpoint(f"checkpoint {path} was written by a run of another configuration")
    try:
        if "parts" not in manifest:
            return safetensors.numpy.load(files["state.safetensors"])
        return assembled(files, manifest["shapes"])
    except ValueError as error:
        raise UnusableCheckpoint(f"checkpoint {path} is damaged ({error})") from None
    except (safetensors.SafetensorError, KeyError, TypeError, AttributeError):
        # Its digests are right: whoever wrote it wrote no arrays.
        raise UnusableCheckpoint(f"checkpoint {path} holds no arrays that can be read") from None


def fingerprint(settings: dict[str, Any]) -> str:
    """Names a configuration, so that a checkpoint is not loaded into another's run."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


class CheckpointWriter:
    """Writes checkpoints while the device goes on training; one at a time, in order.

    Use as a context: leaving it waits for the last one. An error comes out at the next `wait`.
    """

    def __init__(self, folder: Path, fingerprint: str):
        self.folder, self.fingerprint = folder, fingerprint
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._pending: Future[Path] | None = None
        self._given_up = threading.Event()

    def __enter__(self) -> CheckpointWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None:
            self._given_up.set()  # another process' part may never come
        self._thread.shutdown(wait=True)
        if kind is None:
            self.wait()

    def write(self, step: int, arrays: dict[str, np.ndarray] | Share) -> None:
        """Starts writing; `arrays`, or this process' share of them, are the writer's from here on."""
        self.wait()
        if isinstance(arrays, Share):
            to = self.folder, step, arrays, self.fingerprint, self._given_up
            self._pending = self._thread.submit(save_share, *to)
        else:
            self._pending = self._thread.submit(save, self.folder, step, arrays, self.fingerprint)

    def wait(self) -> None:
        """Returns when everything given so far is on disk."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()
