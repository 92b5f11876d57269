"""One trained agent in one file: the parameters of a seed, with the settings that shape them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from ndigo.errors import NdigoError
from ndigo.storage.run_folder import make_folder, write_whole


def save_agent(path: Path, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> None:
    """Writes `arrays` as float16, with the settings and a digest of both in the header."""
    half = {k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in arrays.items()}
    text = json.dumps(settings)
    header = {"ndigo": text, "sha256": _digest(text, half)}
    make_folder(path.parent)
    write_whole(path, safetensors.numpy.save(half, metadata=header))


def load_agent(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Settings and float32 arrays of an agent file."""
    if not path.exists():
        raise NdigoError(f"{path} does not exist; name a run's folder or an agent's file")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            half = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (OSError, safetensors.SafetensorError) as error:
        raise NdigoError(f"{path} cannot be read as an agent: {error}") from None
    if "ndigo" not in header:
        raise NdigoError(f"{path} is a safetensors file, but not an agent of this library")
    if header.get("sha256") != _digest(header["ndigo"], half):
        raise NdigoError(f"{path} is damaged: it does not match its sha256")
    full = {k: v.astype(np.float32) if v.dtype == np.float16 else v for k, v in half.items()}
    return json.loads(header["ndigo"]), full


def _digest(text: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
