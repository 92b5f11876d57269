"""-ln p of one frame of each kind by loops in float64, from the text of what each kind is; by channel."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ndigo import frames
from ndigo.frames import Frame


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - np.log(np.exp(logits).sum())


def nats(frame: Frame, logits: np.ndarray, o: Any) -> list[float]:
    """Of one observation."""
    if isinstance(frame, frames.Join):
        found, start = [], 0
        for name, part in frame.parts:
            size = num_outputs(part)
            found += nats(part, logits[start : start + size], o[name])
            start += size
        return found
    of_kind: Any = {
        frames.Bits: of_bits,
        frames.Tiles: of_tiles,
        frames.Vector: of_numbers,
        frames.Pixels: of_pixels,
    }[type(frame)]
    assert len(logits) == num_outputs(frame)
    return of_kind(frame, np.asarray(logits, np.float64), o)


def num_outputs(frame: Any) -> int:
    if isinstance(frame, frames.Tiles):
        n = math.prod(frame.values) if frame.listed is None else 1 + len(frame.listed)
        return frame.height * frame.width * n
    if isinstance(frame, frames.Vector):
        return len(frame.low) * (frame.bins or 2)
    if isinstance(frame, frames.Pixels):
        return (frame.height // frame.patch) * (frame.width // frame.patch) * len(frame.patches)
    if isinstance(frame, frames.Join):
        return sum(num_outputs(part) for _, part in frame.parts)
    return sum(frame.height * frame.width + (c.kind == "one_hot") for c in frame.channels)


def of_bits(frame: frames.Bits, logits: np.ndarray, o: np.ndarray) -> list[float]:
    """One one-hot channel, then one binary one; the logits have the binary one first."""
    cells = frame.height * frame.width
    p = 1 / (1 + np.exp(-logits[:cells]))
    walls = -sum(math.log(p[i] if bit else 1 - p[i]) for i, bit in enumerate(o[..., 1].ravel()))
    where = [i for i, bit in enumerate(o[..., 0].ravel()) if bit] or [cells]
    return [-log_softmax(logits[cells:])[where[0]], walls]


def of_tiles(frame: frames.Tiles, logits: np.ndarray, o: np.ndarray) -> list[float]:
    """p(x_1) p(x_2 | x_1) ... from the table of the joint, marginals summed entry by entry."""
    if frame.listed is None:
        classes: list[Any] = list(itertools.product(*(range(n) for n in frame.values)))
    else:
        classes = ["other", *sorted(frame.listed)]
    total = [0.0] * len(frame.values)
    for cell, row in zip(o.reshape(-1, len(frame.values)), logits.reshape(-1, len(classes)), strict=True):
        p = dict(zip(classes, np.exp(log_softmax(row)), strict=True))
        tile = tuple(int(x) for x in cell)
        if tile not in p:
            total[0] -= math.log(p["other"])
            continue
        for layer in range(len(tile)):
            given = sum(q for c, q in p.items() if layer == 0 or c[:layer] == tile[:layer])
            both = sum(q for c, q in p.items() if c[: layer + 1] == tile[: layer + 1])
            total[layer] -= math.log(both / given)
    return total


def of_numbers(frame: frames.Vector, logits: np.ndarray, o: np.ndarray) -> list[float]:
    found = []
    for i, x in enumerate(np.asarray(o, np.float64)):
        low, high = frame.low[i], frame.high[i]
        if frame.bins is None:
            mean = low + (logits[i] + 1) * (high - low) / 2
            raw = logits[len(o) + i]
            log_spread = -5 + math.log1p(math.exp(raw) * math.expm1(5))
            spread = math.exp(log_spread) * (high - low) / 2
            density = math.exp(-0.5 * ((x - mean) / spread) ** 2) / (spread * math.sqrt(2 * math.pi))
            found.append(-math.log(density))
        else:
            edges = np.linspace(low, high, frame.bins + 1)
            at = sum(x >= edge for edge in edges[1:-1])
            found.append(-log_softmax(logits[i * frame.bins : (i + 1) * frame.bins])[at])
    return found if len(frame.names) == len(found) else [sum(found)]


def of_pixels(frame: frames.Pixels, logits: np.ndarray, o: np.ndarray) -> list[float]:
    total, size, rows = 0.0, frame.patch, iter(logits.reshape(-1, len(frame.patches)))
    for i in range(0, frame.height, size):
        for j in range(0, frame.width, size):
            patch = np.asarray(o[i : i + size, j : j + size], np.float64)
            distances = [((patch - np.asarray(one, np.float64)) ** 2).sum() for one in frame.patches]
            total -= log_softmax(next(rows))[int(np.argmin(distances))]
    return [total]
