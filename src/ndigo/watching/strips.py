"""Strips under the film: reward and discovery loss of a whole episode, small and smooth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageDraw

from ndigo.palette import RGB

FINE = 3  # drawn this many times too large, then reduced: smooth lines


@dataclass(frozen=True)
class Strip:
    image: Image.Image
    zero: int  # the row of value 0


def reward_strip(
    split: Float[np.ndarray, "steps parts"],
    colours: Sequence[RGB],
    size: tuple[int, int],
    paper: RGB,
    most: float = np.inf,
) -> Strip:
    """Stacked bars, cut at `most`: what each step was paid for each part, gains above the line and losses below it."""
    high = min(max(np.maximum(split, 0).sum(axis=-1).max(initial=0), 0.1), most)
    low = max(np.minimum(split, 0).sum(axis=-1).min(initial=0), -most)
    image, draw, (width, height) = _large(size, paper)

    def y(value: float) -> float:
        return height * (high - value) / (high - low)

    for t, values in enumerate(split.tolist()):
        for sign in (1, -1):
            base = 0.0
            for value, colour in zip(values, colours, strict=True):
                if sign * value > 0:
                    top, bottom = sorted((y(base), y(base + value)))
                    draw.rectangle((width * t / len(split), top, width * (t + 1) / len(split), bottom), fill=colour)
                    base += value
    return Strip(_reduced(image, size), min(round(y(0) / FINE), size[1] - 1))


def loss_strip(
    loss: Float[np.ndarray, "frames objects"],
    colours: Sequence[RGB],
    size: tuple[int, int],
    paper: RGB,
    width: int,
    first: int = 0,
) -> Strip:
    """A line for each object from frame `first` on, 0 at the bottom."""
    high = max(float(loss.max(initial=0)), 0.1)
    image, draw, (across, height) = _large(size, paper)
    for values, colour in zip(loss.T, colours, strict=True):
        x = np.linspace(0, across, len(values))
        y = (height - 2 * FINE) * (1 - values / high) + FINE
        draw.line(list(zip(x.tolist(), y.tolist(), strict=True))[first:], fill=colour, width=FINE * width)
    return Strip(_reduced(image, size), size[1] - 1)


def _large(size: tuple[int, int], paper: RGB) -> tuple[Image.Image, ImageDraw.ImageDraw, tuple[int, int]]:
    large = (FINE * size[0], FINE * size[1])
    image = Image.new("RGB", large, paper)
    return image, ImageDraw.Draw(image), large


def _reduced(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    return image.resize(size, Image.Resampling.BOX)
