"""Files of recorded episodes (`episodes.npz`), and the form in which a page receives one episode.

A file is NumPy's compressed zip of the fields of `Episodes`, with `meta` as JSON text; it holds no pickles, and
every array in it is checked by the zip's own checksum. docs/episodes.md lists the fields.
"""

from __future__ import annotations

import base64
import io
import json
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ndigo.errors import NdigoError
from ndigo.storage.run_folder import make_folder, write_whole
from ndigo.types import Episodes

FORMAT, VERSION = "ndigo-episodes", 1
# Every array's type, and its axes by letter: one letter has one size all over the file.
ARRAYS: dict[str, tuple[str, str]] = {
    "walls": ("bool", "RW"),
    "keys": ("uint32", "E2"),
    "agent": ("uint8", "ET2"),
    "objects": ("uint8", "ETN2"),
    "o": ("uint8", "ETVVC"),
    "a": ("int8", "ET"),
    "belief": ("float16", "ETNRW"),
    "discovery_loss": ("float32", "ETN"),
    "reward": ("float32", "ET"),
    "reward_c": ("float32", "ETC"),
    "ahead": ("uint8", "ETKVVC"),
}


def save_episodes(path: Path, episodes: Episodes) -> None:
    """Writes the file whole, or leaves what was there."""
    data = io.BytesIO()
    arrays = {name: getattr(episodes, name) for name in ARRAYS}
    np.savez_compressed(data, meta=np.array(json.dumps(episodes.meta)), **arrays)
    make_folder(path.parent)
    write_whole(path, data.getvalue())


def load_episodes(path: Path) -> Episodes:
    """The episodes of a file; what is no such file, or not whole, is one line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise NdigoError(f"cannot read {path}: {error.strerror or error}") from None
    return read_episodes(data, str(path))


def read_episodes(data: bytes, source: str) -> Episodes:
    """The episodes in a file's bytes; `source` names it in errors."""
    if not data.startswith(b"PK"):
        raise NdigoError(f"{source} is no recording of episodes (a .npz file)")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            if "meta" not in file:
                raise NdigoError(f"{source} is no recording of episodes: it has no meta")
            meta = _meta(file["meta"], source)
            missing = sorted(set(ARRAYS) - set(file.files))
            if missing:
                raise NdigoError(f"{source} is damaged: it lacks {', '.join(missing)}")
            arrays = {name: file[name] for name in ARRAYS}
    except NdigoError:
        raise
    except (ValueError, OSError, EOFError, KeyError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise NdigoError(f"{source} is damaged") from None
    _check(arrays, meta, source)
    return Episodes(meta=meta, **arrays)


def some_episodes(episodes: Episodes, first: int, count: int) -> Episodes:
    """At most `count` of the episodes, from the index `first` on."""
    arrays = {name: getattr(episodes, name)[first : first + count] for name in ARRAYS if name != "walls"}
    meta = dict(episodes.meta)
    if "first_episode" in meta:
        meta["first_episode"] += first
    return replace(episodes, meta=meta, **arrays)


def to_json(episodes: Episodes, index: int) -> dict[str, Any]:
    """One episode as plain JSON: arrays as base64 of their little-endian bytes, beliefs as 255 sqrt(p)."""
    one = {name: getattr(episodes, name)[index] for name in ARRAYS if name != "walls"}
    one["walls"] = episodes.walls.astype(np.uint8)
    one["belief"] = belief_bytes(one["belief"])
    return {"meta": episodes.meta, **{name: pack_array(array) for name, array in one.items()}}


def belief_bytes(belief: np.ndarray) -> np.ndarray:
    """round(255 sqrt(p)): a byte that still tells one in a thousand from nothing."""
    return np.rint(255 * np.sqrt(belief.astype(np.float32))).astype(np.uint8)


def pack_array(array: np.ndarray) -> dict[str, Any]:
    """An array as JSON."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "data": base64.b64encode(little.tobytes()).decode("ascii"),
    }


def _meta(text: np.ndarray, source: str) -> dict[str, Any]:
    try:
        meta = json.loads(str(text))
    except ValueError:
        raise NdigoError(f"{source} is damaged: its meta cannot be read") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise NdigoError(f"{source} is no recording of episodes: its meta does not say {FORMAT!r}")
    if meta.get("version") != VERSION:
        raise NdigoError(f"{source} is of format version {meta.get('version')}; this library reads {VERSION}")
    return meta


def _check(arrays: dict[str, np.ndarray], meta: dict[str, Any], source: str) -> None:
    """Every array has its type, and the axes fit each other and the meta."""
    try:
        sizes = {
            "2": 2,
            "T": meta["num_steps"] + 1,
            "N": len(meta["objects"]),
            "C": len(meta["channels"]),
            "V": meta["view"],
            "K": meta["num_ahead"],
        }
    except (KeyError, TypeError):
        raise NdigoError(f"{source} is damaged: its meta is incomplete") from None
    for name, (dtype, axes) in ARRAYS.items():
        array = arrays[name]
        if array.dtype.name != dtype or array.ndim != len(axes):
            raise NdigoError(f"{source} is damaged: {name} is {array.dtype.name}{list(array.shape)}, not {dtype}")
        for axis, size in zip(axes, array.shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                raise NdigoError(f"{source} is damaged: {name} has {size} where {axis} = {sizes[axis]}")
    if not sizes["E"]:
        raise NdigoError(f"{source} holds no episode")
