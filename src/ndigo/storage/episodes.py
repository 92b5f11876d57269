"""Files of recorded episodes (`episodes.npz`), and the form in which a page receives one episode.

A file is NumPy's compressed zip of the fields of `Recording`, with `meta` as JSON text; it holds no pickles, and
every array in it is checked by the zip's own checksum. docs/files.md lists the fields.
"""

from __future__ import annotations

import base64
import io
import json
import math
import tokenize
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float16, Float32, Int, Int32, UInt8, UInt32

from ndigo.errors import NdigoError
from ndigo.storage.records import check_meta
from ndigo.storage.run_folder import make_folder, read_whole, write_whole
from ndigo.types import action_type

FORMAT, VERSION = "ndigo-episodes", 1
# What zipfile and NumPy raise on bytes that are not what they were; NumPy reads a header as Python.
UNREADABLE = (ValueError, OSError, EOFError, KeyError, NotImplementedError, RuntimeError, SyntaxError)
UNREADABLE += (tokenize.TokenError, zipfile.BadZipFile, zlib.error)
LARGEST_META = 1 << 20  # bytes
# A recording unpacks to some ten times its size; one that unpacks to far more was made to fill the memory.
MOST_UNPACKED, ALWAYS_UNPACKED = 200, 1 << 26  # times its size; bytes
# Every array's type, and its axes by letter: one letter has one size all over the file.
ARRAYS: dict[str, tuple[str, str]] = {
    "walls": ("bool", "RW"),
    "keys": ("uint32", "E2"),
    "agent": ("uint8", "ET2"),
    "objects": ("uint8", "ETN2"),
    "o": ("uint8", "ETVVC"),
    "a": ("int8", "ET"),  # or `action_type`
    "belief": ("float16", "ETNRW"),
    "discovery_loss": ("float32", "ETN"),
    "reward": ("float32", "ET"),
    "reward_c": ("float32", "ETC"),
    "ahead": ("uint8", "ETKVVC"),
}
# What only some worlds have. A world without a map has V = N = R = W = 0 above, and pictures here.
EXTRAS: dict[str, tuple[str, str]] = {
    "exact": ("float16", "ETNRW"),
    "seen": ("uint8", "ETYX3"),
    "expected": ("uint8", "ETKYX3"),
    "drawn": ("uint8", "ETHS3"),
    "loss_c": ("float32", "ETC"),
    "task": ("float32", "ET"),
    "events": ("bool", "ETB"),
    "lengths": ("int32", "E"),
}


@dataclass(frozen=True, eq=False)
class Recording:
    """E recorded episodes of one agent in one world, in NumPy: what a file of episodes holds.

    T = num_steps + 1 frames, o_0 .. o_{num_steps}; R x W cells; K steps ahead. `meta` is plain JSON: label, world,
    reward, channels, objects (name, kind, label, colour), events, actions, num_steps, num_ahead, view, seed, versions.
    Where episodes end by themselves, what lies after the last frame of one means nothing.
    """

    meta: dict[str, Any]
    walls: Bool[np.ndarray, "R W"]
    keys: UInt32[np.ndarray, "E 2"]  # each episode's random key, as raw words
    agent: UInt8[np.ndarray, "E T 2"]  # (row, col), the truth
    objects: UInt8[np.ndarray, "E T N 2"]
    o: UInt8[np.ndarray, "E T V V C"]  # what the agent saw
    a: Int[np.ndarray, "E T"]  # the action taken after frame t, of `action_type`; -1 after the last
    belief: Float16[np.ndarray, "E T N R W"]  # the probe's distribution over cells, o_t seen
    discovery_loss: Float32[np.ndarray, "E T N"]  # -ln belief[true cell], before it was rounded
    reward: Float32[np.ndarray, "E T"]  # r_t; 0 where it is not defined
    reward_c: Float32[np.ndarray, "E T C"]  # r_t split by channel; 0 where a reward has no split
    ahead: UInt8[np.ndarray, "E T K V V C"]  # 255 P(cell of o_{t+k} = 1), given the actions taken; 0 beyond the end
    exact: Float16[np.ndarray, "E T N R W"] | None = None  # the exact Bayes filter's belief, where there is one
    seen: UInt8[np.ndarray, "E T Y X 3"] | None = None  # a picture of the frame (`watching.frame_pictures`)
    expected: UInt8[np.ndarray, "E T K Y X 3"] | None = None  # and of what is expected in 1..K steps
    drawn: UInt8[np.ndarray, "E T H S 3"] | None = None  # the world's own picture of itself
    loss_c: Float32[np.ndarray, "E T C"] | None = None  # L_{t|t-1} by channel; 0 at the first frame
    task: Float32[np.ndarray, "E T"] | None = None  # what the world's own task paid for step t
    events: Bool[np.ndarray, "E T B"] | None = None  # which of the world's events hold in frame t
    lengths: Int32[np.ndarray, " E"] | None = None  # steps of each episode; None: num_steps

    def length(self, episode: int) -> int:
        """Its number of steps."""
        return self.meta["num_steps"] if self.lengths is None else int(self.lengths[episode])


def save_episodes(path: Path, episodes: Recording) -> None:
    """Writes the file whole, or leaves what was there."""
    data = io.BytesIO()
    arrays = {name: getattr(episodes, name) for name in present(episodes)}
    # By name, so that none of them can be lost unnoticed.
    meta = episodes.meta | {"extras": [name for name in EXTRAS if name in arrays]}
    np.savez_compressed(data, meta=np.array(json.dumps(meta)), **arrays)
    make_folder(path.parent)
    write_whole(path, data.getvalue())


def load_episodes(path: Path) -> Recording:
    """The episodes of a file; what is no such file, or not whole, is one line."""
    try:
        data = read_whole(path)
    except OSError as error:
        raise NdigoError(f"cannot read {path}: {error.strerror or error}") from None
    return read_episodes(data, str(path))


def read_episodes(data: bytes, source: str) -> Recording:
    """The episodes in a file's bytes; `source` names it in errors.

    Every size is checked before memory is taken for it: a small file can claim, or unpack to, any size.
    """
    if not data.startswith(b"PK"):
        raise NdigoError(f"{source} is no recording of episodes (a .npz file)")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            packed = {info.filename.removesuffix(".npy"): info for info in file.infolist()}
            if "meta" not in packed:
                raise NdigoError(f"{source} is no recording of episodes: it has no meta")
            if packed["meta"].file_size > LARGEST_META:
                raise NdigoError(f"{source} is damaged: its meta has {packed['meta'].file_size:,} bytes")
            meta = _meta(_array(file, packed["meta"]), source)
            extras = meta.pop("extras", [])
            missing = sorted({*ARRAYS, *extras} - set(packed))
            if missing:
                raise NdigoError(f"{source} is damaged: it lacks {', '.join(missing)}")
            names = [*ARRAYS, *(name for name in EXTRAS if name in extras)]
            _check({name: _header(file, packed[name]) for name in names}, meta, source)
            size = sum(packed[name].file_size for name in names)
            if size > most_unpacked(data):
                raise NdigoError(f"{source} is no recording: its {len(data):,} bytes unpack to {size:,}")
            arrays = {name: _array(file, packed[name]) for name in names}
    except NdigoError:
        raise
    except UNREADABLE:
        raise NdigoError(f"{source} is damaged") from None
    episodes = Recording(meta=meta, **arrays)
    if episodes.lengths is not None and not ((episodes.lengths > 0) & (episodes.lengths <= meta["num_steps"])).all():
        raise NdigoError(f"{source} is damaged: an episode is longer than its {meta['num_steps']} steps, or empty")
    num_actions = len(meta.get("actions", ()))
    if num_actions and not -1 <= episodes.a.min() <= episodes.a.max() < num_actions:
        found = f"{episodes.a.min()} to {episodes.a.max()}"
        raise NdigoError(f"{source} is damaged: its actions reach from {found}, expected -1 to {num_actions - 1}")
    return episodes


def most_unpacked(packed: bytes) -> int:
    """Bytes that these may unpack to."""
    return max(MOST_UNPACKED * len(packed), ALWAYS_UNPACKED)


def present(episodes: Recording) -> list[str]:
    """The names of the arrays that are there."""
    return [*ARRAYS, *(name for name in EXTRAS if getattr(episodes, name) is not None)]


def some_episodes(episodes: Recording, first: int, count: int) -> Recording:
    """At most `count` of the episodes, from the index `first` on."""
    names = [name for name in present(episodes) if name != "walls"]
    arrays = {name: getattr(episodes, name)[first : first + count] for name in names}
    meta = episodes.meta
    if "first_episode" in meta:
        meta = meta | {"first_episode": meta["first_episode"] + first}
    return replace(episodes, meta=meta, **arrays)


def to_json(episodes: Recording, index: int) -> dict[str, Any]:
    """One episode as plain JSON: arrays as base64 of their little-endian bytes, beliefs as 255 sqrt(p)."""
    steps = episodes.length(index)
    names = [name for name in present(episodes) if name not in ("walls", "keys", "lengths")]
    one = {name: as_sent(name, getattr(episodes, name)[index, : steps + 1]) for name in names}
    one |= {"walls": episodes.walls.astype(np.uint8), "keys": episodes.keys[index]}
    meta = episodes.meta | {"num_steps": steps}
    return {"meta": meta, **{name: pack_array(array) for name, array in one.items()}}


def as_sent(name: str, array: np.ndarray) -> np.ndarray:
    """A field of an episode, or of one frame of it, in the type in which a page receives it."""
    if name in ("belief", "exact"):
        return belief_bytes(array)
    types = {"agent": np.uint8, "objects": np.uint8, "a": np.int32, "events": np.uint8, "discovery_loss": np.float32}
    return array.astype(types[name]) if name in types else array


def belief_bytes(belief: np.ndarray) -> np.ndarray:
    """round(255 sqrt(p)): a byte that still tells one in a thousand from nothing; 0 where there is no belief (NaN)."""
    return np.rint(255 * np.sqrt(np.nan_to_num(belief.astype(np.float32)))).astype(np.uint8)


def pack_array(array: np.ndarray) -> dict[str, Any]:
    """An array as JSON."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "data": base64.b64encode(little.tobytes()).decode("ascii"),
    }


def _header(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[str, tuple[int, ...]]:
    """An array's type and shape, once they account for all of its bytes; none of its numbers is read."""
    with file.open(info) as stream:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = read[version](stream)
        if math.prod(shape) * dtype.itemsize != info.file_size - stream.tell():
            raise ValueError(f"{info.filename} is not of the size that it claims")
    return dtype.name, shape


def _array(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    _header(file, info)
    with file.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _meta(text: np.ndarray, source: str) -> dict[str, Any]:
    try:
        meta = json.loads(str(text))
    except (ValueError, RecursionError):
        raise NdigoError(f"{source} is damaged: its meta cannot be read") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise NdigoError(f"{source} is no recording of episodes: its meta does not say {FORMAT!r}")
    if meta.get("version") != VERSION:
        raise NdigoError(f"{source} is of format version {meta.get('version')}; this library reads {VERSION}")
    return check_meta(meta, source)


def _check(arrays: dict[str, tuple[str, tuple[int, ...]]], meta: dict[str, Any], source: str) -> None:
    """Every array, by type and shape, has its type, and the axes fit each other and the meta."""
    try:
        sizes = {
            "2": 2,
            "3": 3,
            "B": len(meta.get("events", ())),
            "T": meta["num_steps"] + 1,
            "N": len(meta["objects"]),
            "C": len(meta["channels"]),
            "V": meta["view"],
            "K": meta["num_ahead"],
        }
    except (KeyError, TypeError):
        raise NdigoError(f"{source} is damaged: its meta is incomplete") from None
    for name, (found, shape) in arrays.items():
        dtype, axes = (ARRAYS | EXTRAS)[name]
        dtype = action_type(len(meta.get("actions", ()))) if name == "a" else dtype
        if found != dtype or len(shape) != len(axes):
            raise NdigoError(f"{source} is damaged: {name} is {found}{list(shape)}, not {dtype}")
        for axis, size in zip(axes, shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                raise NdigoError(f"{source} is damaged: {name} has {size} where {axis} = {sizes[axis]}")
    if not sizes["E"]:
        raise NdigoError(f"{source} holds no episode")
