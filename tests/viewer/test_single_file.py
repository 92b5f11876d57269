"""The player as one file on disk, and as a part of a larger page: complete, self-contained, and honest about damage."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import os
import re

import numpy as np
import pytest

from ndigo.errors import NdigoError
from ndigo.viewer import page as single
from ndigo.viewer.page import STATIC, export_html, fragment, pack, script, shared_code

VIEW = (5, 5)


@pytest.fixture(scope="module")
def other(recorded):
    """A second agent on the same worlds, a little less sure of everything, whose reward has no split by channel."""
    return dataclasses.replace(
        recorded,
        meta=recorded.meta | {"label": "other <b>"},
        discovery_loss=recorded.discovery_loss + 1,
        reward_c=np.zeros_like(recorded.reward_c),
    )


@pytest.fixture(scope="module")
def path(recorded, other, tmp_path_factory):
    numbered = [dataclasses.replace(each, meta=each.meta | {"first_episode": 5}) for each in (recorded, other)]
    return export_html(numbered, tmp_path_factory.mktemp("page") / "new" / "page.html")


def test_it_plays_from_disk_and_shows_the_recorded_numbers(watch, path, recorded):
    page = watch(path.as_uri(), offline=True).ready()
    for t in (0, 33, 400):
        page.press("Home" if t == 0 else "End")
        if t == 33:
            page.press("Home")
            page.step_to(33)
        page.reach(t)
        for i, thing in enumerate(recorded.meta["objects"]):
            loss = recorded.discovery_loss[0, t, i]
            assert float(page.number(thing["name"], "loss")) == pytest.approx(loss, abs=0.006)
        if t:
            assert float(page.number("all", "sum")) == pytest.approx(recorded.reward[0, :t].sum(), abs=0.006)
    page.press("Home", "+", "+", "+", " ")
    page.wait_for("some steps", lambda: page.t > 3)


def test_what_the_agent_expects_is_drawn_for_any_number_of_steps_ahead(watch, path, recorded):
    page = watch(path.as_uri(), offline=True).ready()
    page.step_to(26)
    for k in (4, 2):
        expected = recorded.ahead[0, 26, k - 1] / 255
        picture = np.broadcast_to(page.colour("floor"), (*VIEW, 3)).astype(float)
        for c, (colour, power) in enumerate(
            [(page.colour("wall"), 1), *((thing["colour"], 0.4) for thing in recorded.meta["objects"])]
        ):
            weight = expected[:, :, c, None] ** power
            picture = picture + (np.array(colour) - picture) * weight
        # Beside the middle: there a dot marks a wall that came.
        np.testing.assert_allclose(page.cells("expected", VIEW, at=(0.3, 0.3)), picture, atol=5)
        dots = (page.cells("expected", VIEW) != page.cells("expected", VIEW, at=(0.3, 0.3))).any(axis=-1)
        np.testing.assert_array_equal(dots, recorded.o[0, 26 + k, :, :, 0] == 1)
        page.press("j", "j")
    page.page.get_by_label("Steps ahead").fill("10")
    assert page.text("figure.expected .readout") == "in 10 steps"


def test_agents_and_episodes_are_chosen_and_compared(watch, path, recorded):
    page = watch(path.as_uri(), offline=True).ready()
    assert page.page.locator("select[aria-label=Agent] option").all_inner_texts() == [
        recorded.meta["label"],
        "other <b>",
    ]
    number = page.page.get_by_label("Episode", exact=True)
    assert number.input_value() == "5"  # as in the command that recorded it
    page.press("n", "c")
    page.wait_for("two panes", lambda: page.page.locator(".pane").count() == 2)
    page.step_to(10)
    for pane, more in enumerate((0, 1)):
        loss = recorded.discovery_loss[1, 10, 0] + more
        assert float(page.number("fixed", "loss", pane=pane)) == pytest.approx(loss, abs=0.006)
    lanes = page.page.locator(".lane.reward").all_inner_texts()
    assert ["grey: walls" in lane for lane in lanes] == [True, False]
    page.press("n")  # there is none after the last
    assert number.input_value() == "6"
    number.fill("7")
    number.press("Enter")
    assert number.input_value() == "6"
    assert page.page.get_by_role("button", name="Take the wheel").count() == 0


def test_the_file_is_small_and_names_no_other_place(path, recorded):
    text = path.read_text()
    assert len(text) < 600_000
    assert re.findall(r"https?://[^\s\"')]*", text) == ["http://www.w3.org/2000/svg"]  # a name, not an address
    assert f"<title>ndigo: {recorded.meta['label']}; other &lt;b&gt;</title>" in text
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_a_page_over_the_limit_is_refused_and_nothing_is_written(recorded, tmp_path, monkeypatch):
    monkeypatch.setattr(single, "LIMIT", 100_000)
    with pytest.raises(NdigoError, match=r"2 episodes make a page of 0\.\d MB; the limit is 0\.1 MB: export fewer"):
        export_html([recorded], tmp_path / "page.html")
    assert os.listdir(tmp_path) == []


def repacked(content) -> str:
    return base64.b64encode(gzip.compress(json.dumps(content).encode())).decode()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda data: data[:2000] + "AAAA" + data[2004:], "damaged: it cannot be decompressed"),
        (lambda data: data[:3000], "damaged: it cannot be decompressed"),
        (lambda data: "not base64!", "damaged: it is not base64"),
        (lambda data: repacked({"some": "thing"}), "foreign: it is not of ndigo's player"),
        (lambda data: repacked({"format": "ndigo-player", "version": 9}), "version 9; this player reads version 1"),
        (lambda data: repacked({"format": "ndigo-player", "version": 1}), "damaged: it holds no episode"),
    ],
    ids=["flipped", "cut", "no base64", "foreign", "newer", "empty"],
)
def test_a_damaged_or_foreign_recording_gets_its_message_on_the_page(watch, path, tmp_path, spoil, says):
    text = path.read_text()
    (data,) = re.findall(r'<script type="application/gzip">([^<]*)<', text)
    spoiled = tmp_path / "spoiled.html"
    spoiled.write_text(text.replace(data, spoil(data)))
    page = watch(spoiled.as_uri(), offline=True)
    assert says in page.text(".notice")


def test_an_episode_whose_arrays_do_not_fit_is_named(watch, path, recorded, tmp_path):
    content = json.loads(gzip.decompress(pack([recorded])))
    content["recordings"][0][0]["agent"]["shape"] = [2, 401]
    (data,) = re.findall(r'<script type="application/gzip">([^<]*)<', path.read_text())
    spoiled = tmp_path / "spoiled.html"
    spoiled.write_text(path.read_text().replace(data, repacked(content)))
    page = watch(spoiled.as_uri(), offline=True)
    assert "damaged: its agent is uint8 2 x 401, not uint8 401 x 2" in page.text(".notice")


def test_players_on_one_page_share_the_code_and_not_their_keys(watch, recorded, tmp_path):
    report = tmp_path / "report.html"
    code, player = shared_code(), fragment([recorded])
    assert "<style" not in player
    report.write_text(f"<!doctype html><html><head>{code}</head><body>{player}<p>text</p>{player}</body></html>")
    page = watch(report.as_uri(), offline=True).ready()
    page.page.wait_for_selector(".ndigo >> nth=1 >> .numbers td")
    page.page.locator(".ndigo").nth(1).focus()
    page.press("PageDown")
    times = page.page.locator(".time")
    assert times.all_inner_texts() == ["step 0 of 400", "step 10 of 400"]
    page.page.get_by_label("Step", exact=True).nth(1).focus()
    page.press("n")  # and the focus stays where it is
    page.wait_for("the next episode", lambda: times.all_inner_texts() == ["step 0 of 400"] * 2)
    page.press("PageDown")
    page.wait_for("ten steps", lambda: times.all_inner_texts() == ["step 0 of 400", "step 10 of 400"])
    page.page.locator("figure.world canvas").nth(1).focus()
    page.press("b", "PageDown")
    page.wait_for("ten steps", lambda: times.all_inner_texts() == ["step 0 of 400", "step 20 of 400"])
    page.page.get_by_label("Steps ahead").nth(1).click()  # a pointer gives the keys back to its player
    page.press("PageDown")
    page.wait_for("ten steps", lambda: times.all_inner_texts() == ["step 0 of 400", "step 30 of 400"])


def test_modules_import_and_export_only_in_the_forms_that_can_be_made_one_script():
    for file in STATIC.glob("*.js"):
        source = file.read_text()
        imports = re.findall(r"^import\b.*?;$", source, re.MULTILINE | re.DOTALL)
        assert all(single.IMPORT.fullmatch(text) for text in imports), file.name
        assert len(re.findall(r"^export\b", source, re.MULTILINE)) == len(single.EXPORT.findall(source)), file.name
        assert len(source.splitlines()) < 300, file.name
        assert max(map(len, source.splitlines())) <= 120, file.name
    assert not re.search(r"^\s*(import|export)\b", script(), re.MULTILINE)
    assert "</script" not in script()
