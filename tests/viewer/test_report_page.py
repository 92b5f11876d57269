"""A report as one page, in a real browser: it opens from disk, shows the rows' numbers and plays an episode."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from made_up_rows import make_up

from ndigo.cli import main
from ndigo.paper.experiments import Row

SHIPPED = Path(__file__).parents[2] / "results" / "agents" / "exp1-ndigo-4.safetensors"
NUMBERS = {("visits", "fixed"): 123.4, ("first_visit", "fixed"): 56.7, ("discovery_loss", "fixed"): 0.25}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A page of two rows, one of them with an agent."""
    root = tmp_path_factory.mktemp("report")
    for reward, factor in (("ndigo-4", 1), ("icm", 12)):
        choose = {key: x * factor if key[0] == "discovery_loss" else x for key, x in NUMBERS.items()}
        make_up(root / "rows", Row("exp1", reward), lambda *key, choose=choose: choose.get(key))
    (root / "agents").mkdir()
    shutil.copy(SHIPPED, root / "agents")
    words = ["report", "--paper", "--rows", str(root / "rows"), "--out", str(root / "out")]
    assert main([*words, "--html", str(root / "page.html")]) == 0
    return root / "page.html"


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_it_shows_the_rows_numbers_beside_the_papers_and_the_verdicts(watch, path, scheme):
    said: list[str] = []
    page = watch(path.as_uri(), offline=True, color_scheme=scheme).page
    page.on("console", lambda message: said.append(message.text))
    page.reload()
    row = page.locator("#tables table").first.locator("tr[data-row='ndigo-4'] td")
    assert row.nth(0).inner_text().split("\n")[0].startswith("123 ")
    assert row.nth(0).locator(".paper").inner_text() == "300.4 ± 22.2"
    assert row.nth(2).inner_text().startswith("56.7 ")
    assert row.nth(5).inner_text() == "0.25"  # behind the share of episodes that see the object
    assert (
        page.locator("#tables table").first.locator("tr[data-row='pe'] td").first.inner_text() == "missing\n0.1 ± 0.2"
    )
    claim = page.locator("[data-claim='exp1 order of magnitude']")
    assert claim.locator(".chip").inner_text() == "holds"
    claim.locator("summary").click()
    assert "3 over 0.25, ratio 12.0 (" in claim.inner_text()
    assert page.locator("[data-claim='exp1 pe'] .chip").inner_text() == "rows missing"
    assert page.locator("#curves svg").count() == 2  # Experiment 1, and the scores over all
    # Text is read against its ground: one is dark where the other is light.
    ink, ground = (
        page.evaluate(f"getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number).reduce((a, b) => a + b) / 3")
        for name in ("color", "backgroundColor")
    )
    assert (ink > 200, ground < 60) == ((True, True) if scheme == "dark" else (False, False))
    assert said == []


def test_it_plays_an_episode_on_a_phone_and_nothing_is_wider_than_the_screen(watch, path):
    page = watch(path.as_uri(), offline=True, viewport={"width": 390, "height": 844})
    assert page.page.evaluate("document.documentElement.scrollWidth") == 390
    page.page.locator("#episodes").scroll_into_view_if_needed()
    page.ready()
    assert page.page.evaluate("document.documentElement.scrollWidth") == 390
    page.page.locator(".ndigo").focus()
    page.press("PageDown")
    page.reach(10)
    page.press(" ")
    page.wait_for("some steps", lambda: page.t > 12)
