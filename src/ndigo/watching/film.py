"""A recorded episode as a film: one picture a frame.

whose episode it is                                                             the step
the world | what it sees, and expects to see | where it believes each object is
the reward of every step so far, by channel
the discovery loss of every object so far
"""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ndigo.palette import RGB
from ndigo.storage.episodes import Recording
from ndigo.watching.panels import Picture, belief_panel, colours_of, heat_scale, marked, view_panel, world_panel
from ndigo.watching.strips import MOST_NATS, Strip, loss_strip, reward_strip

BACKGROUND: RGB = (28, 31, 38)
INK: RGB = (226, 228, 233)
FAINT: RGB = (142, 147, 158)
LINE: RGB = (62, 66, 77)
MAP_HEIGHT, TALL_MAP_HEIGHT = 266, 340  # about, as a cell is a whole number of pixels; the tall one fits small beliefs
TEXT, TEXT_LINE = 16, 26  # pixels of a letter's size and of a line: to be read from a slide's last row
GAP = 14  # pixels around things
LOOK_AHEAD = 4  # steps: how far ahead the expected view lies, or less where the model predicts less

At = tuple[int, int]  # x, y


class Film:
    """The pictures of one episode up to step `until`; at scale 2 everything is twice as large."""

    def __init__(self, episodes: Recording, episode: int, *, scale: int = 1, until: int | None = None):
        meta, (rows, cols) = episodes.meta, episodes.walls.shape
        self.episodes, self.episode, self.scale = episodes, episode, scale
        length = episodes.length(episode)
        self.until = length if until is None else min(until, length)
        self.colours = colours_of(episodes)
        self.num_ahead = min(LOOK_AHEAD, meta["num_ahead"])
        self.font = font(TEXT * scale)
        line, gap = self.line, self.gap = TEXT_LINE * scale, GAP * scale
        # Up to two beliefs are as large as the map; more share its height.
        num_objects = len(meta["objects"])
        self.is_crowded = num_objects > 2
        self.cell = max(5, round((TALL_MAP_HEIGHT if self.is_crowded else MAP_HEIGHT) / rows)) * scale
        height = rows * self.cell
        half = (height - line - gap) // 2  # two panels, one above the other, beside the map
        self.view_cell = half // meta["view"]
        self.belief_cell = half // rows if self.is_crowded else self.cell

        top = 2 * gap + 2 * line
        self.world_at = (gap, top)
        self.view_at = (gap + cols * self.cell + gap, top)
        self.ahead_at = (self.view_at[0], top + meta["view"] * self.view_cell + line + gap)
        self.view_titles = ["it sees", *([f"expects in {self.num_ahead} steps"] if self.num_ahead else [])]
        words = max(round(self.font.getlength(title)) for title in self.view_titles)
        left = self.view_at[0] + max(meta["view"] * self.view_cell, words) + gap
        num_across = -(-num_objects // 2) if self.is_crowded else num_objects
        places = [divmod(i, num_across) for i in range(num_objects)]
        across, down = cols * self.belief_cell + gap, rows * self.belief_cell + line + gap
        self.beliefs_at = [(left + x * across, top + y * down) for y, x in places]
        width = max(left + num_across * across, head_width(episodes, episode, self.font, gap))
        self.strip_size, self.reward_at, self.loss_at, self.size = strips_under(top + height, width, scale)
        self.right = width - gap

    def __len__(self) -> int:
        return self.until + 1

    def frame(self, t: int) -> Picture:
        """The picture of step t."""
        image = self._still.copy()
        draw = ImageDraw.Draw(image)
        episodes, e = self.episodes, self.episode
        length, actions = episodes.length(e), episodes.meta["actions"]
        step = f"step {t} of {length}, {actions[episodes.a[e, t]]}" if t < length else f"step {t} of {length}"
        draw.text((self.right, self.gap), step, INK, self.font, anchor="ra")
        _paste(image, self.world_at, world_panel(episodes, e, t, self.cell))
        _paste(image, self.view_at, view_panel(episodes, episodes.o[e, t].astype(float), self.view_cell))
        if self.num_ahead and t + self.num_ahead <= length:
            chances = episodes.ahead[e, t, self.num_ahead - 1] / 255
            _paste(image, self.ahead_at, view_panel(episodes, chances, self.view_cell))
        for i, (x, y) in enumerate(self.beliefs_at):
            panel = belief_panel(episodes, e, t, [i], self.belief_cell)
            _paste(image, (x, y), panel)
            loss = f"{episodes.discovery_loss[e, t, i]:.2f}{'' if self.is_crowded else ' nats'}"
            draw.text((x + panel.shape[1], y - self.line), loss, self.colours[i], self.font, anchor="ra")
        # Rewards of the steps taken, losses of the frames seen.
        for at, strip in ((self.reward_at, self._rewards), (self.loss_at, self._losses)):
            reveal(image, at, strip, self.strip_size, t / max(self.until, 1), self.scale)
        return np.asarray(image)

    @cached_property
    def _rewards(self) -> Strip:
        split = self.episodes.reward_c[self.episode, : self.until]
        if split.any():
            return reward_strip(split, self._channel_colours, self.strip_size, BACKGROUND)
        total = self.episodes.reward[self.episode, : self.until, None]
        return reward_strip(total, [INK], self.strip_size, BACKGROUND)

    @cached_property
    def _losses(self) -> Strip:
        losses = self.episodes.discovery_loss[self.episode, : self.until + 1]
        return loss_strip(losses, self.colours, self.strip_size, BACKGROUND, width=2 * self.scale)

    @property
    def _channel_colours(self) -> list[RGB]:
        """Objects have their own colour, everything else is grey."""
        objects = iter(self.colours)
        return [next(objects, FAINT) if c["kind"] == "one_hot" else FAINT for c in self.episodes.meta["channels"]]

    @cached_property
    def _still(self) -> Image.Image:
        """All that does not change from frame to frame."""
        image = Image.new("RGB", self.size, BACKGROUND)
        draw = ImageDraw.Draw(image)
        names = [thing["name"] for thing in self.episodes.meta["objects"]]
        self._words(draw, (self.gap, self.gap), [(title_of(self.episodes, self.episode), INK)])
        places = [self.world_at, self.view_at, self.ahead_at, *self.beliefs_at]
        views = [*self.view_titles, ""][:2]
        titles = list(
            zip(
                places,
                ["the world", *views, *(name if self.is_crowded else f"belief: {name}" for name in names)],
                strict=True,
            )
        )
        for at, title in titles:
            self._words(draw, self._above(at), [(title, FAINT)])
        reward_ends = self._words(draw, self._above(self.reward_at), self._reward_title())
        largest = float(self.episodes.discovery_loss[self.episode, : self.until + 1].max(initial=0))
        known = "" if self.is_crowded else ", 0 is known"
        loss: list[tuple[str, RGB]] = [(f"discovery loss (largest {largest:.1f} nats{known}) of", FAINT)]
        loss_ends = self._words(draw, self._above(self.loss_at), [*loss, *zip(names, self.colours, strict=True)])
        # The key stands beside the title that leaves room for it; where neither does, the film has none.
        for ends, at in ((reward_ends, self.reward_at), (loss_ends, self.loss_at)):
            if ends + self._key_width + self.gap <= self.right:
                self._write_key(image, draw, self._above(at)[1])
                break
        return image

    def _reward_title(self) -> list[tuple[str, RGB]]:
        rewards, is_split = self.episodes.reward[self.episode, : self.until], self.episodes.reward_c.any()
        if not rewards.any():
            return [("no step was paid, or its reward takes more than the episode tells", FAINT)]
        largest = f"{rewards.max():.1f}{' nats' if is_split else ''}"  # ICM's is a squared error
        cut = f", cut at {MOST_NATS:g}" if abs(rewards).max() > MOST_NATS else ""
        title: list[tuple[str, RGB]] = [(f"reward of each step (largest {largest}{cut})", FAINT)]
        if is_split:
            channels = [channel["name"] for channel in self.episodes.meta["channels"]]
            title += [("for", FAINT), *zip(channels, self._channel_colours, strict=True)]
        return title

    @property
    def _key_width(self) -> int:
        return round(self.font.getlength("belief 0" + "1" + "where it is")) + 70 * self.scale + 3 * self.gap

    def _write_key(self, image: Image.Image, draw: ImageDraw.ImageDraw, y: int) -> None:
        """How to read a belief, from right to left: the frame around the true cell, and what brightness says."""
        x, side, bar = self.right, 10 * self.scale, 60 * self.scale
        high = y + (TEXT * self.scale - side) // 2 + self.scale

        def write(text: str) -> int:
            draw.text((x, y), text, FAINT, self.font, anchor="ra")
            return x - round(draw.textlength(text, self.font)) - self.gap // 2

        x = write("where it is") - side
        draw.rectangle((x, high, x + side, high + side), outline=marked(self.colours[0]), width=self.scale)
        x -= self.gap
        x = write("1") - bar
        _paste(image, (x, high), heat_scale(self.colours[0], bar, side))
        x -= self.gap // 2
        write("belief 0")

    def _above(self, at: At) -> At:
        return at[0], at[1] - self.line

    def _words(self, draw: ImageDraw.ImageDraw, at: At, parts: list[tuple[str, RGB]]) -> int:
        """Texts one after the other, each in its colour; returns where they end."""
        x, y = at
        for text, colour in parts:
            draw.text((x, y), text, colour, self.font)
            x += round(draw.textlength(text + " ", self.font))
        return x


def title_of(episodes: Recording, episode: int) -> str:
    """Whose episode it is, and which."""
    meta = episodes.meta
    whose = f"{meta['label']} in {meta['world']}"
    if "first_episode" not in meta:
        return whose
    return f"{whose}, episode {meta['first_episode'] + episode} of seed {meta['episode_seed']}"


def head_width(episodes: Recording, episode: int, font: ImageFont.FreeTypeFont, gap: int) -> int:
    """Of a film whose first line holds its title and, apart from it, the longest of its steps' labels."""
    steps, longest = episodes.meta["num_steps"], max([*episodes.meta["actions"], "the end"], key=len)
    texts = (title_of(episodes, episode), f"step {steps} of {steps}, {longest}")
    return 4 * gap + sum(round(font.getlength(text)) for text in texts)


def strips_under(panels: int, width: int, scale: int) -> tuple[At, At, At, At]:
    """Below panels that end at this height: the strips' size, where rewards and losses are drawn, the film's size."""
    line, gap, height = TEXT_LINE * scale, GAP * scale, 46 * scale
    rewards = panels + gap + line
    losses = rewards + height + gap // 2 + line
    end = losses + height + gap
    size = width + width % 2, end + end % 2  # a video wants even sides
    return (width - 2 * gap, height), (gap, rewards), (gap, losses), size


def reveal(image: Image.Image, at: At, strip: Strip, size: tuple[int, int], share: float, line_width: int) -> None:
    """Draws the first `share` of a strip, its line of zero, and where it is."""
    draw, (x, y), (width, height) = ImageDraw.Draw(image), at, size
    now = round(width * share)
    image.paste(strip.image.crop((0, 0, now, height)), at)
    draw.line((x, y + strip.zero, x + width, y + strip.zero), LINE, line_width)
    draw.line((x + now, y, x + now, y + height - 1), INK, line_width)


def _paste(image: Image.Image, at: At, panel: Picture) -> None:
    image.paste(Image.fromarray(panel), at)


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """matplotlib's own font: the same on every machine."""
    return ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), size)
