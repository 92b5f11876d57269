"""The page as one shows it to others: at a projector's width, from the first second on, with its moments marked."""

from __future__ import annotations

import dataclasses
import itertools
import threading

import numpy as np
import pytest
from small_maps import corner

from ndigo.errors import NdigoError
from ndigo.viewer.page import export_html
from ndigo.viewer.stage import Company, Performer
from ndigo.watching.recording import episode_key
from ndigo.watching.session import Session
from viewer.conftest import serving
from viewer.test_live_page import MAP, heat, in_view, without
from viewer.watcher import PATIENCE

OF_OBJECTS = ("objects", "belief", "discovery_loss", "exact")

CUT = """() => [...document.querySelectorAll(".value, .time, .title, .caption, .views .readout")]
  .filter((e) => e.offsetParent && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 4))
  .map((e) => e.textContent)"""

# How many lines a head of the table has, in each pane.
LINES = """(head) => [...document.querySelectorAll(".numbers thead th")].filter((th) => th.textContent === head)
  .map((th) => {
    const range = document.createRange();
    range.selectNodeContents(th);
    return range.getClientRects().length;
  })"""

# How much is painted in the lowest five pixels of each timeline.
BELOW_STRIPS = """() => [...document.querySelectorAll(".timeline canvas")].map((canvas) => canvas.getContext("2d")
  .getImageData(0, canvas.height - 5, canvas.width, 5).data.filter((x, i) => i % 4 === 3 && x > 0).length)"""


@pytest.mark.parametrize(
    ("width", "height"),
    [pytest.param(1400, 900, marks=pytest.mark.slow), (1920, 1080), pytest.param(2560, 1440, marks=pytest.mark.slow)],
)
def test_two_agents_fill_a_wide_screen_and_no_number_is_cut(watch, live, width, height):
    page = watch(live, viewport={"width": width, "height": height}).ready()
    page.press("c")
    page.wait_for("two panes", lambda: page.page.locator(".pane").count() == 2)
    page.ready()
    page.step_to(110)
    maps = [box.bounding_box() for box in page.page.locator("figure.world canvas, figure.belief canvas").all()]
    assert len(maps) == 4
    assert min(box["width"] for box in maps) > 0.21 * width
    views = [box.bounding_box() for box in page.page.locator("figure.seen canvas").all()]
    assert max(view["width"] for view in views) < 0.6 * maps[0]["width"]
    assert min(view["width"] for view in views) > 0.36 * maps[0]["width"]
    assert page.page.evaluate(CUT) == []
    assert page.page.evaluate(LINES, "in view") == [1, 1]
    assert page.page.evaluate(BELOW_STRIPS) == [0, 0]
    assert page.page.evaluate("document.documentElement.scrollHeight") <= height  # all of it at once
    assert page.text(".time") == "step 110 of 400"


def test_two_agents_fit_a_laptops_screen_without_scrolling(watch, live):
    page = watch(live, viewport={"width": 1366, "height": 768}).ready()
    page.press("c")
    page.wait_for("two panes", lambda: page.page.locator(".pane").count() == 2)
    page.ready()
    for width, height in ((1366, 768), (1280, 800)):
        page.page.set_viewport_size({"width": width, "height": height})
        assert page.page.evaluate("document.documentElement.scrollHeight") <= height


def test_wide_maps_have_the_whole_width_and_all_else_below_them(watch, recorded, tmp_path):
    page_of = export_html([corner(recorded, 5, 11)], tmp_path / "page.html")
    page = watch(page_of.as_uri(), viewport={"width": 1400, "height": 900}, offline=True).ready()
    box = lambda part: page.page.locator(part).bounding_box()  # noqa: E731
    world, seen, numbers = box("figure.world"), box("figure.seen"), box(".numbers")
    assert page.page.locator(".maps figure").count() == 3
    assert world["width"] > 0.3 * 1400
    assert 0 < seen["y"] - (world["y"] + world["height"]) < 20
    assert numbers["y"] == pytest.approx(seen["y"], abs=2)
    assert page.page.evaluate("document.documentElement.scrollHeight") <= 900


def test_the_words_beside_the_lanes_of_many_objects_do_not_touch(watch, recorded, tmp_path):
    """Each object adds a strip; on a low screen the timeline has the least height that it may have."""
    meta = recorded.meta
    pay = np.where(np.arange(401) % 2, 0.149, -0.149).astype(np.float32)  # long words
    many = dataclasses.replace(
        recorded,
        meta=meta | {"objects": [meta["objects"][0] | {"name": f"fixed{i}"} for i in range(5)]},
        reward_c=recorded.reward_c * 0 + pay[:, None] / 3,
        reward=recorded.reward * 0 + pay,
        **{name: np.repeat(getattr(recorded, name)[:, :, :1], 5, axis=2) for name in OF_OBJECTS},
    )
    page_of = export_html([many], tmp_path / "page.html")
    page = watch(page_of.as_uri(), viewport={"width": 800, "height": 600}, offline=True).ready()
    boxes = [lane.bounding_box() for lane in page.page.locator(".lane").all()]
    assert [a["y"] + a["height"] <= b["y"] + 1 for a, b in itertools.pairwise(boxes)] == [True, True]
    page.page.set_viewport_size({"width": 390, "height": 800})
    ends = [box["x"] + box["width"] for box in (lane.bounding_box() for lane in page.page.locator(".lane").all())]
    assert max(ends) < page.page.locator(".timeline canvas").bounding_box()["x"]


PREPARING = "preparing the agent: compiling takes some ten seconds the first time ..."


def test_it_says_what_it_waits_for_and_then_plays_at_once(watch, shipped):
    is_loaded = threading.Event()

    def agent(seed, world):
        is_loaded.wait(PATIENCE)
        return shipped

    with serving(Company((Performer("late", ("seed 0",), ("exp1",), agent),), {"exp1": "exp1"})) as url:
        page = watch(url, reduced_motion="no-preference")
        page.wait_for("a word", lambda: page.text(".loading") == PREPARING)
        box, width = page.page.locator(".loading").bounding_box(), 1280
        assert abs(box["x"] + box["width"] / 2 - width / 2) < 2  # in the middle
        is_loaded.set()
        page.ready()
        page.wait_for("some steps", lambda: page.t >= 3)
        assert not page.page.locator(".loading").is_visible()
        assert page.page.get_attribute(".transport [data-playing]", "aria-label") == "Pause"


def test_it_waits_for_the_last_choice_while_an_earlier_one_is_refused(watch, shipped):
    """The server answers one after the other."""
    asked, is_loaded = [], [threading.Event() for _ in range(3)]
    is_loaded[0].set()

    def agent(seed, world):
        asked.append(seed)
        is_loaded[seed].wait(PATIENCE)
        if seed == 1:
            raise NdigoError("seed 1 is damaged")
        return shipped

    performer = Performer("agent", ("seed 0", "seed 1", "seed 2"), ("exp1",), agent)
    with serving(Company((performer,), {"exp1": "exp1"})) as url:
        page = watch(url).ready()
        seeds = page.page.get_by_label("Seed of the agent")
        for seed in ("1", "2"):
            seeds.select_option(seed)
        page.wait_for("the first question", lambda: 1 in asked)
        is_loaded[1].set()
        page.wait_for("the last question", lambda: 2 in asked)
        page.page.wait_for_timeout(200)
        assert page.text(".loading") == PREPARING
        is_loaded[2].set()
        page.ready()
        assert not page.page.locator(".loading").is_visible()
        assert not page.page.locator(".notice").is_visible()


def test_two_agents_of_different_worlds_are_shown_one_at_a_time_and_it_says_so(watch, shipped):
    performers = [Performer(name, ("seed 0",), (name,), lambda seed, world: shipped) for name in ("exp1", "exp5")]
    with serving(Company(tuple(performers), {"exp1": "exp1", "exp5": "exp5"}, compare=True)) as url:
        page = watch(url).ready()
        page.wait_for("a word", lambda: page.text(".notice span") == "no other agent that was named fits exp1")
        assert page.page.locator(".pane").count() == 1


def test_an_error_moves_nothing_on_the_page(watch, live):
    page = watch(live).ready()
    page.press("d", *["ArrowUp"] * 20)
    before = page.page.locator(".timeline").bounding_box()
    page.press("Enter")
    page.wait_for("a refusal", lambda: page.page.locator(".notice").is_visible())
    assert page.page.locator(".timeline").bounding_box() == before
    assert "Click a cell" in page.text(".hint")


@pytest.mark.parametrize("width", [800, 1400, 1920])
def test_a_hint_moves_and_covers_nothing(watch, live, width):
    page = watch(live, viewport={"width": width, "height": 900}).ready()
    before = page.page.locator(".transport").bounding_box()
    for keys in (["d"], ["ArrowLeft", "Enter"], ["w"]):
        page.press(*keys)
        page.wait_for("a hint", lambda: page.text(".hint"))
        assert page.page.locator(".transport").bounding_box() == before
        tall, shown = page.page.eval_on_selector(".hint", "hint => [hint.scrollHeight, hint.clientHeight]")
        assert tall <= shown + 1  # and is not cut


@pytest.mark.parametrize("width", [400, 800, 1400])
def test_a_caption_that_comes_and_goes_moves_nothing_and_is_never_cut(watch, live, recorded, width):
    page = watch(live, viewport={"width": width, "height": 1000}).ready()
    places, captions = [], []
    for t in (0, in_view(recorded)[0]):
        page.step_to(t)
        places.append(page.page.locator("figure.world canvas, .timeline").first.bounding_box())
        captions.append(page.text(".caption"))
        assert page.page.evaluate(CUT) == []
    assert captions[0].startswith("ndigo-4: paid for")
    assert captions[1].startswith("step ")
    assert places[0] == places[1]


def test_the_first_sight_of_an_object_is_a_moment_to_jump_to_with_what_it_paid(watch, live, recorded):
    page = watch(live).ready()
    t = in_view(recorded)[0]
    page.step_to(t + 15)
    nats = recorded.reward_c[0, t - 1 : t + 9, 1].sum()
    label = f"step {t}: found “fixed”, +{nats:.1f} nats in 10 steps"
    assert page.text(".caption") == label
    page.press("Home", ".")
    page.reach(t)
    page.press("End")
    page.page.get_by_label(label).click()
    page.reach(t)


def test_the_exact_belief_stands_beside_the_learned_one_and_knows_no_hands(watch, live, shipped, recorded):
    page = watch(live, viewport={"width": 1400, "height": 900}).ready()
    t = in_view(recorded)[0] + 8
    page.step_to(t)
    exact = heat(page, recorded.walls, recorded.exact[0, t], recorded.meta["objects"])
    elsewhere = without(MAP, recorded.agent[0, t])
    np.testing.assert_allclose(page.cells("exact", MAP)[elsewhere], exact[elsewhere], atol=4)
    page.press("b")
    assert page.page.locator("figure.exact").count() == 0
    moved = Session(shipped, episode_key(0, 0))
    for _ in range(t):
        moved.step()
    moved.drop(0, 3, 9)
    for _ in range(40):
        moved.step()
        if np.isnan(moved.frame()["exact"][0]).any():
            break
    assert np.isnan(moved.frame()["exact"][0]).any()  # what it saw of the object could not happen
    assert np.isfinite(moved.frame()["exact"][1]).all()


def test_a_slider_shows_the_same_episode_at_an_earlier_checkpoint(watch, shipped, idler, recorded):
    def agent(seed, world, step=None):
        return shipped if step is None else idler

    company = Company((Performer("learner", ("seed 0",), ("exp1",), agent, steps=(500, 16_000)),), {"exp1": "exp1"})
    with serving(company) as url:
        page = watch(url).ready()
        assert "16,000 learner steps" in page.text(".checkpoints")
        page.step_to(10)
        np.testing.assert_array_equal(page.cells("world", MAP)[tuple(recorded.agent[0, 10])], page.colour("agent"))
        page.page.get_by_label("Checkpoint").click(position={"x": 2, "y": 8})  # and the keys are the page's again
        page.wait_for("another agent", lambda: page.t == 0 and "500 learner" in page.text(".checkpoints"))
        page.ready()
        page.step_to(10)
        np.testing.assert_array_equal(page.cells("world", MAP)[9, 9], page.colour("agent"))


def test_seed_and_checkpoint_are_those_of_the_agent_that_is_shown(watch, shipped):
    """Earlier checkpoints are kept of the first seed alone."""
    shown = []

    def agent(seed, world, step=None):
        shown.append((seed, step))
        return shipped

    seeds = ("seed 0", "seed 1", "seed 2")
    company = Company((Performer("learner", seeds, ("exp1",), agent, steps=(500, 16_000)),), {"exp1": "exp1"})
    with serving(company) as url:
        page = watch(url).ready()
        seed, checkpoint = page.page.get_by_label("Seed of the agent"), page.page.get_by_label("Checkpoint")
        seed.select_option("1")
        page.wait_for("seed 1", lambda: shown[-1] == (1, None))
        checkpoint.fill("0")
        page.wait_for("an earlier checkpoint", lambda: shown[-1] == (0, 500))
        assert (seed.input_value(), checkpoint.input_value()) == ("0", "0")
        seed.select_option("2")
        page.wait_for("seed 2", lambda: shown[-1] == (2, None))
        assert (seed.input_value(), checkpoint.input_value()) == ("2", "1")
