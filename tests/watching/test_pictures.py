"""Pictures of recorded episodes: held pixel by pixel to the numbers they show, and to the worlds' own renderer."""

from __future__ import annotations

import dataclasses
import subprocess
from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from PIL import Image, ImageDraw
from small_maps import corner

from ndigo.errors import NdigoError
from ndigo.storage.run_folder import WriteError
from ndigo.types import Truth
from ndigo.watching.film import INK, TEXT_LINE, Measures, title_of
from ndigo.watching.movies import film_of, find_ffmpeg, write_gif, write_video
from ndigo.watching.panels import belief_panel, heat_scale, marked, view_panel, world_panel
from ndigo.watching.scenes import map_scene
from ndigo.watching.snapshots import CELL_PIXELS, DPI, GAP, LEFT, chosen_steps, draw_snapshots, write_snapshots
from ndigo.watching.strips import FINE, loss_strip, reward_strip
from ndigo.worlds.render import AGENT, FLOOR, render_rgb

ORANGE, BLUE = (230, 159, 0), (86, 180, 233)
SIZE = 8
CELL = 14  # pixels of a film's cell, of a map of 19


def test_the_world_is_drawn_as_the_worlds_renderer_draws_it(shipped, recorded):
    for t in (0, 30, 400):
        truth = Truth(recorded.agent[0, t], recorded.objects[0, t])  # type: ignore[arg-type]
        np.testing.assert_array_equal(world_panel(recorded, 0, t, SIZE), render_rgb(shipped.world, truth, SIZE))


def test_the_view_is_drawn_as_the_worlds_renderer_draws_it(shipped, recorded):
    t = int(recorded.o[0, ..., 1].any(axis=(1, 2)).argmax())  # the fixed object comes into view
    truth = Truth(recorded.agent[0, t], recorded.objects[0, t])  # type: ignore[arg-type]
    expected = render_rgb(shipped.world, truth, SIZE, show_panel=True)[:, -5 * 3 * SIZE :]
    panel = view_panel(recorded, recorded.o[0, t].astype(float), 3 * SIZE)
    above = (len(expected) - len(panel)) // 2
    np.testing.assert_array_equal(panel, expected[above : above + len(panel)])


def test_a_prediction_is_as_bright_as_it_is_sure(recorded):
    chances = np.zeros((5, 5, 3))
    chances[0, 0, 1], chances[0, 1, 1], chances[4, 4, 0] = 0.125, 1e-9, 0.5
    panel = view_panel(recorded, chances, SIZE).astype(int)
    floor, wall = panel[2 * SIZE, 0], panel[4 * SIZE, 4 * SIZE]
    np.testing.assert_allclose(panel[0, 0], floor + 0.5 * (np.array(ORANGE) - floor), atol=1)  # cube root of 1/8
    assert abs(panel[0, SIZE] - floor).max() <= 1
    assert (wall > floor).all()


@pytest.fixture(scope="module")
def certain(recorded):
    """Episode 0 with a belief made by hand: fixed at (3, 9) with chance 1/8, noise where it is with certainty."""
    belief = np.zeros_like(recorded.belief)
    belief[0, :, 0, 3, 9] = 0.125
    t, (rows, cols) = np.arange(401), recorded.objects[0, :, 1].T
    belief[0, t, 1, rows, cols] = 1
    return dataclasses.replace(recorded, belief=belief)


def test_a_belief_shines_by_the_cube_root_of_its_probability_and_the_truth_is_framed(certain):
    (row, col), noise = certain.objects[0, 0]
    panel = belief_panel(certain, 0, 0, [0, 1], SIZE).astype(int)
    floor = np.array(FLOOR)
    np.testing.assert_allclose(panel[3 * SIZE + 4, 9 * SIZE + 4], floor + 0.5 * (np.array(ORANGE) - floor), atol=1)
    for (r, c), colour, inside in (((row, col), ORANGE, floor), (noise, BLUE, np.array(BLUE))):
        tile = panel[r * SIZE : (r + 1) * SIZE, c * SIZE : (c + 1) * SIZE]
        np.testing.assert_array_equal(tile[0], [marked(colour)] * SIZE)
        np.testing.assert_array_equal(tile[:, -1], [marked(colour)] * SIZE)
        np.testing.assert_array_equal(tile[1:-1, 1:-1], np.broadcast_to(inside, (6, 6, 3)))
    middle = panel[9 * SIZE + 4, 9 * SIZE + 4]
    np.testing.assert_array_equal(middle, AGENT)
    one = belief_panel(certain, 0, 0, [1], SIZE)
    assert tuple(one[3 * SIZE + 4, 9 * SIZE + 4]) == FLOOR  # the other object's belief is not in it


def test_the_heat_scale_is_the_belief_from_nought_to_one():
    bar = heat_scale(ORANGE, 9, 2).astype(int)
    assert bar.shape == (2, 9, 3)
    assert tuple(bar[0, 0]) == FLOOR
    assert tuple(bar[1, -1]) == ORANGE
    np.testing.assert_allclose(bar[0, 1], (np.array(FLOOR) + np.array(ORANGE)) / 2, atol=1)  # 1/8


def test_reward_bars_stack_by_channel_and_losses_hang_below_the_line():
    split = np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, 0.0], [9.0, 0.0]])
    strip = reward_strip(split, [ORANGE, BLUE], (40, 50), (0, 0, 0), most=4)
    pixels = np.asarray(strip.image)
    # From 4 (where 9 is cut) down to -1 in 50 rows: ten rows a nat.
    assert strip.zero == 40
    bars = [["-" if not p.any() else "ob"[p.tolist() == [*BLUE]] for p in pixels[:, x]] for x in (5, 15, 25, 35)]
    assert "".join(bars[0][1:]).strip("-") in ("b" * 10 + "o" * 10, "b" * 10 + "o" * 11)
    assert bars[0][21] == "b"
    assert bars[0][39] == "o"
    assert set(bars[1][:39]) == {"-"}
    assert set(bars[1][41:]) == {"o"}
    assert set(bars[2]) == {"-"}
    assert set(bars[3][:39]) == {"o"}


def test_a_reward_without_a_split_is_drawn_whole_and_is_not_cut(recorded):
    """Such as ICM's: squared errors of any size."""
    reward = np.zeros_like(recorded.reward)
    reward[0, :2] = 8, 2
    whole = dataclasses.replace(recorded, reward=reward, reward_c=np.zeros_like(recorded.reward_c))
    track = map_scene(whole, 0, 2, Measures(1)).rewards
    assert [text for text, _ in track.words] == ["reward of each step (largest 8.0)"]
    heights = (np.asarray(track.draw((40, 48)).image) == INK).all(axis=-1).sum(axis=0)
    assert (heights[10], heights[30]) == (48, 12)


def test_a_loss_line_runs_from_the_top_at_its_largest_to_the_bottom_at_nought():
    loss = np.linspace(6, 0, 40)[:, None]
    pixels = np.asarray(loss_strip(loss, [ORANGE], (40, 30), (0, 0, 0), width=FINE).image)
    heights = [np.flatnonzero(pixels[:, x].any(axis=-1)).mean() for x in (2, 20, 37)]
    np.testing.assert_allclose(heights, [1.5, 15, 28], atol=1.5)


def test_a_film_shows_the_past_alone_and_every_frame_has_one_even_size(recorded):
    film = film_of(recorded, 0, until=100)
    assert len(film) == 101
    first, later = film.frame(0), film.frame(50)
    assert first.shape == later.shape == (*reversed(film.size), 3)
    assert film.size[0] % 2 == film.size[1] % 2 == 0
    x, y = film.loss_at
    width, height = film.strip_size
    strip = later[y : y + height, x : x + width]
    assert (strip[:, : width // 2 - 2] == BLUE).all(axis=-1).any(axis=0).mean() > 0.9  # the noise's loss so far
    assert not (strip[:-1, width // 2 + 4 :] != strip[0, -1]).any()  # nothing of what is to come
    row, column = (at + 5 * CELL for at in reversed(film.panels[0].at))
    tile = world_panel(recorded, 0, 50, CELL)[5 * CELL :, 5 * CELL :]
    np.testing.assert_array_equal(later[row : row + 50, column : column + 50], tile[:50, :50])


def test_a_film_says_whose_it_is(recorded):
    labelled = dataclasses.replace(recorded, meta=recorded.meta | {"label": "ndigo-4, seed 3"})
    assert title_of(labelled, 1) == "ndigo-4, seed 3 in exp1"
    numbered = dataclasses.replace(labelled, meta=labelled.meta | {"first_episode": 5, "episode_seed": 7})
    assert title_of(numbered, 1) == "ndigo-4, seed 3 in exp1, episode 6 of seed 7"


def with_objects(recorded, num: int):
    """The same episodes with so many objects, each one of the two."""
    at = np.arange(num) % 2
    arrays = {name: getattr(recorded, name)[:, :, at] for name in ("objects", "belief", "discovery_loss")}
    objects = [recorded.meta["objects"][i] for i in at]
    return dataclasses.replace(recorded, meta=recorded.meta | {"objects": objects}, **arrays)


@pytest.fixture
def ended(recorded):
    """The same episodes, of which the first ended by itself after four steps."""
    o, loss = recorded.o.copy(), recorded.discovery_loss.copy()
    o[0, :5, ..., 1:] = 0
    o[0, 3, 0, 0, 2] = 1
    loss[0, 5:] = 777.0  # what lies after the end means nothing
    return dataclasses.replace(recorded, o=o, discovery_loss=loss, lengths=np.array([4, 400], np.int32))


def test_a_film_is_over_where_its_episode_ended(ended, monkeypatch):
    texts = texts_of_films(monkeypatch)
    assert [len(film_of(ended, 0)), len(film_of(ended, 0, until=2)), len(film_of(ended, 0, until=90))] == [5, 3, 5]
    assert len(film_of(ended, 1)) == 401
    film_of(ended, 0).frame(4)
    assert "step 4 of 4" in texts
    assert not any("777" in text for text in texts)


def texts_of_films(monkeypatch) -> list[str]:
    """What films write, from now on."""
    texts: list[str] = []
    draw_text = ImageDraw.ImageDraw.text

    def noted(self, xy, text, *args, **options):
        texts.append(text)
        draw_text(self, xy, text, *args, **options)

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", noted)
    return texts


def test_a_figure_shows_an_episode_up_to_its_end(ended, tmp_path):
    assert chosen_steps(ended, 0) == [0, 3, 4]
    figure = draw_snapshots(ended, 0, [0, 4])
    (losses,) = (axes for axes in figure.axes if axes.get_ylabel().startswith("discovery loss"))
    assert losses.get_xlim() == (0, 4)
    assert [len(line.get_xdata()) for line in losses.lines[:2]] == [5, 5]  # type: ignore[arg-type]
    with pytest.raises(NdigoError, match="--steps 5: the episode has steps 0 to 4"):
        write_snapshots(tmp_path / "a.png", ended, 0, [5])


def test_many_objects_and_no_predictions_fit_side_by_side(recorded):
    """Six objects and ICM's K of 0: panels neither overlap nor leave the picture."""
    six = with_objects(recorded, 6)
    film = film_of(dataclasses.replace(six, meta=six.meta | {"num_ahead": 0}), 0, until=2)
    side = 19 * 7  # two of them, a line of text and a gap in the height of a map of 19 x 18 pixels
    corners = [panel.at for panel in film.panels[2:]]
    assert len(set(corners)) == 6
    assert all(x + side <= film.size[0] and y + side < film.reward_at[1] - TEXT_LINE for x, y in corners)
    assert film.frame(2).shape == (*reversed(film.size), 3)


@pytest.mark.parametrize("num_objects", [2, 3, 6])
@pytest.mark.parametrize("scale", [1, 2])
def test_no_two_texts_of_a_film_meet_and_none_leaves_it(recorded, num_objects, scale, monkeypatch):
    boxes: list[tuple[float, ...]] = []
    draw_text = ImageDraw.ImageDraw.text

    def noted(self, xy, text, *args, anchor=None, **options):
        boxes.append(self.textbbox(xy, text, args[1], anchor=anchor))
        draw_text(self, xy, text, *args, anchor=anchor, **options)

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", noted)
    label = {"label": "an agent with a name as long as a sentence, seed 12", "first_episode": 0, "episode_seed": 7}
    many = with_objects(recorded, num_objects)
    film = film_of(dataclasses.replace(many, meta=many.meta | label), 0, scale=scale)
    film.frame(100)
    assert len(boxes) > 10
    width, height = film.size
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert top >= 0
        assert right <= width
        assert bottom <= height
        for x0, y0, x1, y1 in boxes[:i]:
            assert right <= x0 or x1 <= left or bottom <= y0 or y1 <= top


def test_a_gif_plays_the_film(recorded, tmp_path):
    film, heard = film_of(recorded, 0, until=12), []
    write_gif(tmp_path / "a.gif", film, 10, heard.append)
    assert heard == list(range(1, 14))
    with Image.open(tmp_path / "a.gif") as gif:
        assert (getattr(gif, "n_frames", 1), gif.size, gif.info["loop"]) == (13, film.size, 0)
        for t in (0, 7, 12):
            gif.seek(t)
            assert gif.info["duration"] == (100 if t < 12 else 2000)
            difference = abs(np.asarray(gif.convert("RGB")).astype(int) - film.frame(t))
            assert difference.mean() < 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]


@pytest.mark.parametrize(("fps", "milliseconds"), [(60, 20), (50, 20), (40, 20), (25, 40)])
def test_a_gif_is_as_fast_as_its_format_can_say_and_never_so_fast_that_browsers_slow_it_down(
    recorded, tmp_path, fps, milliseconds
):
    """Its clock counts hundredths of a second, and browsers play one of them as ten."""
    write_gif(tmp_path / "a.gif", film_of(recorded, 0, until=1), fps)
    with Image.open(tmp_path / "a.gif") as gif:
        gif.seek(0)
        assert gif.info["duration"] == milliseconds


def test_a_video_plays_the_film(recorded, tmp_path):
    film, path = film_of(recorded, 0, until=6), tmp_path / "a.mp4"
    write_video(path, film, 20)
    decode = [find_ffmpeg(), "-loglevel", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(decode, capture_output=True, check=True).stdout
    frames = np.frombuffer(raw, np.uint8).reshape(-1, *reversed(film.size), 3)
    assert len(frames) == 7
    for t in (0, 6):
        assert abs(frames[t].astype(int) - film.frame(t)).mean() < 4
    assert list(tmp_path.iterdir()) == [path]


def test_a_video_that_cannot_be_written_is_one_line_and_leaves_nothing(recorded, tmp_path, monkeypatch):
    monkeypatch.setattr("ndigo.watching.movies.ENCODING", ["-preset", "nonsense"])
    with pytest.raises(WriteError, match=r"cannot write .*a\.mp4: ffmpeg says .*"):
        write_video(tmp_path / "a.mp4", film_of(recorded, 0, until=6), 20)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_chooses_the_start_each_first_sight_and_the_end(recorded):
    o = np.zeros_like(recorded.o)
    o[0, 40:, 2, 2, 1] = 1
    o[0, 17, 0, 0, 2] = 1
    assert chosen_steps(dataclasses.replace(recorded, o=o), 0) == [0, 17, 40, 400]
    assert chosen_steps(dataclasses.replace(recorded, o=np.zeros_like(o)), 0) == [0, 400]


def test_a_figure_holds_the_panels_of_its_steps_pixel_by_pixel(recorded, tmp_path):
    write_snapshots(tmp_path / "a.png", recorded, 0, [30, 0, 30, 100])
    with Image.open(tmp_path / "a.png") as image:
        pixels = np.asarray(image.convert("RGB"))
    side = 19 * CELL_PIXELS
    for i, t in enumerate((0, 30, 100)):
        left = round(DPI * (LEFT + i * (side / DPI + GAP)))
        world = world_panel(recorded, 0, t, CELL_PIXELS)
        column = pixels[:, left : left + side]
        rows = [y for y in range(len(pixels) - side) if (column[y : y + side] == world).all()]
        assert len(rows) == 1
        below = rows[0] + side + round(GAP * DPI)
        np.testing.assert_array_equal(column[below : below + side], belief_panel(recorded, 0, t, [0, 1], CELL_PIXELS))


@pytest.mark.parametrize("shape", [(19, 19), (5, 11), (3, 19), (19, 3)])
def test_no_words_of_a_figure_lie_on_others_or_leave_it(recorded, shape):
    things = [thing | {"name": f"the {thing['name']} thing of this world"} for thing in recorded.meta["objects"]]
    renamed = corner(dataclasses.replace(recorded, meta=recorded.meta | {"objects": things}), *shape)
    for steps in ([0], [0, 200], [0, 1, 3, 400]):
        figure = draw_snapshots(renamed, 0, steps)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
        boxes = {text.get_text(): text.get_window_extent() for text in texts}
        apart = [(a, b) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]
        assert apart == []
        assert min(box.x0 for box in boxes.values()) >= 0
        assert max(box.x1 for box in boxes.values()) <= figure.bbox.x1


def test_a_figure_as_pdf_is_one_page_whose_letters_are_letters(recorded, tmp_path):
    write_snapshots(tmp_path / "a.pdf", recorded, 0)
    data = (tmp_path / "a.pdf").read_bytes()
    assert data.startswith(b"%PDF")
    assert data.count(b"/Type /Page ") == 1
    assert b"/Subtype /CIDFontType2" in data or b"/Subtype /TrueType" in data


@pytest.mark.parametrize(
    ("name", "steps", "message"),
    [
        ("a.jpg", [], r"a\.jpg: a figure is \.png, \.pdf or \.svg"),
        ("a.png", [401], "--steps 401: the episode has steps 0 to 400"),
        ("a.png", [-1], "--steps -1: the episode has steps 0 to 400"),
        ("a.png", list(range(9)), "--steps: 9 are too many for one figure; at most 8"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_one_line(recorded, tmp_path, name, steps, message):
    with pytest.raises(NdigoError, match=message):
        write_snapshots(tmp_path / name, recorded, 0, steps)
    assert list(tmp_path.iterdir()) == []
