"""Worlds without a map in a real browser: their frames as pictures, to the end that each episode has."""

from __future__ import annotations

import dataclasses
import re

import jax.numpy as jnp
import numpy as np
import pytest
from stream_worlds import counting
from untrained import untrained

from ndigo.notebook.player import HEIGHT
from ndigo.viewer.page import export_html
from ndigo.viewer.stage import Company, Performer
from ndigo.watching.recording import episode_key, record
from viewer.conftest import serving

SHAPE = (1, 20)


@pytest.fixture(scope="module")
def agent():
    return untrained(counting())


@pytest.fixture(scope="module")
def episodes(agent):
    return record(agent, [episode_key(0, i) for i in range(3)])


def test_a_page_shows_what_was_seen_expected_and_paid_and_ends_with_the_episode(watch, episodes, tmp_path):
    page = watch(export_html([episodes], tmp_path / "page.html").as_uri(), offline=True).ready()
    assert page.page.locator("figure.world").count() == 0
    assert page.page.get_by_label("Steps per second").input_value() == "1"  # or it would be over at once
    page.page.set_viewport_size({"width": 900, "height": HEIGHT})
    assert page.page.evaluate("document.documentElement.scrollHeight") == HEIGHT  # in a notebook's cell all is in sight
    for episode, length in enumerate(episodes.lengths.tolist()):
        page.press("End")
        page.reach(length)
        assert page.text(".time") == f"step {length} of {length}"
        assert page.text("figure.seen .readout") == "the end"
        np.testing.assert_array_equal(page.cells("seen", SHAPE), episodes.seen[episode, length])
        page.press("Home", "ArrowRight")
        page.reach(1)
        np.testing.assert_array_equal(page.cells("seen", SHAPE), episodes.seen[episode, 1])
        assert float(page.number("all", "loss")) == pytest.approx(episodes.loss_c[episode, 1].sum(), abs=0.006)
        assert float(page.number("task", "reward")) == pytest.approx(episodes.task[episode, 0], abs=0.002)
        page.press("j", "j", "ArrowLeft")
        page.reach(0)
        np.testing.assert_array_equal(page.cells("expected", SHAPE), episodes.expected[episode, 0, 0])
        page.press("n")
        page.ready()


@pytest.mark.parametrize(("reward", "unit"), [("pe", " nats"), ("task", None)])
def test_a_reward_is_in_nats_where_it_has_a_split_by_channel(watch, reward, unit, tmp_path):
    task_reward = lambda state: jnp.float32(1.5)  # noqa: E731
    world = dataclasses.replace(counting(), task_reward=task_reward, events=(), happens=None)
    recording = record(untrained(world, reward), [episode_key(0, 2)])  # as long as any
    page = watch(export_html([recording], tmp_path / "page.html").as_uri(), offline=True).ready()
    lane = re.search(r"^0 to [\d.]+( nats)?$", page.page.locator(".lane.reward").inner_text(), re.MULTILINE)
    assert lane is not None
    assert lane[1] == unit
    labels = [mark.get_attribute("aria-label") or "" for mark in page.page.locator(".moment").all()]
    (largest,) = [label for label in labels if "largest reward" in label]
    assert (" nats" in largest) == (unit is not None)


@pytest.mark.parametrize(("pay", "words"), [(-1.0, "\N{MINUS SIGN}1 to 0"), (0.0, "no step was paid"), (2.0, "0 to 2")])
def test_the_axis_of_the_reward_ends_at_what_was_paid(watch, episodes, pay, words, tmp_path):
    paid = dataclasses.replace(
        episodes, reward=np.full_like(episodes.reward, pay), reward_c=np.zeros_like(episodes.reward_c)
    )
    page = watch(export_html([paid], tmp_path / "page.html").as_uri(), offline=True).ready()
    page.press("End")
    page.wait_for("the axis", lambda: words in page.page.locator(".lane.reward").inner_text().split("\n"))


def test_what_lies_behind_the_end_of_an_episode_is_no_moment_and_on_no_axis(watch, episodes, tmp_path):
    reward = np.full_like(episodes.reward, 2.0)
    for episode, length in enumerate(episodes.lengths):
        reward[episode, length:] = 50.0
    longer = dataclasses.replace(episodes, reward=reward, reward_c=np.zeros_like(episodes.reward_c))
    page = watch(export_html([longer], tmp_path / "page.html").as_uri(), offline=True).ready()
    page.press("End")
    page.wait_for("the axis", lambda: "0 to 2" in page.page.locator(".lane.reward").inner_text().split("\n"))
    labels = [mark.get_attribute("aria-label") for mark in page.page.locator(".moment").all()]
    assert not any("50" in label for label in labels)


def test_a_live_world_is_watched_and_its_actions_are_taken_by_number(watch, agent, episodes):
    company = Company((Performer("counter", ("seed 0",), ("counting",), lambda seed, world: agent),), {"counting": "x"})
    episode = int(episodes.lengths.argmax())
    with serving(company) as url:
        page = watch(url).ready()
        for _ in range(episode):
            page.press("n")
            page.page.wait_for_timeout(50)
            page.ready()
        page.step_to(1)
        np.testing.assert_array_equal(page.cells("seen", SHAPE), episodes.seen[episode, 1])
        assert page.page.locator(".modes button").all_inner_texts() == ["Watch", "Take the wheel"]
        page.press("d")
        page.wait_for("a refusal", lambda: "no map to move objects on" in page.text(".notice"))
        page.press("w", "3")  # action c, whose bits are 0 and 1
        page.reach(2)
        lit = page.cells("seen", SHAPE)[0].max(axis=-1) > 60
        assert lit[-2:].tolist() == [False, True]
        page.press("Escape")
        length = int(episodes.lengths[episode])
        page.step_to(length)  # its length is drawn when it begins: no action changes it
        assert page.text(".time") == f"step {length} of {length}"
        page.press("c")
        page.wait_for("a word", lambda: "none to compare it with" in page.text(".notice"))
