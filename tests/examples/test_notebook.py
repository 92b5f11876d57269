"""Runs, agents and players as a notebook shows them, and the notebook of the first hour (tests/peers runs it whole)."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import sys
import types
from xml.etree import ElementTree

import numpy as np
import pytest
from notebook_cells import NOTEBOOK, cells
from safetensors.numpy import load_file
from untrained import untrained

import ndigo
from ndigo.errors import NdigoError
from ndigo.notebook.rows import metric_rows
from ndigo.viewer.page import single_page


def test_the_notebook_is_valid_holds_no_outputs_and_tells_what_to_click_in_colab():
    content = json.loads(NOTEBOOK.read_text())
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            compile("".join(cell["source"]), "cell", "exec")
    assert re.search(r"\*\*In Colab:\*\* click \*File\*.*\*Run all\*", cells("markdown")[0], re.DOTALL)


def test_a_run_is_one_line_and_a_small_table(finished):
    assert repr(finished) == f"Run({finished.path}: ndigo-1 in custom_world:world, 2 seeds, 20 of 20 learner steps)"
    table = finished._repr_html_()
    assert table.count("<tr>") >= 6
    assert "visits (steps in view)" in table


def test_rows_are_the_metrics_by_seed_with_the_names_of_what_they_are_of(finished):
    rows, lines = finished.rows(), finished.metrics()
    assert len(rows) == 2 * len(lines)
    for i, line in enumerate(lines):
        for seed in (0, 1):
            row = rows[2 * i + seed]
            assert (row["step"], row["seed"]) == (line["step"], seed)
            assert row["reward"] == line["learning"]["reward"][seed]
            assert row["reward_c door1"] == line["learning"]["reward_c"][seed][1]
            expected = line["evaluation"]["visits"][seed][0] if "evaluation" in line else None
            assert row["visits light"] == expected
    assert metric_rows([], {}) == []


def test_what_learner_and_evaluation_both_tell_has_two_columns():
    lines = [
        {"step": 1, "learning": {"reward_c": [[0.5]]}},
        {
            "step": 2,
            "learning": {"reward": [0.4], "reward_c": [[0.4]]},
            "evaluation": {"reward_c": [[0.1]], "steps": [9]},
        },
    ]
    before, after = metric_rows(lines, {"channels": ["x"]})
    assert (before["reward_c x"], before["evaluation reward_c x"]) == (0.5, None)
    assert (after["reward_c x"], after["evaluation reward_c x"], after["steps"]) == (0.4, 0.1, 9)


def test_a_dataframe_is_made_of_the_rows_and_without_pandas_one_line_says_so(finished, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=lambda rows: ("frame", rows)))
    assert finished.dataframe() == ("frame", finished.rows())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(NdigoError, match=r"run\.dataframe\(\) needs pandas: pip install pandas"):
        finished.dataframe()


def test_a_plot_shows_itself_and_saves_itself(finished, tmp_path):
    plot = finished.plot()
    assert plot._repr_png_().startswith(b"\x89PNG")
    svg = plot.save(tmp_path / "curves.svg").read_text()
    assert svg.startswith("<?xml")
    assert "learner steps</text>" in svg  # as in the figures of `ndigo report`, text is text
    assert repr(plot).startswith("Plot(")
    for name in ("curves.txt", "curves"):
        with pytest.raises(NdigoError, match=rf"{name}: a figure is \.png, \.pdf or \.svg, by the ending of its name"):
            plot.save(tmp_path / name)


def test_a_plot_of_a_run_whose_name_looks_like_mathematics_shows_itself(finished, tmp_path):
    path = tmp_path / "a$_$b"
    shutil.copytree(finished.path, path)
    assert ndigo.open_run(path, world=finished.world).plot()._repr_png_().startswith(b"\x89PNG")


def test_an_agent_plays_in_a_frame_that_holds_the_single_page(finished):
    agent = finished.agent(1)
    assert repr(agent) == "Agent(ndigo-1, seed 1 in custom_world:world, 20 learner steps)"
    player = agent.play(2, episodes=2)
    assert repr(player) == "Player(ndigo-1, seed 1 in custom_world:world, 2 episodes)"
    assert player.episodes.meta["first_episode"] == 2
    frame = player._repr_html_()
    assert frame.startswith('<iframe title="ndigo" sandbox="allow-scripts"')
    assert frame.count("<") == 2  # the page is an attribute, escaped
    (page,) = re.findall(r'srcdoc="([^"]*)"', frame)
    assert page.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&#x27;", "'").replace(
        "&amp;", "&"
    ) == single_page([player.episodes])
    with pytest.raises(NdigoError, match="episodes 0: must be from 1 to 20"):
        agent.play(episodes=0)


def test_an_agent_is_a_small_table_of_who_it_is_and_what_it_is_made_of(finished, tmp_path):
    agent = finished.agent(1)
    table = ElementTree.fromstring(agent._repr_html_())  # well formed, so nothing of a name is read as markup
    assert table.findtext("caption/b") == repr(agent)
    rows = {row.findtext("th"): row.findtext("td") for row in table.iter("tr")}
    stored = sum(x.size for x in load_file(finished.export_agent(tmp_path / "one.safetensors", seed=1)).values())
    assert rows == {
        "world": "custom_world:world",
        "reward": "ndigo-1",
        "seed": "1",
        "learner steps": "20",
        "predicts": f"{finished.config.num_ahead} steps ahead",
        "belief": f"{len(agent.start().b_t)} numbers",
        "weights": f"{stored:,}, computed in {finished.config.precision}",
    }


def test_a_name_that_looks_like_markup_is_shown_and_not_run(finished):
    named = dataclasses.replace(finished.agent(), about={"label": "<script>x</script>", "world": "a&b"})
    assert "<script" not in named._repr_html_()
    assert "a&amp;b" in named._repr_html_()


def test_an_agent_that_nobody_named_has_a_short_line_and_table_too(finished):
    agent = untrained(finished.world)
    assert repr(agent) == "Agent(ndigo-1 in three_doors)"
    assert "three_doors" in dataclasses.replace(agent, about={})._repr_html_()
    assert isinstance(finished, ndigo.Run)
    assert np.isfinite(finished.rows()[-1]["reward"])
