"""The paper's snapshot figure: at chosen steps the true world, and below it the world the agent believes in.

Every object's belief is in one map, each in its colour; below, the discovery loss with the chosen steps marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath

from ndigo.errors import NdigoError
from ndigo.palette import RGB, dash_of
from ndigo.report.figures import COLUMN, check_figure, write_figure
from ndigo.storage.episodes import Recording
from ndigo.watching.panels import belief_panel, colours_of, heat_scale, world_panel

MOST_STEPS = 8
BELIEF = "belief 0"  # and 1 at the other end of its scale
DPI, CELL_PIXELS = 200, 16
LEFT, GAP = 0.5, 0.08  # inches: before the first map, between two; whole pixels, so that cells stay square
KEY_SIZE, KEY_ROW = 7.5, 0.16  # of the key: points of its words, inches of a row
MARK, BETWEEN, SCALE = 0.14, 0.14, 0.4  # inches: a mark before its word, between two words, the scale of a belief
LETTER = 0.2  # inches that a step's letter takes
WORDS = 0.7  # inches that "(h) step 400" or "the world" takes, with a little beside it


def chosen_steps(episodes: Recording, episode: int) -> list[int]:
    """The first frame, the first that shows each object, and the last."""
    kinds = [channel["kind"] for channel in episodes.meta["channels"]]
    objects = [c for c, kind in enumerate(kinds) if kind == "one_hot"]
    length = episodes.length(episode)
    is_visible = episodes.o[episode][: length + 1, ..., objects].any(axis=(1, 2))
    first = [int(seen.argmax()) for seen in is_visible.T if seen.any()]
    steps = sorted({0, *first, length})
    return [*steps[: MOST_STEPS - 1], steps[-1]] if len(steps) > MOST_STEPS else steps


def check_steps(steps: Sequence[int], num_steps: int) -> None:
    if len(steps) > MOST_STEPS:
        raise NdigoError(f"--steps: {len(steps)} are too many for one figure; at most {MOST_STEPS}")
    for step in steps:
        if not 0 <= step <= num_steps:
            raise NdigoError(f"--steps {step}: the episode has steps 0 to {num_steps}")


def check_map(path: Path, world: str, has_map: bool) -> None:
    if not has_map:
        raise NdigoError(f"{path}: a figure shows maps, and {world} has none; --html and --gif show it")


def write_snapshots(path: Path, episodes: Recording, episode: int, steps: Sequence[int] = ()) -> None:
    """Writes the figure as PNG, PDF or SVG; without `steps` they are chosen by `chosen_steps`."""
    check_figure(path)
    check_map(path, episodes.meta["world"], episodes.seen is None)
    check_steps(steps, episodes.length(episode))
    with matplotlib.rc_context({"font.size": 8}):
        figure = draw_snapshots(episodes, episode, sorted(set(steps)) or chosen_steps(episodes, episode))
        write_figure(figure, path, dpi=DPI)


def draw_snapshots(episodes: Recording, episode: int, steps: Sequence[int]) -> Figure:
    rows, cols = episodes.walls.shape
    tall, wide = rows * CELL_PIXELS / DPI, cols * CELL_PIXELS / DPI
    # All in inches from the top left; a figure of few panels is still wide enough for its plot and its key.
    apart = max(wide, WORDS) + GAP
    across = max(len(steps) * apart - GAP, COLUMN - LEFT - 0.1)
    key, marks = _key_places(episodes, across), _marks(episodes)
    tall_key = KEY_ROW * (1 + max(row for row, _ in key))
    width, height = LEFT + across + 0.1, 0.48 + 2 * tall + GAP + 0.3 + 1.05 + 0.26 + tall_key
    figure = Figure(figsize=(width, height))  # not pyplot's: no window system, no state left behind

    def place(x: float, y: float, w: float, h: float) -> Axes:
        return figure.add_axes((x / width, 1 - (y + h) / height, w / width, h / height))

    title = f"{episodes.meta['label']}, {episodes.meta['world']}"  # which episode it is, a caption says
    figure.text(LEFT / width, 1 - 0.08 / height, title, va="top", fontsize=8)
    everything = range(len(episodes.meta["objects"]))
    top = 0.48
    for i, t in enumerate(steps):
        x = LEFT + i * apart
        world, belief = place(x, top, wide, tall), place(x, top + tall + GAP, wide, tall)
        world.set_title(f"({_letter(i)}) step {t}", pad=3, fontsize=8)
        _show(world, world_panel(episodes, episode, t, CELL_PIXELS))
        _show(belief, belief_panel(episodes, episode, t, everything, CELL_PIXELS))
        if i == 0:
            _name_row(world, "the", "world", tall)
            _name_row(belief, "its", "belief", tall)
    _draw_losses(place(LEFT, top + 2 * tall + GAP + 0.3, across, 1.05), episodes, episode, steps)
    axes = place(LEFT, height - tall_key - 0.02, across, tall_key)
    axes.set_axis_off()
    axes.set(xlim=(0, across), ylim=(-tall_key / KEY_ROW, 0))
    _draw_key(axes, marks, key, colours_of(episodes)[0])
    return figure


def _name_row(axes: Axes, article: str, noun: str, tall: float) -> None:
    """Beside the first map and along it; beside one that is less tall than the words are long, in two lines."""
    if tall >= WORDS:
        axes.set_ylabel(f"{article} {noun}", fontsize=8)
    else:
        axes.set_ylabel(f"{article}\n{noun}", fontsize=8, rotation="horizontal", ha="right", va="center")


def _draw_losses(axes: Axes, episodes: Recording, episode: int, steps: Sequence[int]) -> None:
    length = episodes.length(episode)
    loss = episodes.discovery_loss[episode, : length + 1]
    for i, colour in enumerate(colours_of(episodes)):
        axes.plot(loss[:, i], color=np.array(colour) / 255, linewidth=1.2, linestyle=dash_of(i))
    per_inch = length / (axes.get_position().width * axes.figure.get_figwidth())  # type: ignore
    together: list[list[int]] = []  # steps too close for a letter each: the first and the last have them
    for i, t in enumerate(steps):
        axes.axvline(t, color="0.6", linewidth=0.6, linestyle=":")
        if together and t - steps[together[-1][0]] < LETTER * per_inch:
            together[-1].append(i)
        else:
            together.append([i])
    for group in together:
        letters = "-".join(dict.fromkeys(map(_letter, (group[0], group[-1]))))
        # Not left of the axis, where its numbers are.
        middle = max((steps[group[0]] + steps[group[-1]]) / 2, _inches(f"({letters})") / 2 * per_inch)
        axes.annotate(f"({letters})", (middle, 1.02), xycoords=("data", "axes fraction"), ha="center", fontsize=7)
    axes.set(xlim=(0, length), ylim=(0, None))
    axes.set_ylabel("discovery loss (nats)", fontsize=7)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    below = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top", "fontsize": 7}
    axes.annotate("step", (0, 0), (-6, -5.5), ha="right", **below)


def _marks(episodes: Recording) -> list[Line2D]:
    """What the squares are, and what the frame says."""
    things = zip(episodes.meta["objects"], colours_of(episodes), strict=True)
    marks = [_mark("D", "white", "0.3", "agent")]
    marks += [_mark("s", np.array(colour) / 255, "none", thing["name"]) for thing, colour in things]
    return [*marks, _mark("s", "none", "0.3", "where it is")]


def _key_places(episodes: Recording, across: float) -> list[tuple[int, float]]:
    """(row, inches from the left) of every mark and, last, of the scale: as many to a row as it holds."""
    widths = [MARK + _inches(str(mark.get_label())) for mark in _marks(episodes)]
    widths.append(_inches(BELIEF) + SCALE + 3 * _inches("0"))
    places, row, x = [], 0, 0.0
    for width in widths:
        if x and x + width > across:
            row, x = row + 1, 0.0
        places.append((row, x))
        x += width + BETWEEN
    return places


def _inches(text: str) -> float:
    """How wide a word of the key is; no dollars, which would be read as mathematics (`with_plain_texts`)."""
    plain = text.replace("$", "S").encode(errors="replace").decode()
    return float(TextPath((0, 0), plain, size=KEY_SIZE).get_extents().width) / 72 if plain.strip() else 0.0


def _draw_key(axes: Axes, marks: Sequence[Line2D], places: Sequence[tuple[int, float]], colour: RGB) -> None:
    """The marks with their words, and what brightness says; `axes` are in inches, and in rows below 0."""
    words: Any = {"va": "center", "fontsize": KEY_SIZE}
    for mark, (row, x) in zip(marks, places, strict=False):
        mark.set_data([x + MARK / 3], [-row - 0.5])
        axes.add_line(mark)
        axes.text(x + MARK, -row - 0.5, str(mark.get_label()), **words)
    row, x = places[-1]
    axes.text(x, -row - 0.5, BELIEF, **words)
    x += _inches(BELIEF) + _inches("0")
    bar = axes.inset_axes((x, -row - 0.75, SCALE, 0.5), transform=axes.transData)
    _show(bar, heat_scale(colour, 200, 8), aspect="auto")
    axes.text(x + SCALE + _inches("0") / 2, -row - 0.5, "1", **words)


def _mark(shape: str, fill: object, edge: str, label: str) -> Line2D:
    colours: Any = {"color": "none", "markerfacecolor": fill, "markeredgecolor": edge}
    return Line2D([], [], marker=shape, label=label, clip_on=False, **colours)


def _show(axes: Axes, picture: np.ndarray, aspect: str = "equal") -> None:
    axes.imshow(picture, interpolation="nearest", aspect=aspect)  # type: ignore[arg-type]
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def _letter(i: int) -> str:
    return chr(ord("a") + i)
