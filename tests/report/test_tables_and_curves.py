"""Reports from run folders written by hand: what stands in them is what was put in."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from made_up_rows import make_up
from made_up_runs import OBJECTS, write_run
from matplotlib.image import imread

from ndigo import frames
from ndigo.cli import main
from ndigo.config import preset
from ndigo.palette import ORANGE, SKY, WALLS
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.references import reference_lines
from ndigo.report.curves import channel_styles, curves_figure
from ndigo.report.pool import pooled
from ndigo.report.tables import HEADINGS
from ndigo.rewards import make_reward
from ndigo.storage import checkpoint
from ndigo.storage.newest import fingerprint_of
from ndigo.storage.run_folder import RunFolder
from ndigo.storage.seal import seal
from ndigo.training.run import settings_of
from ndigo.watching.frame_pictures import painter_of
from ndigo.worlds import Channel, Object, grid_world, read_layout
from ndigo.worlds.render import legend


def rows(text: str) -> dict[tuple[str, str], list[str]]:
    """(object, agent) -> cells, from a printed table."""
    found, name = {}, ""
    for line in text.split("─\n")[1].split("curves:")[0].splitlines():
        if line.startswith("  ") and line.strip():
            label, *cells = [part for part in line.strip().split("  ") if part]
            found[name, label] = [cell.strip() for cell in cells]
        elif line.strip():
            name = line.strip()
    return found


def test_a_page_tries_every_run_also_of_two_worlds_with_one_title(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(OBJECTS, "fixed_and_noise", OBJECTS["exp1"])
    worlds = ("exp1", "fixed_and_noise")  # by two names the same
    runs = [write_run(tmp_path / world, world=world, reward="ndigo-4", seeds=2) for world in worlds]
    words = ["report", *map(str, runs), "--out", str(tmp_path / "out"), "--html", str(tmp_path / "page.html")]
    assert main(words) == 0
    out = capsys.readouterr().out
    for run in runs:  # written by hand, neither has an agent
        assert f"no episode of {run}: " in out


def test_a_run_stands_beside_the_papers_row_by_its_last_evaluation(tmp_path, capsys):
    run = write_run(tmp_path / "run", world="exp1", reward="ndigo-4", seeds=3)
    assert main(["report", str(run)]) == 0
    out = capsys.readouterr().out
    assert f"{run}: ndigo-4, 3 seeds, step 40" in out
    above, _, _ = out.partition("─")  # above the table
    assert "ndigo-4 does not discover fixed: seen in 50% of episodes, first at step 51, and known to 4.01 nats" in above
    table = rows(out)
    # Seeds 400, 401, 402: the resampled means lie between the smallest and the largest.
    assert table["fixed", "ndigo-4"] == ["401 (400-402)", "51.0 (50-52)", "50.0", "4.01 (4.00-4.02)"]
    assert table["noise", "ndigo-4"] == ["411 (410-412)", "51.0 (50-52)", "50.0", "4.11 (4.10-4.12)"]
    assert table["fixed", "paper: ndigo-4"] == ["300.4 ± 22.2", "40.8 ± 9.7", "-", "-"]
    assert table["noise", "paper: ndigo-4"] == ["1.4 ± 1.2", "330.7 ± 47.4", "-", "-"]
    assert max(map(len, out[out.index("visits") : out.index("curves:")].splitlines())) <= 80
    assert main(["report", str(run), "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["exp1"]
    assert line["visits"]["fixed"] == {"mean": 401, "low": 400, "high": 402}


def test_reference_agents_stand_under_a_line_for_the_objects_they_say_something_of(tmp_path, monkeypatch, capsys):
    made = {
        "search": {"first_visit": {"fixed": [9.5]}},
        "greedy": {"visits": {"fixed": [64.9, 50, 83], "noise": [1, 0, 2]}},
    }
    rows_made = [{"label": label, "values": values} for label, values in made.items()]
    (tmp_path / "exp1.json").write_bytes(seal(json.dumps({"rows": rows_made}).encode()))
    monkeypatch.setattr("ndigo.paper.references.FOLDER", tmp_path)
    run = write_run(tmp_path / "run", world="exp1", reward="pe", seeds=3)
    assert main(["report", str(run)]) == 0
    table = rows(capsys.readouterr().out)
    assert [label for name, label in table if name == "fixed"] == [
        "pe",
        "paper: pe",
        "── exact filter",
        "search",
        "greedy",
    ]
    assert [label for name, label in table if name == "noise"] == ["pe", "paper: pe", "── exact filter", "greedy"]
    assert table["fixed", "search"] == ["-", "9.50", "-", "-"]
    assert table["fixed", "greedy"] == ["64.9", "-", "-", "-"]


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS.keys())
def test_shipped_reference_agents_have_every_column_of_every_object(experiment):
    made = {row.label: row.values for row in reference_lines(experiment)}
    assert {"random", "seeker", "greedy"} <= set(made) <= {"random", "search", "seeker", "greedy", "planner"}
    still = [thing.name for thing in experiment.world.grid.objects if thing.kind == "fixed"]
    assert list(made.pop("search", {"first_visit": {}})["first_visit"]) == still
    for values in made.values():
        assert all(list(values[metric]) == list(experiment.world.objects) for metric in HEADINGS)


def test_one_seed_has_no_interval_and_runs_of_one_reward_are_told_apart_by_name(tmp_path, capsys):
    first = write_run(tmp_path / "first", world="exp1", reward="icm", seeds=1)
    second = write_run(tmp_path / "second", world="exp1", reward="icm", seeds=1)
    assert main(["report", str(first), str(second), "--out", str(tmp_path / "pictures")]) == 0
    table = rows(capsys.readouterr().out)
    assert table["fixed", "first"] == table["fixed", "second"] == ["400", "50.0", "50.0", "4.00"]
    assert (tmp_path / "pictures" / "curves.png").exists()
    assert not (first / "curves.png").exists()


def test_a_world_without_truth_has_visits_and_no_discovery_loss(tmp_path, capsys):
    run = write_run(tmp_path / "run", world="my:world", reward="pe", seeds=2, has_truth=False)
    assert main(["report", str(run)]) == 0
    assert rows(capsys.readouterr().out) == {("lamp", "pe"): ["400 (400-401)", "50.5 (50-51)", "50.0", "-"]}


def test_a_folder_of_runs_is_all_of_them_and_keeps_their_picture(tmp_path, capsys):
    runs = [write_run(tmp_path / "all" / reward, world="exp1", reward=reward, seeds=2) for reward in ("pe", "icm")]
    for named in ([tmp_path / "all"], [tmp_path / "all", runs[0]], [*reversed(runs)]):
        assert main(["report", *map(str, named)]) == 0
        assert {reward for _, reward in rows(capsys.readouterr().out)} >= {"pe", "icm"}
    assert (tmp_path / "all" / "curves.png").exists()


def test_each_world_gets_its_own_table_and_picture(tmp_path, capsys):
    runs = [write_run(tmp_path / world[:2], world=world, reward="pe", seeds=2) for world in OBJECTS]
    assert main(["report", *map(str, runs)]) == 0
    out = capsys.readouterr().out
    assert "exp1: last evaluation" in out
    assert "my:world: last evaluation" in out
    assert sorted(p.name for p in runs[0].glob("*.png")) == ["curves-exp1.png", "curves-my-world.png"]


@pytest.mark.parametrize("reward", ["ndigo-4", "icm"])
@pytest.mark.parametrize("num_lines", [2, 6])  # one evaluation is a point, three are a line
def test_the_picture_shows_each_object_in_its_colour(tmp_path, reward, num_lines, capsys):
    run = write_run(tmp_path / "run", world="exp1", reward=reward, seeds=3, num_lines=num_lines)
    assert main(["report", str(run)]) == 0
    assert {path.suffix for path in run.glob("curves.*")} == {".png", ".pdf", ".svg"}
    picture = (imread(run / "curves.png")[..., :3] * 255).round()
    width = picture.shape[1]
    for colour in (ORANGE, SKY):  # as in the viewer: fixed, white noise
        is_colour = np.abs(picture - colour).max(axis=-1) <= 2
        thirds = [is_colour[:, i * width // 3 : (i + 1) * width // 3].sum() for i in range(3)]
        assert min(thirds[:2]) > 30  # discovery loss and visits
        assert (thirds[2] > 30) == (reward != "icm")  # which pays no share to a channel


def write_run_without_metrics(path: Path) -> None:
    folder = RunFolder(write_run(path, world="exp1", reward="pe", seeds=1))
    checkpoint.save(folder.checkpoints, 40, {"x": np.zeros(3)}, fingerprint_of(folder))
    (path / "metrics.jsonl").unlink()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "is not a run: it does not exist"),
        (write_run_without_metrics, "metrics.jsonl has lost the line of step 40; the run cannot be continued"),
        (lambda path: path.mkdir(), "is not a run: it has no config.json"),
        (lambda path: write_run(path, world="exp1", reward="pe", seeds=1, num_lines=1), "has no evaluation yet"),
        (lambda path: make_up(path.parent, Row("exp1", "pe")).path.rename(path), "is a finished row, not a run"),
    ],
)
def test_what_cannot_be_reported_is_one_line(tmp_path, make, message, capsys):
    make(tmp_path / "run")
    assert main(["report", str(tmp_path / "run")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_runs_without_an_evaluation_are_left_out_of_a_folder_and_told(tmp_path, capsys):
    write_run(tmp_path / "rows" / "done", world="exp1", reward="pe", seeds=2)
    write_run(tmp_path / "rows" / "young", world="exp1", reward="pg", seeds=2, num_lines=1)
    assert main(["report", str(tmp_path / "rows"), "--json"]) == 0
    out, err = capsys.readouterr()
    assert [line["label"] for line in json.loads(out)["exp1"]] == ["pe"]
    assert err == f"ndigo: run {tmp_path / 'rows' / 'young'} has no evaluation yet, and is left out\n"


def test_no_run_at_all_is_one_line(capsys):
    assert main(["report"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_every_channel_of_a_world_without_a_map_has_a_stroke_of_its_own():
    channels = ["walls", "object", "colour", "state", "direction"]
    for events in ([], [f"event{i}" for i in range(22)]):  # so many are drawn as one
        styles = channel_styles({"in_view": events, "channels": channels, "objects": []}, None)
        assert {*styles} == {*channels}
        assert len({*styles.values()}) == len(channels) == len({colour for colour, _ in styles.values()})
        assert styles["walls"][0] == WALLS
    numbers = [f"x{i}" for i in range(20)]
    styles = channel_styles({"in_view": [], "channels": numbers, "objects": []}, None)
    assert len({*styles.values()}) == 21  # and the walls'


def test_an_object_has_one_colour_in_curves_and_on_maps_also_where_the_map_is_not_at_hand():
    things = [Object("lamp", "fixed", ("b",)), Object("fly", "brownian", ("c",)), Object("tv", "white_noise", ("a",))]
    drawing = "###########\n#AAA#BBB#C#\n#APA BBB C#\n#AAA#BBB C#\n###########"
    world = grid_world("flat", read_layout(drawing, {"A": "a", "B": "b", "C": "c"}), things, view=3, num_steps=10)
    noted = settings_of(preset("cpu"), world, make_reward("pe"))["world"]
    on_maps = {entry.name: "#{:02x}{:02x}{:02x}".format(*entry.colour) for entry in legend(world)}
    assert on_maps == {"lamp": "#e69f00", "fly": "#cc79a7", "tv": "#56b4e9"}
    for grid in (None, world.grid):
        styles = channel_styles(noted, grid)
        assert {name: styles[name][0] for name in on_maps} == on_maps


def test_a_channel_has_one_colour_in_curves_and_in_pictures():
    """Events, which no picture shows in a colour, take none of a channel's."""
    channels = [Channel("x", "binary"), Channel("ball", "one_hot"), Channel("y", "binary")]
    noted = {"in_view": ["ball", "hit"], "channels": ["x", "ball", "y"], "objects": []}
    styles = channel_styles(noted, None)
    in_pictures = painter_of(frames.bits(channels, 3)).colours
    assert [styles[name][0] for name in noted["channels"]] == ["#{:02x}{:02x}{:02x}".format(*c) for c in in_pictures]  # type: ignore[misc]
    assert styles["hit"][0] not in {styles[name][0] for name in noted["channels"]}


def test_no_curve_is_cut_at_the_upper_edge_and_no_word_lies_over_one():
    """Losses that lie close to each other, far above 0."""
    lines = [
        {"step": 10 * i, "evaluation": {"discovery_loss": [[3.92 - i / 100] * 2]}, "learning": {"reward_c": [[0.5]]}}
        for i in range(3)
    ]
    world = {"channels": ["walls", "fixed", "noise"], "in_view": ["fixed", "noise"], "objects": ["fixed", "noise"]}
    run: Any = SimpleNamespace(
        name="flat",
        settings=lambda: {"world": world, "config": {"seeds": 1}, "reward": "pe"},
        evaluations=lambda: [{**line, "evaluation": {**line["evaluation"], "visits": [[1, 1]]}} for line in lines],
        metrics=lambda: lines,
    )
    axis = curves_figure([run], EXPERIMENTS["exp1"].world.grid).axes[0]
    low, high = axis.get_ylim()
    assert low == 0
    assert high > 1.05 * 3.92
    words = [text for text in axis.texts if text.get_text().startswith("room known")]
    assert words
    assert max(word.get_zorder() for word in words) < min(line.get_zorder() for line in axis.lines)


@pytest.mark.parametrize(
    ("rewards", "unit"), [(["ndigo-4"], " (nats)"), (["icm"], ""), (["pe", "icm"], "")], ids=["ndigo", "icm", "both"]
)
def test_only_rewards_that_are_split_by_channel_are_in_nats(tmp_path, rewards, unit):
    runs = pooled(RunFolder(write_run(tmp_path / name, world="exp1", reward=name, seeds=1)) for name in rewards)
    assert f"reward in training{unit}" in [axes.get_title() for axes in curves_figure(runs).axes]


def test_a_task_that_only_costs_is_drawn_the_right_way_up():
    returns = (-200.0, -150.0)
    nothing, learning = {"discovery_loss": [[]], "visits": [[]]}, {"reward_c": [[0.5]]}
    world = {"channels": ["x"], "in_view": [], "objects": []}
    lines = [
        {"step": 10 * i, "evaluation": nothing | {"coverage": [3.0], "task_return": [r]}, "learning": learning}
        for i, r in enumerate(returns)
    ]
    run: Any = SimpleNamespace(
        name="costly",
        settings=lambda: {"world": world, "config": {"seeds": 1}, "reward": "pe"},
        evaluations=lambda: lines,
        metrics=lambda: lines,
    )
    of_title = {axis.get_title(): axis.get_ylim() for axis in curves_figure([run]).axes}
    low, high = of_title["task return"]
    assert low <= min(returns) < max(returns) <= high
    assert of_title["places per episode"][0] == 0
