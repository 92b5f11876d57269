"""A recorded episode of a world without a map as a film: one picture a frame.

whose episode it is                                    the step
the world's own picture | what it sees | what it expects to see
the reward of every step so far, by channel
the surprise of every frame so far
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from PIL import Image, ImageDraw

from ndigo.report.numbers import how_many
from ndigo.storage.episodes import Recording
from ndigo.watching.film import (
    BACKGROUND,
    FAINT,
    GAP,
    INK,
    LOOK_AHEAD,
    TEXT,
    TEXT_LINE,
    At,
    font,
    head_width,
    reveal,
    strips_under,
    title_of,
)
from ndigo.watching.frame_pictures import colour_of
from ndigo.watching.panels import Picture
from ndigo.watching.strips import Strip, loss_strip, reward_strip

HEIGHT, MOST_WIDTH = 240, 420  # of a panel, about: a pixel of a frame is a whole number of pixels of the film
LEAST_WIDTH = 480  # of the film


class PictureFilm:
    """The pictures of one episode up to step `until`; at scale 2 everything is twice as large."""

    def __init__(self, episodes: Recording, episode: int, *, scale: int = 1, until: int | None = None):
        assert episodes.seen is not None
        self.episodes, self.episode, self.scale = episodes, episode, scale
        length = episodes.length(episode)
        self.until = length if until is None else min(until, length)
        self.num_ahead = min(LOOK_AHEAD, episodes.meta["num_ahead"])
        self.font = font(TEXT * scale)
        line, gap = self.line, self.gap = TEXT_LINE * scale, GAP * scale
        panels = [("the world", episodes.drawn), ("it sees", episodes.seen)]
        if self.num_ahead:
            panels.append((f"expects in {how_many(self.num_ahead, 'step')}", episodes.expected))
        top, x = 2 * gap + 2 * line, gap
        self.panels: list[tuple[str, np.ndarray, At, tuple[int, int]]] = []  # title, pictures, where, size
        for title, pictures in panels:
            if pictures is not None:
                size = self._size(*pictures.shape[-3:-1])
                self.panels.append((title, pictures, (x, top), size))
                x += max(size[0], round(self.font.getlength(title))) + gap
        width = max(x, LEAST_WIDTH * scale, head_width(episodes, episode, self.font, gap))
        height = max(size[1] for _, _, _, size in self.panels)
        self.strip_size, self.reward_at, self.loss_at, self.size = strips_under(top + height, width, scale)
        self.right = width - gap

    def _size(self, rows: int, cols: int) -> tuple[int, int]:
        """Of a panel: whole pixels per cell where they are few, else the picture's own size."""
        cell = max(1, min(HEIGHT * self.scale // rows, MOST_WIDTH * self.scale // cols))
        return cols * cell, rows * cell

    def __len__(self) -> int:
        return self.until + 1

    def frame(self, t: int) -> Picture:
        """The picture of step t."""
        image = self._still.copy()
        draw = ImageDraw.Draw(image)
        episodes, e = self.episodes, self.episode
        length, actions = episodes.length(e), [*episodes.meta["actions"], ""]
        action = actions[episodes.a[e, t]] if t < length else "the end"
        draw.text((self.right, self.gap), f"step {t} of {length}, {action}".rstrip(", "), INK, self.font, anchor="ra")
        for _, pictures, at, size in self.panels:
            is_ahead = pictures.ndim == 6
            if is_ahead and t + self.num_ahead > length:
                continue
            picture = pictures[e, t, self.num_ahead - 1] if is_ahead else pictures[e, t]
            image.paste(Image.fromarray(picture).resize(size, Image.Resampling.NEAREST), at)
        for at, strip in ((self.reward_at, self._rewards), (self.loss_at, self._losses)):
            reveal(image, at, strip, self.strip_size, t / max(self.until, 1), self.scale)
        return np.asarray(image)

    @cached_property
    def _rewards(self) -> Strip:
        split = self.episodes.reward_c[self.episode, : self.until]
        if not split.any():
            split = self.episodes.reward[self.episode, : self.until, None]
        named = {entry["name"]: tuple(entry["colour"]) for entry in self.episodes.meta.get("legend", ())}
        names = [channel["name"] for channel in self.episodes.meta["channels"]][: split.shape[1]]
        colours = [named.get(name, colour_of(c)) for c, name in enumerate(names)]
        return reward_strip(split, colours, self.strip_size, BACKGROUND)

    @cached_property
    def _losses(self) -> Strip:
        return loss_strip(self._surprise[:, None], [INK], self.strip_size, BACKGROUND, width=2 * self.scale)

    @property
    def _surprise(self) -> np.ndarray:
        loss_c = self.episodes.loss_c
        return np.zeros(self.until + 1) if loss_c is None else loss_c[self.episode, : self.until + 1].sum(axis=-1)

    @cached_property
    def _still(self) -> Image.Image:
        """All that does not change from frame to frame."""
        image = Image.new("RGB", self.size, BACKGROUND)
        draw = ImageDraw.Draw(image)
        draw.text((self.gap, self.gap), title_of(self.episodes, self.episode), INK, self.font)
        for title, _, (x, y), _ in self.panels:
            draw.text((x, y - self.line), title, FAINT, self.font)
        rewards = self.episodes.reward[self.episode, : self.until]
        largest = f"reward of each step (largest {rewards.max(initial=0):.2f} nats)"
        paid = largest if rewards.any() else "no step was paid"
        surprise = f"surprise of each frame (largest {self._surprise.max(initial=0):.1f} nats)"
        for (x, y), text in ((self.reward_at, paid), (self.loss_at, surprise)):
            draw.text((x, y - self.line), text, FAINT, self.font)
        return image
