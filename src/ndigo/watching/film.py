"""A recorded episode as a film: one picture a frame.

whose episode it is                                                             the step
panels side by side: the world, what it sees and expects, what it believes (`scenes`)
the reward of every step so far, by channel
what every frame so far cost: the discovery loss of each object, or the surprise
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ndigo.palette import RGB
from ndigo.storage.episodes import Recording
from ndigo.watching.panels import Picture, heat_scale, marked
from ndigo.watching.strips import Strip

BACKGROUND: RGB = (28, 31, 38)
INK: RGB = (226, 228, 233)
FAINT: RGB = (142, 147, 158)
LINE: RGB = (62, 66, 77)
TEXT, TEXT_LINE = 16, 26  # pixels of a letter's size and of a line: to be read from a slide's last row
GAP, STRIP = 14, 46  # pixels around things, and of a strip's height

At = tuple[int, int]  # x, y
Words = list[tuple[str, RGB]]  # texts one after the other, each in its colour


@dataclass(frozen=True)
class Panel:
    """A picture of every frame, with its title above it."""

    title: str
    at: At
    draw: Callable[[int], Picture | None]  # of frame t; None where there is nothing to show
    label: Callable[[int], tuple[str, RGB]] | None = None  # of frame t, above the picture's right end


@dataclass(frozen=True)
class Track:
    """A strip that time runs along, with words above it."""

    words: Words
    draw: Callable[[tuple[int, int]], Strip]  # in this size


@dataclass(frozen=True)
class Scene:
    """What a film shows of an episode."""

    panels: Sequence[Panel]
    corner: At  # where the panels end, at the right and below
    rewards: Track  # of the steps taken
    losses: Track  # of the frames seen
    end: str = ""  # said in place of the last frame's action
    key: RGB | None = None  # the colour of the belief by which the film says how to read one


@dataclass(frozen=True)
class Measures:
    """Pixels; at scale 2 everything is twice as large."""

    scale: int

    @property
    def line(self) -> int:
        return TEXT_LINE * self.scale

    @property
    def gap(self) -> int:
        return GAP * self.scale

    @property
    def top(self) -> int:
        """Where panels begin: below the film's title and their own."""
        return 2 * self.gap + 2 * self.line

    @property
    def font(self) -> ImageFont.FreeTypeFont:
        return _font(TEXT * self.scale)

    def width_of(self, text: str) -> int:
        return round(self.font.getlength(text))


class Film:
    """The pictures of one episode up to step `until`."""

    def __init__(self, episodes: Recording, episode: int, scene: Scene, until: int, measures: Measures):
        self.episodes, self.episode, self.scene, self.until = episodes, episode, scene, until
        self.panels, self.measures = scene.panels, measures
        m, width, height = measures, max(scene.corner[0], self._head_width), STRIP * measures.scale
        self.right, self.strip_size = width - m.gap, (width - 2 * m.gap, height)
        self.reward_at = m.gap, scene.corner[1] + m.gap + m.line
        self.loss_at = m.gap, self.reward_at[1] + height + m.gap // 2 + m.line
        self._tracks = (self.reward_at, scene.rewards), (self.loss_at, scene.losses)
        end = self.loss_at[1] + height + m.gap
        self.size = width + width % 2, end + end % 2  # a video wants even sides

    def __len__(self) -> int:
        return self.until + 1

    def frame(self, t: int) -> Picture:
        """The picture of step t."""
        image, m = self._still.copy(), self.measures
        draw = ImageDraw.Draw(image)
        length, actions = self.episodes.length(self.episode), self.episodes.meta["actions"]
        action = actions[self.episodes.a[self.episode, t]] if t < length else self.scene.end
        draw.text((self.right, m.gap), f"step {t} of {length}, {action}".rstrip(", "), INK, m.font, anchor="ra")
        for panel in self.panels:
            if (picture := panel.draw(t)) is None:
                continue
            _paste(image, panel.at, picture)
            if panel.label is not None:
                x, y = panel.at
                draw.text((x + picture.shape[1], y - m.line), *panel.label(t), m.font, anchor="ra")
        for at, strip in self._strips:
            _reveal(image, at, strip, self.strip_size, t / max(self.until, 1), m.scale)
        return np.asarray(image)

    @cached_property
    def _strips(self) -> list[tuple[At, Strip]]:
        return [(at, track.draw(self.strip_size)) for at, track in self._tracks]

    @cached_property
    def _still(self) -> Image.Image:
        """All that does not change from frame to frame."""
        image = Image.new("RGB", self.size, BACKGROUND)
        draw = ImageDraw.Draw(image)
        self._write(draw, (self.measures.gap, self.measures.gap), [(title_of(self.episodes, self.episode), INK)])
        for panel in self.panels:
            self._write(draw, self._above(panel.at), [(panel.title, FAINT)])
        ends = [(self._write(draw, self._above(at), track.words), self._above(at)) for at, track in self._tracks]
        # The key stands beside the words that leave room for it; where none do, the film has none.
        room = self.right - self._key_width - self.measures.gap
        if self.scene.key is not None and (places := [at for end, at in ends if end <= room]):
            self._write_key(image, draw, places[0][1], self.scene.key)
        return image

    @property
    def _head_width(self) -> int:
        """Of a first line that holds the title and, apart from it, the longest of its steps' labels."""
        steps, longest = self.episodes.meta["num_steps"], max([*self.episodes.meta["actions"], "the end"], key=len)
        texts = (title_of(self.episodes, self.episode), f"step {steps} of {steps}, {longest}")
        return 4 * self.measures.gap + sum(map(self.measures.width_of, texts))

    @property
    def _key_width(self) -> int:
        m = self.measures
        return m.width_of("belief 0" + "1" + "where it is") + 70 * m.scale + 3 * m.gap

    def _write_key(self, image: Image.Image, draw: ImageDraw.ImageDraw, y: int, colour: RGB) -> None:
        """How to read a belief, from right to left: the frame around the true cell, and what brightness says."""
        m = self.measures
        x, side, bar = self.right, 10 * m.scale, 60 * m.scale
        high = y + (TEXT * m.scale - side) // 2 + m.scale

        def write(text: str) -> int:
            draw.text((x, y), text, FAINT, m.font, anchor="ra")
            return x - round(draw.textlength(text, m.font)) - m.gap // 2

        x = write("where it is") - side
        draw.rectangle((x, high, x + side, high + side), outline=marked(colour), width=m.scale)
        x -= m.gap
        x = write("1") - bar
        _paste(image, (x, high), heat_scale(colour, bar, side))
        x -= m.gap // 2
        write("belief 0")

    def _above(self, at: At) -> At:
        return at[0], at[1] - self.measures.line

    def _write(self, draw: ImageDraw.ImageDraw, at: At, words: Words) -> int:
        """Returns where the words end."""
        x, y = at
        for text, colour in words:
            draw.text((x, y), text, colour, self.measures.font)
            x += round(draw.textlength(text + " ", self.measures.font))
        return x


def title_of(episodes: Recording, episode: int) -> str:
    """Whose episode it is, and which."""
    meta = episodes.meta
    whose = f"{meta['label']} in {meta['world']}"
    if "first_episode" not in meta:
        return whose
    return f"{whose}, episode {meta['first_episode'] + episode} of seed {meta['episode_seed']}"


def _reveal(image: Image.Image, at: At, strip: Strip, size: tuple[int, int], share: float, line_width: int) -> None:
    """Draws the first `share` of a strip, its line of zero, and where it is."""
    draw, (x, y), (width, height) = ImageDraw.Draw(image), at, size
    now = round(width * share)
    image.paste(strip.image.crop((0, 0, now, height)), at)
    draw.line((x, y + strip.zero, x + width, y + strip.zero), LINE, line_width)
    draw.line((x + now, y, x + now, y + height - 1), INK, line_width)


def _paste(image: Image.Image, at: At, panel: Picture) -> None:
    image.paste(Image.fromarray(panel), at)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    """matplotlib's own font: the same on every machine."""
    return ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), size)
