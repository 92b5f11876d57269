"""`ndigo worlds`: the list and the drawings."""

import json
import re

import pytest

from ndigo.cli import main
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.worlds import WORLDS
from ndigo.worlds.maze import DRAWING


def lines_of(capsys, *words: str) -> list[str]:
    assert main(["worlds", *words]) == 0
    return capsys.readouterr().out.split("\n")


def test_the_list_has_every_world_with_its_experiment_and_size(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    rows = {line.split()[0]: line for line in lines_of(capsys) if line.split()}
    assert all(rows[e.name].split()[1] == e.world_name for e in EXPERIMENTS.values())
    assert {rows[e.name].split()[1] for e in EXPERIMENTS.values()} == set(WORLDS)
    assert rows["exp5"].split()[2:4] == ["21x25", "6"]
    assert "upper (bouncing), lower (bouncing), noise" in rows["exp3"]
    assert rows["exp3"].split()[-1] == "4"


def test_a_drawing_has_the_maps_walls_and_everything_in_it(capsys):
    drawing = lines_of(capsys, "maze")
    expected = DRAWING.strip().split("\n")
    for line, row in zip(drawing, expected, strict=False):
        assert [char == "#" for char in line[::2]] == [char == "#" for char in row]
    assert drawing[8].index("@") == 2 * 5
    assert drawing[-2] == "@ agent, N noise, F2 fixed2, F3 fixed3, F4 fixed4, M movable"


def test_an_experiment_is_drawn_as_its_world(capsys):
    assert lines_of(capsys, "exp5") == lines_of(capsys, "maze")


def test_view_and_seed_change_what_is_lit_and_where_things_are(capsys):
    small, large = lines_of(capsys, "exp1", "--view", "3"), lines_of(capsys, "exp1", "--view", "5")
    assert sum(line.count("·") for line in small) == 3 * 3 - 1
    assert sum(line.count("·") for line in large) == 5 * 5 - 1
    assert lines_of(capsys, "exp1", "--seed", "1") != large


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mazze"], "unknown world or experiment 'mazze'; nearest: maze; known: "),
        (["exp6"], "unknown world or experiment 'exp6'; nearest: exp5; known: .*exp1, exp2, exp3, exp4, exp5"),
        (["maze", "--view", "4"], "view 4: .* must be odd"),
        (["maze", "--view", "-1"], "--view -1: must be from 1 to 99"),
        (["maze", "--view", "wide"], "--view 'wide': must be a whole number"),
        (["maze", "--seed", "-1"], "--seed -1: must be from 0 to"),
    ],
)
def test_bad_names_and_sizes_get_one_line_and_code_2(words, message, capsys):
    assert main(["worlds", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert re.match(f"ndigo: {message}", err)


def test_the_list_as_json_has_every_world_with_its_size(capsys):
    assert main(["worlds", "--json"]) == 0
    printed = {about["experiment"]: about for about in json.loads(capsys.readouterr().out)}
    assert list(printed) == list(EXPERIMENTS)
    assert printed["exp1"]["objects"] == [{"name": "fixed", "kind": "fixed"}, {"name": "noise", "kind": "white_noise"}]
    assert printed["exp5"]["size"] == [21, 25]
