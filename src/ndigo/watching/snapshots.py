"""The paper's snapshot figure: at chosen steps the true world, and below it the world the agent believes in.

Every object's belief is in one map, each in its colour; below, the discovery loss with the chosen steps marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ndigo.errors import NdigoError
from ndigo.palette import dash_of
from ndigo.report.figures import COLUMN, write_figure
from ndigo.storage.episodes import Recording
from ndigo.watching.panels import belief_panel, colours_of, heat_scale, world_panel

SUFFIXES = (".png", ".pdf", ".svg")
MOST_STEPS = 8
DPI, CELL_PIXELS = 200, 16
LEFT, GAP = 0.44, 0.08  # inches: before the first map, between two; whole pixels, so that cells stay square


def chosen_steps(episodes: Recording, episode: int) -> list[int]:
    """The first frame, the first that shows each object, and the last."""
    kinds = [channel["kind"] for channel in episodes.meta["channels"]]
    objects = [c for c, kind in enumerate(kinds) if kind == "one_hot"]
    is_visible = episodes.o[episode][..., objects].any(axis=(1, 2))
    first = [int(seen.argmax()) for seen in is_visible.T if seen.any()]
    steps = sorted({0, *first, episodes.meta["num_steps"]})
    return [*steps[: MOST_STEPS - 1], steps[-1]] if len(steps) > MOST_STEPS else steps


def check_figure(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise NdigoError(f"{path}: a figure is {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, by the ending of its name")


def check_steps(steps: Sequence[int], num_steps: int) -> None:
    if len(steps) > MOST_STEPS:
        raise NdigoError(f"--steps: {len(steps)} are too many for one figure; at most {MOST_STEPS}")
    for step in steps:
        if not 0 <= step <= num_steps:
            raise NdigoError(f"--steps {step}: the episode has steps 0 to {num_steps}")


def write_snapshots(path: Path, episodes: Recording, episode: int, steps: Sequence[int] = ()) -> None:
    """Writes the figure as PNG, PDF or SVG; without `steps` they are chosen by `chosen_steps`."""
    check_figure(path)
    if episodes.seen is not None:
        raise NdigoError(
            f"{path}: a figure shows maps, and {episodes.meta['world']} has none; --html and --gif show it"
        )
    check_steps(steps, episodes.meta["num_steps"])
    with matplotlib.rc_context({"pdf.fonttype": 42, "font.size": 8}):
        figure = draw_snapshots(episodes, episode, sorted(set(steps)) or chosen_steps(episodes, episode))
        write_figure(figure, path, dpi=DPI)


def draw_snapshots(episodes: Recording, episode: int, steps: Sequence[int]) -> Figure:
    rows, cols = episodes.walls.shape
    tall, wide = rows * CELL_PIXELS / DPI, cols * CELL_PIXELS / DPI
    # All in inches from the top left; a figure of few panels is still wide enough for its plot and its key.
    across = max(len(steps) * (wide + GAP) - GAP, COLUMN - LEFT - 0.1)
    width, height = LEFT + across + 0.1, 0.48 + 2 * tall + GAP + 0.3 + 1.05 + 0.42
    figure = Figure(figsize=(width, height))  # not pyplot's: no window system, no state left behind

    def place(x: float, y: float, w: float, h: float) -> Axes:
        return figure.add_axes((x / width, 1 - (y + h) / height, w / width, h / height))

    title = f"{episodes.meta['label']}, {episodes.meta['world']}"  # which episode it is, a caption says
    figure.text(LEFT / width, 1 - 0.08 / height, title, va="top", fontsize=8)
    everything = range(len(episodes.meta["objects"]))
    top = 0.48
    for i, t in enumerate(steps):
        x = LEFT + i * (wide + GAP)
        world, belief = place(x, top, wide, tall), place(x, top + tall + GAP, wide, tall)
        world.set_title(f"({_letter(i)}) step {t}", pad=3, fontsize=8)
        _show(world, world_panel(episodes, episode, t, CELL_PIXELS))
        _show(belief, belief_panel(episodes, episode, t, everything, CELL_PIXELS))
        if i == 0:
            world.set_ylabel("the world")
            belief.set_ylabel("its belief")
    _draw_losses(place(LEFT, top + 2 * tall + GAP + 0.3, across, 1.05), episodes, episode, steps)
    _draw_key(place(LEFT, height - 0.16, across, 0.12), episodes)
    return figure


def _draw_losses(axes: Axes, episodes: Recording, episode: int, steps: Sequence[int]) -> None:
    loss = episodes.discovery_loss[episode]
    for i, colour in enumerate(colours_of(episodes)):
        axes.plot(loss[:, i], color=np.array(colour) / 255, linewidth=1.2, linestyle=dash_of(i))
    for i, t in enumerate(steps):
        axes.axvline(t, color="0.6", linewidth=0.6, linestyle=":")
        axes.annotate(f"({_letter(i)})", (t, 1.02), xycoords=("data", "axes fraction"), ha="center", fontsize=7)
    axes.set(xlim=(0, episodes.meta["num_steps"]), ylim=(0, None))
    axes.set_ylabel("discovery loss (nats)", fontsize=7)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    below = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top", "fontsize": 7}
    axes.annotate("step", (0, 0), (-6, -5.5), ha="right", **below)


def _draw_key(axes: Axes, episodes: Recording) -> None:
    """What the squares are, and what brightness and the frame say."""
    axes.set_axis_off()
    things = zip(episodes.meta["objects"], colours_of(episodes), strict=True)
    marks: list[Line2D] = [_mark("D", "white", "0.3", "agent")]
    marks += [_mark("s", np.array(colour) / 255, "none", thing["name"]) for thing, colour in things]
    marks.append(_mark("s", "none", "0.3", "where it is"))
    axes.legend(
        handles=marks,
        ncols=len(marks),
        frameon=False,
        loc="center left",
        bbox_to_anchor=(-0.01, 0.5),
        borderpad=0,
        handletextpad=0.1,
        columnspacing=1,
        fontsize=7.5,
    )
    bar = axes.inset_axes((0.88, 0.1, 0.1, 0.8))
    _show(bar, heat_scale(colours_of(episodes)[0], 200, 8), aspect="auto")
    bar.annotate("belief 0", (-0.05, 0.5), xycoords="axes fraction", ha="right", va="center", fontsize=7.5)
    bar.annotate("1", (1.05, 0.5), xycoords="axes fraction", ha="left", va="center", fontsize=7.5)


def _mark(shape: str, fill: object, edge: str, label: str) -> Line2D:
    return Line2D([], [], marker=shape, color="none", markerfacecolor=fill, markeredgecolor=edge, label=label)  # type: ignore[arg-type]


def _show(axes: Axes, picture: np.ndarray, aspect: str = "equal") -> None:
    axes.imshow(picture, interpolation="nearest", aspect=aspect)  # type: ignore[arg-type]
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def _letter(i: int) -> str:
    return chr(ord("a") + i)
