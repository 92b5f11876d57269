"""One trained agent in one file: the parameters of a seed, with the settings that shape them."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from ndigo.errors import NdigoError
from ndigo.storage.records import check_settings, read_json
from ndigo.storage.run_folder import make_folder, write_whole


def save_agent(path: Path, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> None:
    """Writes `arrays` as float16, with the settings and a digest of both in the header."""
    refuse_non_finite(arrays, f"the agent for {path}")
    with np.errstate(over="ignore"):  # looked for below
        half = {k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in arrays.items()}
    for name, array in half.items():
        if not _is_finite(array):
            largest = np.abs(arrays[name]).max()
            raise NdigoError(f"{path} is not written: tensor {name} reaches {largest:.6g}, and float16 holds 65504")
    text = json.dumps(settings)
    header = {"ndigo": text, "sha256": _digest(text, half)}
    make_folder(path.parent)
    write_whole(path, safetensors.numpy.save(half, metadata=header))


def load_agent(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Settings and float32 arrays of an agent file."""
    if not path.exists():
        raise NdigoError(f"{path} does not exist; name a run's folder or an agent's file{nearest_beside(path)}")
    if not path.is_file():
        raise NdigoError(f"{path} is no file; name a run's folder or an agent's file")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            half = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except OSError as error:
        raise NdigoError(f"{path} cannot be read: {error.strerror or 'the disk refuses'}") from None
    except safetensors.SafetensorError:
        raise NdigoError(f"{path} cannot be read as an agent: it is no safetensors file, or a damaged one") from None
    if "ndigo" not in header:
        raise NdigoError(f"{path} is a safetensors file, but not an agent of this library")
    if header.get("sha256") != _digest(header["ndigo"], half):
        raise NdigoError(f"{path} is damaged: it does not match its sha256")
    refuse_non_finite(half, str(path))
    full = {k: v.astype(np.float32) if v.dtype == np.float16 else v for k, v in half.items()}
    return check_settings(read_json(header["ndigo"], str(path)), str(path)), full


def nearest_beside(path: Path) -> str:
    """` (nearest: results/agents/exp1-ndigo-4.safetensors)`: what lies where the name was looked for, if alike."""
    names = [beside.name for beside in path.parent.iterdir()] if path.parent.is_dir() else []
    nearest = difflib.get_close_matches(path.name, names, n=1)
    return f" (nearest: {path.with_name(nearest[0])})" if nearest else ""


def refuse_non_finite(arrays: Mapping[str, np.ndarray], source: str) -> None:
    """An error that names the first tensor with a NaN or an infinity: what it measured would look like a result."""
    for name, array in arrays.items():
        if not _is_finite(array):
            raise NdigoError(f"{source} cannot be used: tensor {name} holds numbers that are not finite")


def _is_finite(array: np.ndarray) -> bool:
    # NumPy does not count bfloat16 among its floating types, JAX does.
    return not jnp.issubdtype(array.dtype, jnp.floating) or bool(np.isfinite(array).all())


def _digest(text: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
