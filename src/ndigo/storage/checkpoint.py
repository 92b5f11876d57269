"""Checkpoints that are whole or absent, and that know when they are damaged.

    checkpoints/step_N/state.safetensors   every array of the state, by its path in the tree
    checkpoints/step_N/manifest.json       step, sha256 of the file, fingerprint of the settings

safetensors loads a flipped byte without a word, hence the sha256.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from ndigo.errors import NdigoError
from ndigo.storage.run_folder import sync_folder, write_whole

KEPT = 2  # the newest, and one to fall back on


def named_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The tree's leaves by path; typed random keys as their raw words."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path): np.ascontiguousarray(_raw(leaf)) for path, leaf in leaves}


def into_tree(arrays: dict[str, np.ndarray], like: Any, source: str) -> Any:
    """A tree shaped as `like`, filled from `arrays`; a mismatch is one line that names the first."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    names = [jax.tree_util.keystr(path) for path, _ in leaves]
    for name in set(names) ^ set(arrays):
        where = "lacks" if name in names else "has the unknown"
        raise NdigoError(f"{source} is of another configuration: it {where} tensor {name}")
    filled = []
    for name, (_, leaf) in zip(names, leaves, strict=True):
        wanted = jax.eval_shape(_raw, leaf)
        found = arrays[name]
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            raise NdigoError(
                f"{source} is of another configuration: {name} is {found.dtype}{list(found.shape)}, "
                f"expected {wanted.dtype}{list(wanted.shape)}"
            )
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        filled.append(jax.random.wrap_key_data(jnp.asarray(found)) if is_key else jnp.asarray(found))
    return jax.tree_util.tree_unflatten(structure, filled)


def _raw(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def save(folder: Path, step: int, tree: Any, fingerprint: str) -> Path:
    """Writes step_N and removes the oldest; on failure the earlier checkpoints are as they were."""
    final, temporary = folder / f"step_{step}", folder / f".step_{step}.tmp"
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        data = safetensors.numpy.save(named_arrays(tree))
        write_whole(temporary / "state.safetensors", data)
        manifest = {"step": step, "sha256": hashlib.sha256(data).hexdigest(), "fingerprint": fingerprint}
        write_whole(temporary / "manifest.json", json.dumps(manifest, indent=1).encode())
        shutil.rmtree(final, ignore_errors=True)
        os.replace(temporary, final)
        sync_folder(folder)
    except (OSError, NdigoError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        left = steps(folder)
        last = f"the last good checkpoint is step {left[0]}" if left else "there is no earlier checkpoint"
        raise NdigoError(f"checkpoint of step {step} could not be written ({error}); {last}") from None
    for old in steps(folder)[KEPT:]:
        shutil.rmtree(folder / f"step_{old}", ignore_errors=True)
    return final


def steps(folder: Path) -> list[int]:
    """The steps that have a checkpoint, newest first."""
    found = [path.name.removeprefix("step_") for path in folder.glob("step_*") if path.is_dir()]
    return sorted((int(name) for name in found if name.isdecimal()), reverse=True)


def load_newest(folder: Path, fingerprint: str, warn: Callable[[str], None]) -> tuple[int, dict[str, np.ndarray]]:
    """The newest undamaged checkpoint; each damaged one on the way is named through `warn`."""
    available = steps(folder)
    if not available:
        raise NdigoError(f"{folder} holds no checkpoint")
    for step in available:
        try:
            return step, load(folder / f"step_{step}", fingerprint)
        except DamagedCheckpoint as damage:
            warn(str(damage))
    raise NdigoError(f"every checkpoint in {folder} is damaged: steps {', '.join(map(str, available))}")


class DamagedCheckpoint(NdigoError):
    """The file is not what was written."""


def load(path: Path, fingerprint: str) -> dict[str, np.ndarray]:
    try:
        manifest = json.loads((path / "manifest.json").read_text())
        data = (path / "state.safetensors").read_bytes()
        sha256, written_for = manifest["sha256"], manifest["fingerprint"]
    except (OSError, ValueError, KeyError) as error:
        raise DamagedCheckpoint(f"checkpoint {path} is damaged ({error})") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DamagedCheckpoint(f"checkpoint {path} is damaged (state.safetensors does not match its sha256)")
    if written_for != fingerprint:
        raise NdigoError(f"checkpoint {path} was written by a run of another configuration")
    return safetensors.numpy.load(data)


def fingerprint(settings: dict[str, Any]) -> str:
    """Names a configuration, so that a checkpoint is not loaded into another's run."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
