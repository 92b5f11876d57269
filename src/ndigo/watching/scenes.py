"""What a film shows of an episode: panels side by side, and below them two strips.

On a map: the world | what it sees, and expects to see | where it believes each object is; rewards by channel, and the
discovery loss of each object. Without one: the world's own picture | what it sees | what it expects to see; rewards by
channel, and the surprise of each frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from PIL import Image

from ndigo.palette import RGB
from ndigo.report.numbers import how_many
from ndigo.storage.episodes import Recording
from ndigo.watching.film import BACKGROUND, FAINT, INK, Measures, Panel, Scene, Track, Words
from ndigo.watching.frame_pictures import colour_of
from ndigo.watching.panels import Picture, belief_panel, colours_of, view_panel, world_panel
from ndigo.watching.strips import loss_strip, reward_strip

LOOK_AHEAD = 4  # steps: how far ahead the expected view lies, or less where the model predicts less
MAP_HEIGHT, TALL_MAP_HEIGHT = 266, 340  # about, as a cell is a whole number of pixels; the tall one fits small beliefs
MANY = 2  # beliefs; up to so many are as large as the map, more share its height
PICTURE_HEIGHT, MOST_WIDTH = 240, 420  # of a panel, about: a pixel of a frame is a whole number of pixels of the film
LEAST_WIDTH = 480  # of the film
MOST_NATS = 4.0  # where the bars of the reward are cut: one rare surprise would flatten all others


def map_scene(episodes: Recording, e: int, until: int, m: Measures) -> Scene:
    """Panels and strips of an episode up to step `until`."""
    meta, (rows, cols), colours = episodes.meta, episodes.walls.shape, colours_of(episodes)
    num_objects, num_ahead = len(meta["objects"]), min(LOOK_AHEAD, meta["num_ahead"])
    is_crowded = num_objects > MANY
    cell = max(5, round((TALL_MAP_HEIGHT if is_crowded else MAP_HEIGHT) / rows)) * m.scale
    height = rows * cell
    half = (height - m.line - m.gap) // 2  # two panels, one above the other, beside the map
    view_cell, belief_cell = half // meta["view"], half // rows if is_crowded else cell

    def expected(t: int) -> Picture | None:
        if t + num_ahead > episodes.length(e):
            return None
        return view_panel(episodes, episodes.ahead[e, t, num_ahead - 1] / 255, view_cell)

    panels = [Panel("the world", (m.gap, m.top), lambda t: world_panel(episodes, e, t, cell))]
    x, view = m.gap + cols * cell + m.gap, meta["view"] * view_cell
    views = [
        Panel("it sees", (x, m.top), lambda t: view_panel(episodes, episodes.o[e, t].astype(float), view_cell)),
        Panel(f"expects in {num_ahead} steps", (x, m.top + view + m.line + m.gap), expected),
    ]
    panels += views[: 2 if num_ahead else 1]
    left = x + max(view, *(m.width_of(panel.title) for panel in panels[1:])) + m.gap
    num_across = -(-num_objects // 2) if is_crowded else num_objects
    across, down = cols * belief_cell + m.gap, rows * belief_cell + m.line + m.gap

    def loss(i: int, t: int) -> tuple[str, RGB]:
        return f"{episodes.discovery_loss[e, t, i]:.2f}{'' if is_crowded else ' nats'}", colours[i]

    for i, thing in enumerate(meta["objects"]):
        row, column = divmod(i, num_across)
        panels.append(
            Panel(
                thing["name"] if is_crowded else f"belief: {thing['name']}",
                (left + column * across, m.top + row * down),
                lambda t, i=i: belief_panel(episodes, e, t, [i], belief_cell),
                label=partial(loss, i),
            )
        )
    corner = left + num_across * across, m.top + height
    # Objects have their own colour, everything else is grey.
    of_objects = iter(colours)
    of_channels = [next(of_objects, FAINT) if c["kind"] == "one_hot" else FAINT for c in meta["channels"]]
    rewards = _rewards(episodes, e, until, of_channels, [c["name"] for c in meta["channels"]])
    return Scene(panels, corner, rewards, _losses(episodes, e, until, m, is_crowded), key=next(iter(colours), None))


def _rewards(episodes: Recording, e: int, until: int, colours: Sequence[RGB], names: Sequence[str] = ()) -> Track:
    """What each step was paid: by channel, in nats, or whole and in its own unit where a reward has no split."""
    split, total = episodes.reward_c[e, :until], episodes.reward[e, :until]
    if not total.any():
        words: Words = [("no step was paid, as far as one episode tells", FAINT)]
        return Track(words, lambda size: reward_strip(split, colours, size, BACKGROUND))
    largest = f"largest {total.max():.{1 if total.max() >= 1 else 2}f}"
    if not split.any():
        words = [(f"reward of each step ({largest})", FAINT)]
        return Track(words, lambda size: reward_strip(total[:, None], [INK], size, BACKGROUND))
    cut = f", cut at {MOST_NATS:g}" if abs(total).max() > MOST_NATS else ""
    words = [(f"reward of each step ({largest} nats{cut})", FAINT)]
    words += [("for", FAINT), *zip(names, colours, strict=True)] if names else []
    return Track(words, lambda size: reward_strip(split, colours, size, BACKGROUND, MOST_NATS))


def _losses(episodes: Recording, e: int, until: int, m: Measures, is_crowded: bool) -> Track:
    loss, colours = episodes.discovery_loss[e, : until + 1], colours_of(episodes)
    known = "" if is_crowded else ", 0 is known"
    words: Words = [(f"discovery loss (largest {float(loss.max(initial=0)):.1f} nats{known}) of", FAINT)]
    words += zip((thing["name"] for thing in episodes.meta["objects"]), colours, strict=True)
    return Track(words, lambda size: loss_strip(loss, colours, size, BACKGROUND, width=2 * m.scale))


def picture_scene(episodes: Recording, e: int, until: int, m: Measures) -> Scene:
    """Panels and strips of an episode up to step `until`."""
    assert episodes.seen is not None
    shown: list[tuple[str, np.ndarray, int]] = []  # title, pictures, how many steps ahead
    if episodes.drawn is not None:
        shown.append(("the world", episodes.drawn[e], 0))
    shown.append(("it sees", episodes.seen[e], 0))
    num_ahead = min(LOOK_AHEAD, episodes.meta["num_ahead"])
    if num_ahead and episodes.expected is not None:
        shown.append((f"expects in {how_many(num_ahead, 'step')}", episodes.expected[e, :, num_ahead - 1], num_ahead))
    panels, x, height = [], m.gap, 0
    for title, pictures, ahead in shown:
        size = _size(pictures.shape[1], pictures.shape[2], m.scale)

        def draw(t: int, pictures=pictures, ahead=ahead, size=size) -> Picture | None:
            if t + ahead > episodes.length(e):
                return None
            return np.asarray(Image.fromarray(pictures[t]).resize(size, Image.Resampling.NEAREST))

        panels.append(Panel(title, (x, m.top), draw))
        x += max(size[0], m.width_of(title)) + m.gap
        height = max(height, size[1])
    corner = max(x, LEAST_WIDTH * m.scale), m.top + height
    named: dict[str, RGB] = {entry["name"]: tuple(entry["colour"]) for entry in episodes.meta.get("legend", ())}
    colours = [named.get(entry["name"], colour_of(c)) for c, entry in enumerate(episodes.meta["channels"])]
    rewards = _rewards(episodes, e, until, colours)
    return Scene(panels, corner, rewards, _surprise(episodes, e, until, m), end="the end")


def _size(rows: int, cols: int, scale: int) -> tuple[int, int]:
    """Of a panel: whole pixels per cell where they are few, else the picture's own size."""
    cell = max(1, min(PICTURE_HEIGHT * scale // rows, MOST_WIDTH * scale // cols))
    return cols * cell, rows * cell


def _surprise(episodes: Recording, e: int, until: int, m: Measures) -> Track:
    loss_c = episodes.loss_c
    surprise = np.zeros(until + 1) if loss_c is None else loss_c[e, : until + 1].sum(axis=-1)
    words = [(f"surprise of each frame (largest {surprise.max(initial=0):.1f} nats)", FAINT)]
    # Nothing was predicted before the first frame, so it surprises nobody.
    strip = partial(loss_strip, surprise[:, None], [INK], paper=BACKGROUND, width=2 * m.scale, first=1)
    return Track(words, lambda size: strip(size=size))
