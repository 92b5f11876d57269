"""A state in parts: what each of several processes holds of it, and how the parts become one again.

    part_I.safetensors   of process I: pieces of arrays, each under NAME@START,START,...
    part_I.json          its sha256, sealed; written after it, so that it is there when the part is

An array is put together in the shape it has on the devices, then given the shape that it is saved in.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors.numpy

from ndigo.storage.run_folder import WriteError, make_folder, write_whole
from ndigo.storage.seal import seal, unseal

PATIENCE_SECONDS = 600.0  # until another process' part must be there
LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Share:
    """What one process has of a state."""

    process: int
    processes: int
    pieces: dict[str, np.ndarray]  # by name and start
    shapes: Mapping[str, tuple[Sequence[int], Sequence[int]]]  # of the whole arrays: as they lie, as they are saved

    def lanes(self, first: int, last: int) -> Share:
        """What it has of these lanes, counted from the first of them."""
        own: dict[str, np.ndarray] = {}
        for key, piece in self.pieces.items():
            name, (lane, *rest) = _split(key)
            low, high = max(first, lane), min(last, lane + len(piece))
            if low < high:
                own[piece_key(name, (low - first, *rest))] = piece[low - lane : high - lane]
        shapes = {name: tuple((last - first, *shape[1:]) for shape in both) for name, both in self.shapes.items()}
        return Share(self.process, self.processes, own, shapes)  # type: ignore[arg-type]


def piece_key(name: str, start: Sequence[int]) -> str:
    return f"{name}@{','.join(map(str, start))}"


def _split(key: str) -> tuple[str, list[int]]:
    name, _, start = key.rpartition("@")
    return name, [int(word) for word in start.split(",") if word]


def part_name(process: int) -> str:
    return f"part_{process}.safetensors"


def write_part(folder: Path, share: Share) -> None:
    """Writes this process' part, and then that it is there."""
    make_folder(folder)
    data = safetensors.numpy.save({key: np.ascontiguousarray(piece) for key, piece in share.pieces.items()})
    name = part_name(share.process)
    write_whole(folder / name, data)
    digest = json.dumps({"sha256": hashlib.sha256(data).hexdigest()})
    write_whole((folder / name).with_suffix(".json"), seal(digest.encode()))


def wait_for_parts(folder: Path, processes: int, given_up: threading.Event) -> dict[str, str]:
    """The sha256 of every part, once all are there: the barrier before the manifest."""
    until = time.monotonic() + PATIENCE_SECONDS
    names = [part_name(process) for process in range(processes)]
    while missing := [name for name in names if not (folder / name).with_suffix(".json").exists()]:
        if given_up.is_set() or time.monotonic() > until:
            raise WriteError(f"{missing[0]} was not written by its process")
        time.sleep(LOOK_SECONDS)
    return {name: unseal((folder / name).with_suffix(".json").read_bytes())[0]["sha256"] for name in names}


def assembled(
    parts: Mapping[str, bytes], shapes: Mapping[str, tuple[Sequence[int], Sequence[int]]]
) -> dict[str, np.ndarray]:
    """The whole arrays; ValueError where the parts do not fill them."""
    whole: dict[str, np.ndarray] = {}
    filled = dict.fromkeys(shapes, 0)
    for data in parts.values():
        for key, piece in safetensors.numpy.load(data).items():
            name, start = _split(key)
            if name not in whole:
                whole[name] = np.empty(shapes[name][0], piece.dtype)
            whole[name][tuple(slice(a, a + n) for a, n in zip(start, piece.shape, strict=True))] = piece
            filled[name] += piece.size
    for name, (lies, _) in shapes.items():
        if filled[name] != math.prod(lies) or name not in whole:
            raise ValueError(f"parts of {name} are missing")
    return {name: whole[name].reshape(saved) for name, (_, saved) in shapes.items()}
