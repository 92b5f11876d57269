"""The live page in a real browser: what it shows is held against a recording of the same episode, in NumPy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ndigo.viewer.stage import Company, Performer
from ndigo.watching.recording import episode_key
from ndigo.watching.session import Session
from viewer.conftest import serving
from viewer.watcher import FRAMES

MAP = (19, 19)
VIEW = (5, 5)


@pytest.fixture
def page(watch, live):
    return watch(live).ready()


def mixed(base: np.ndarray, colour, weight) -> np.ndarray:
    return base + (np.array(colour) - base) * np.asarray(weight)[..., None]


def heat(page, walls: np.ndarray, belief: np.ndarray, objects: list) -> np.ndarray:
    """The belief's picture: each object's colour laid over the map, with weight p^0.4."""
    picture = np.where(walls[..., None], page.colour("wall"), page.colour("floor")).astype(float)
    for p, thing in zip(belief.astype(float), objects, strict=True):
        picture = mixed(picture, thing["colour"], p**0.4)
    return picture


def in_view(recorded) -> list[int]:
    """The steps at which the fixed object is."""
    return np.flatnonzero(recorded.o[0, ..., 1].any(axis=(1, 2))).tolist()


def without(shape, *cells) -> np.ndarray:
    """All cells but these."""
    mask = np.ones(shape, bool)
    for row, col in cells:
        mask[row, col] = False
    return mask


def test_numbers_are_the_recordings_at_any_step(page, recorded):
    for t in (0, 1, 12, 33):
        page.step_to(t)
        for i, thing in enumerate(recorded.meta["objects"]):
            name, loss = thing["name"], recorded.discovery_loss[0, t, i]
            assert float(page.number(name, "loss")) == pytest.approx(loss, abs=0.006)
            assert (page.number(name, "view") == "yes") == recorded.o[0, t, :, :, i + 1].any()
        if t == 0:
            assert page.number("all", "reward") == "\u2013"
            continue
        rewards = {"walls": 0, "fixed": 1, "noise": 2}
        for name, c in rewards.items():
            assert float(page.number(name, "reward")) == pytest.approx(recorded.reward_c[0, t - 1, c], abs=0.002)
            assert float(page.number(name, "sum")) == pytest.approx(recorded.reward_c[0, :t, c].sum(), abs=0.01)
        assert float(page.number("all", "reward")) == pytest.approx(recorded.reward[0, t - 1], abs=0.002)
    assert page.text(".time") == "step 33 of 400"


def test_maps_and_view_show_the_truth_and_the_belief(page, recorded):
    t = in_view(recorded)[0]
    page.step_to(t)
    agent, objects = recorded.agent[0, t].astype(int), recorded.objects[0, t].astype(int)
    belief = heat(page, recorded.walls, recorded.belief[0, t], recorded.meta["objects"])
    elsewhere = without(MAP, agent)
    np.testing.assert_allclose(page.cells("belief", MAP)[elsewhere], belief[elsewhere], atol=4)

    world, corners = page.cells("world", MAP), page.cells("world", MAP, at=(0.2, 0.2))
    np.testing.assert_array_equal(world[tuple(agent)], page.colour("agent"))
    for cell, thing in zip(objects, recorded.meta["objects"], strict=True):
        np.testing.assert_array_equal(corners[tuple(cell)], thing["colour"])
    far = np.abs(np.indices(MAP) - agent[:, None, None]).max(axis=0) > 2  # what the agent sees is lit
    assert (world[far & recorded.walls] == page.colour("wall")).all()
    assert (corners[far & ~recorded.walls & without(MAP, *objects)] == page.colour("floor")).all()

    seen, o = page.cells("seen", VIEW, at=(0.2, 0.2)), recorded.o[0, t]
    assert (seen[o[:, :, 0] == 1] == page.colour("wall")).all()
    assert (seen[o.sum(axis=-1) == 0] == page.colour("floor")).all()
    (fixed,) = np.argwhere(o[:, :, 1])
    np.testing.assert_array_equal(seen[tuple(fixed)], recorded.meta["objects"][0]["colour"])


def test_what_the_belief_says_of_the_cell_under_a_resting_pointer_is_that_of_the_step(page, recorded):
    t = in_view(recorded)[0]
    row, col = recorded.objects[0, t, 0]
    page.step_to(t - 1)
    box = page.page.locator("figure.belief canvas").bounding_box()
    page.page.mouse.move(box["x"] + (col + 0.5) * box["width"] / 19, box["y"] + (row + 0.5) * box["height"] / 19)
    for step in (t - 1, t, t + 1):
        page.step_to(step)
        place, chance = page.text("figure.world .readout").split(": F ")
        assert place == f"row {row}, column {col}"
        assert float(chance.split("%")[0]) == pytest.approx(100 * recorded.belief[0, step, 0, row, col], abs=0.6)


def test_play_pause_and_speed(page):
    page.press("+", "+", "+", " ")
    page.wait_for("ten steps", lambda: page.t > 10)
    page.press(" ")
    stopped = page.t
    page.page.wait_for_timeout(200)
    assert page.t == stopped
    assert page.page.get_attribute(".transport [data-playing]", "aria-label") == "Play"


def test_the_timeline_is_clicked_and_scrubbed_and_shows_what_was_paid(page, recorded):
    page.step_to(60)
    timeline = page.page.locator(".timeline canvas")
    box = timeline.bounding_box()
    page.page.mouse.click(box["x"] + box["width"] * 30.2 / 400, box["y"] + 40)
    page.reach(30)
    page.page.mouse.move(box["x"] + box["width"] * 30 / 400, box["y"] + 40)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 12.3 / 400, box["y"] + 40)
    page.page.mouse.up()
    page.reach(12)
    page.press("Home")
    page.reach(0)
    page.press("End")
    page.reach(60)
    columns = """canvas => [...Array(60).keys()].map((t) => {
      const x = Math.floor(((t + 0.5) * canvas.width) / 400);
      const { data } = canvas.getContext("2d").getImageData(x, 14, 1, Math.floor(canvas.height * 0.3));
      return data.filter((_, i) => i % 4 === 3).filter((alpha) => alpha > 100).length;
    })"""
    heights = np.array(timeline.evaluate(columns))
    paid = np.abs(recorded.reward_c[0, :60]).sum(axis=1)
    assert heights.argmax() == paid.argmax()
    assert np.corrcoef(heights, np.sqrt(paid))[0, 1] > 0.9


def test_layers_and_rings_can_be_hidden(page, recorded):
    page.step_to(33)
    (fixed, noise), agent = recorded.meta["objects"], recorded.agent[0, 33]
    cell = tuple(recorded.objects[0, 33, 0].astype(int))
    np.testing.assert_array_equal(page.cells("belief", MAP, at=(0.06, 0.5))[cell], fixed["colour"])  # its ring
    page.press("1")
    only_noise = heat(page, recorded.walls, recorded.belief[0, 33, 1:], [noise])
    elsewhere = without(MAP, agent)
    np.testing.assert_allclose(page.cells("belief", MAP)[elsewhere], only_noise[elsewhere], atol=4)
    page.page.get_by_role("button", name="fixed layer").click()
    page.press("t")
    belief = heat(page, recorded.walls, recorded.belief[0, 33], [fixed, noise])
    np.testing.assert_allclose(page.cells("belief", MAP, at=(0.12, 0.5))[cell], belief[cell], atol=4)


def test_a_person_takes_the_wheel_and_the_belief_follows(page, shipped):
    page.step_to(5)
    walked = Session(shipped, episode_key(0, 0))
    for _ in range(5):
        walked.step()
    page.press("w")
    for key, action in (
        ("ArrowUp", 1),
        ("ArrowUp", 1),
        (" ", 0),
        ("ArrowRight", 3),
        ("ArrowDown", 2),
        ("ArrowLeft", 4),
    ):
        page.press(key)
        walked.step(action)
        page.reach(walked.t)
    frame = walked.frame()
    np.testing.assert_array_equal(page.cells("world", MAP)[tuple(frame["agent"])], page.colour("agent"))
    assert float(page.number("fixed", "loss")) == pytest.approx(frame["discovery_loss"][0], abs=0.006)
    page.press("Escape", "ArrowLeft")
    page.reach(10)


def test_walking_from_an_earlier_step_forgets_what_came_after(page, shipped):
    page.step_to(20)
    page.step_to(8)
    page.press("w", "ArrowDown")
    page.reach(9)
    page.press("Escape", "End")
    page.reach(9)
    walked = Session(shipped, episode_key(0, 0))
    for action in (*[None] * 8, 2):
        walked.step(action)
    assert float(page.number("fixed", "loss")) == pytest.approx(walked.frame()["discovery_loss"][0], abs=0.006)


def test_an_object_is_moved_by_click_and_by_keys_and_the_belief_breaks(page, recorded):
    page.step_to(int(recorded.discovery_loss[0, :60, 0].argmin()))
    knows = float(page.number("fixed", "loss"))
    assert knows < 0.5
    page.press("b", "d")  # without the exact belief: larger maps, whose colours are read off between marks
    box = page.page.locator("figure.world canvas").bounding_box()
    size = box["width"] / 19
    page.page.mouse.click(box["x"] + 9.5 * size, box["y"] + 3.5 * size)
    page.wait_for("the move", lambda: "row 3, column 9" in page.text(".hint"))
    orange = recorded.meta["objects"][0]["colour"]
    np.testing.assert_array_equal(page.cells("world", MAP, at=(0.2, 0.2))[3, 9], orange)
    assert float(page.number("fixed", "loss")) > knows + 1
    page.press("1", "ArrowLeft", "ArrowLeft", "ArrowUp", "Enter")
    page.wait_for("the move", lambda: "row 2, column 7" in page.text(".hint"))
    np.testing.assert_array_equal(page.cells("world", MAP, at=(0.2, 0.2))[2, 7], orange)
    page.press(*["ArrowDown"] * 7, "Enter")
    page.wait_for("a refusal", lambda: page.page.locator(".notice").is_visible())
    assert "'fixed' cannot stand at row 9, column 7" in page.text(".notice")


def test_a_frame_is_marked_as_walked_until_its_step_is_to_be_taken_again(page):
    top = """canvas => {
      const { data } = canvas.getContext("2d").getImageData(Math.floor((2.7 * canvas.width) / 400), 0, 1, 1);
      return data[3] > 100;  // whether anything is drawn there, above the third frame
    }"""
    timeline = page.page.locator(".timeline canvas")
    page.step_to(2)
    page.press("w", "ArrowUp")
    page.reach(3)
    page.press("Escape")
    page.wait_for("the mark of a walk", lambda: timeline.evaluate(top))
    page.press("ArrowLeft")
    page.reach(2)
    page.press("d")
    box = page.page.locator("figure.world canvas").bounding_box()
    size = box["width"] / 19
    page.page.mouse.click(box["x"] + 9.5 * size, box["y"] + 3.5 * size)
    page.wait_for("the move", lambda: "row 3, column 9" in page.text(".hint"))
    page.page.evaluate(FRAMES)
    assert not timeline.evaluate(top)
    assert page.page.get_by_label("step 2: you moved an object").count() == 1


def test_with_the_wheel_an_objects_name_hides_it_and_a_number_acts_where_no_arrow_walks(watch, shipped, recorded):
    world = dataclasses.replace(shipped.world, actions=tuple(f"do {i}" for i in range(5)))
    agent = dataclasses.replace(shipped, world=world)
    company = Company((Performer("doer", ("seed 0",), ("exp1",), lambda seed, world: agent),), {"exp1": "exp1"})
    with serving(company) as url:
        page = watch(url).ready()
        page.press("w")
        page.wait_for("the wheel", lambda: page.text(".hint").startswith("Keys 1 to 9 act"))
        layer = page.page.get_by_role("button", name="fixed layer")
        layer.click()
        page.wait_for("a hidden layer", lambda: layer.get_attribute("aria-pressed") == "false")
        page.press("1")
        page.reach(1)
        assert layer.get_attribute("aria-pressed") == "false"


def test_with_the_wheel_a_number_hides_an_object_where_arrows_walk(page):
    page.press("w", "1")
    layer = page.page.get_by_role("button", name="fixed layer")
    page.wait_for("a hidden layer", lambda: layer.get_attribute("aria-pressed") == "false")
    assert page.t == 0


def test_an_object_put_where_it_is_moves_nothing_and_nothing_is_forgotten(page):
    page.step_to(6)
    page.step_to(3)
    page.press("d", "Enter")
    page.wait_for("a word", lambda: page.text(".hint").startswith("fixed is there"))
    page.press("Escape", "End")
    page.reach(6)
    assert page.page.get_by_label("you moved an object").count() == 0


def test_letters_are_keys_in_either_case(page):
    episode = page.page.get_by_label("Episode", exact=True)
    for key, mode in (("D", "drop"), ("W", "wheel"), ("Shift+D", "drop"), ("d", "drop")):
        page.press(key)
        assert page.page.get_attribute(".ndigo", "data-mode") == mode
        page.press("Escape")
    for key, number in (("N", "1"), ("Shift+N", "0")):  # Caps Lock is not shift
        page.press(key)
        page.wait_for(f"episode {number}", lambda number=number: episode.input_value() == number)


def test_two_agents_are_compared_on_the_same_world(watch, live, recorded):
    page = watch(live, viewport={"width": 1440, "height": 900}).ready()
    page.press("c")
    page.wait_for("two panes", lambda: page.page.locator(".pane").count() == 2)
    page.ready()
    page.step_to(30)
    for pane in (0, 1):
        corners = page.cells("world", MAP, at=(0.2, 0.2), pane=pane)
        for cell, thing in zip(recorded.objects[0, 30].astype(int), recorded.meta["objects"], strict=True):
            np.testing.assert_array_equal(corners[tuple(cell)], thing["colour"])
    white = page.colour("agent")
    np.testing.assert_array_equal(page.cells("world", MAP, pane=0)[tuple(recorded.agent[0, 30])], white)
    np.testing.assert_array_equal(page.cells("world", MAP, pane=1)[9, 9], white)  # the idler has not left the start
    assert page.number("fixed", "loss", pane=0) != page.number("fixed", "loss", pane=1)
    page.page.get_by_label("Seed of the agent").last.select_option("1")
    page.ready()
    page.press("c")
    page.wait_for("one pane", lambda: page.page.locator(".pane").count() == 1)


def test_another_episode_is_another_world(page, recorded):
    page.press("n")
    page.wait_for("episode 1", lambda: page.page.get_by_label("Episode", exact=True).input_value() == "1")
    page.ready()
    page.wait_for("its numbers", lambda: page.number("fixed", "loss") == f"{recorded.discovery_loss[1, 0, 0]:.2f}")
    corners = page.cells("world", MAP, at=(0.2, 0.2))
    np.testing.assert_array_equal(corners[tuple(recorded.objects[1, 0, 0])], recorded.meta["objects"][0]["colour"])


def test_a_damaged_agent_gets_its_message_on_the_page(page):
    page.page.get_by_label("Agent", exact=True).select_option(label="broken")
    page.wait_for("a message", lambda: page.page.locator(".notice").is_visible())
    assert "broken.safetensors is damaged" in page.text(".notice")
    page.page.get_by_label("Agent", exact=True).select_option(label="walker")
    page.wait_for("the walker", lambda: not page.page.locator(".notice").is_visible())


def test_a_lost_connection_comes_back_to_the_same_frame(watch, company, shipped):
    with serving(company) as url:
        page = watch(url).ready()
        page.step_to(5)
        page.step_to(3)  # what came after it is forgotten, here and in what is told to the next server
        page.press("w", "ArrowUp")
        page.reach(4)
        page.press("d", "ArrowLeft", "Enter")
        page.wait_for("the move", lambda: " is at row" in page.text(".hint"))
        moved = page.text(".hint").split()
        assert page.text(".hint").endswith("if in view, it is seen next step. P plays on.")
    page.wait_for("the loss of the connection", lambda: "connection lost" in page.text(".state"))
    with serving(company, port=int(url.split(":")[2].strip("/"))):
        page.wait_for("a new connection", lambda: page.text(".state") == "")
        page.press("Escape", "ArrowRight")
        page.reach(5)
    same = Session(shipped, episode_key(0, 0))
    for action in (None, None, None, 1):
        same.step(action)
    same.drop(0, int(moved[4].strip(",")), int(moved[6]))
    same.step()
    assert float(page.number("fixed", "loss")) == pytest.approx(same.frame()["discovery_loss"][0], abs=0.006)
    others = dataclasses.replace(company, performers=company.performers[1:])
    with serving(others, port=int(url.split(":")[2].strip("/"))):  # begins anew, or it would go on with their frames
        page.page.evaluate("dispatchEvent(new Event('online'))")
        agents = page.page.get_by_label("Agent", exact=True).locator("option")
        page.wait_for("the others", lambda: page.t == 0 and agents.all_inner_texts() == ["idler", "broken"])
        page.ready().step_to(3)
        np.testing.assert_array_equal(page.cells("world", MAP)[9, 9], page.colour("agent"))


def test_everything_is_reached_and_seen_to_be_reached_with_the_tab_key(page):
    reached = {}
    describe = """() => {
      const element = document.activeElement, style = getComputedStyle(element);
      const name = element.getAttribute("aria-label") || element.textContent || element.closest("label")?.textContent;
      return [name || element.tagName, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
    }"""
    for _ in range(40):
        page.press("Tab")
        name, is_marked = page.page.evaluate(describe)
        if name in reached or page.page.evaluate("document.activeElement === document.body"):
            break
        reached[name] = is_marked
    assert all(reached.values())
    for name in ("Play", "One step on", "Steps per second", "Take the wheel", "Move an object", "Step", "Steps ahead"):
        assert name in reached
    for name in ("Help", "Dark or light", "Agent", "fixed layer", "Next episode", "Compare"):
        assert name in reached
    assert any(name.startswith("World at step") for name in reached)


def test_help_opens_and_closes_with_keys_and_lists_them(page):
    page.press("?")
    assert "take the wheel" in page.text("dialog")
    assert page.page.get_by_role("button", name="Close").is_visible()
    page.press("Escape")
    assert not page.page.locator("dialog").is_visible()
    at_once = "close => close.dispatchEvent(new KeyboardEvent('keydown', { key: 'w', bubbles: true }))"
    page.page.eval_on_selector("dialog button", at_once)  # while the focus is still where the dialog was
    assert page.page.get_attribute(".ndigo", "data-mode") == "wheel"


def test_the_page_follows_the_system_into_dark_and_light_until_told_otherwise(watch, live):
    page = watch(live, color_scheme="dark").ready()
    a_cell_of_floor = lambda: page.cells("world", MAP)[9, 8].sum() / 3  # noqa: E731
    assert a_cell_of_floor() < 50
    page.page.emulate_media(color_scheme="light")
    assert a_cell_of_floor() > 200
    page.press("l")
    assert a_cell_of_floor() < 50
    page.page.reload()
    page.ready()
    assert a_cell_of_floor() < 50


def test_nothing_is_wider_than_a_narrow_screen(watch, live):
    page = watch(live, viewport={"width": 360, "height": 740}).ready()
    page.press("c")
    page.wait_for("two panes", lambda: page.page.locator(".pane").count() == 2)
    page.ready()
    for mode in ("w", "d"):
        page.press(mode)
        assert page.page.evaluate("document.documentElement.scrollWidth") == 360
    box = page.page.locator("figure.belief canvas").first.bounding_box()
    assert box["width"] > 320
    page.page.get_by_role("button", name="Take the wheel").click()
    page.page.get_by_role("button", name="walk up").click()
    page.reach(1)
    page.page.set_viewport_size({"width": 560, "height": 740})  # the upper bar takes three lines, and ends at the right
    box = page.page.get_by_role("button", name="Help").bounding_box()
    assert box["x"] + box["width"] == pytest.approx(560 - 16, abs=1)
