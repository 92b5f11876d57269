"""`ndigo walk`: the statistics table and the film."""

import json
import re

import jax
import numpy as np
import pytest
from person import Person
from reference.maps import five_rooms
from reference.random_walk import meets_fixed, meets_noise

from ndigo.cli import main
from ndigo.commands import walk

MAP = five_rooms()


def rows_of(text: str) -> dict[str, list[str]]:
    """The table's rows by object: its cells, with `mean ± spread` kept together."""
    _, table = text.split("Random row\n")
    cells = [re.split(r"\s{2,}", line.strip()) for line in table.split("\n") if "±" in line]
    rows = [row[1:] if row[0].startswith("exp") else row for row in cells]
    return {row[0]: row[1:] for row in rows}


def mean(cell: str) -> float:
    return float(cell.split("±")[0])


def error(cell: str) -> float:
    return float(cell.split("±")[1])


def test_experiment_1_agrees_with_the_walkers_exact_markov_chain(capsys):
    assert main(["walk", "exp1", "--episodes", "2000"]) == 0
    rows = rows_of(capsys.readouterr().out)
    exact = {"fixed": meets_fixed(MAP, MAP.rooms["upper"]), "noise": meets_noise(MAP, "lower")}
    for name, seen in exact.items():
        assert mean(rows[name][0]) == pytest.approx(seen.count, abs=4 * error(rows[name][0]))
        assert mean(rows[name][2]) == pytest.approx(seen.first, abs=4 * error(rows[name][2]))
    assert (rows["fixed"][1], rows["fixed"][3]) == ("14.1 ± 14.3", "339.0 ± 40.5")  # the paper's


def test_the_maze_shows_how_often_each_object_was_seen_and_dashes_where_the_paper_has_none(capsys):
    assert main(["walk", "exp5", "--episodes", "200"]) == 0
    out = capsys.readouterr().out
    rows = rows_of(out)
    assert list(rows) == ["noise", "fixed2", "fixed3", "fixed4", "movable"]
    assert mean(rows["noise"][0]) > 98
    assert rows["movable"] == ["0.0 ± 0.0", "-", "400.0 ± 0.0", "-"]
    assert "exp5: The maze" in out
    assert "\x1b" not in out


def test_an_episode_that_ends_by_itself_is_walked_to_its_end(capsys):
    """20 steps of 400: the walker's Markov chain over 21 frames."""
    name = "stream_worlds:short_rooms"
    walk.show(walk._walked(name), jax.random.key(0), walk.Arguments(seconds=0), colour=False)
    assert "step 20; steps in view: " in capsys.readouterr().out
    assert main(["walk", name, "--episodes", "1000", "--json"]) == 0
    visits = json.loads(capsys.readouterr().out)["random walker"][name]["visits"]
    exact = {"fixed": meets_fixed(MAP, MAP.rooms["upper"], 21), "noise": meets_noise(MAP, "lower", 21)}
    for which, seen in exact.items():
        mean, error = visits[which]
        assert mean == pytest.approx(seen.count, abs=4 * error)


def test_the_same_seed_gives_the_same_walks_and_another_seed_others(capsys):
    outs = []
    for seed in ("0", "0", "1"):
        assert main(["walk", "exp1", "--episodes", "2", "--seed", seed]) == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1] != outs[2]


def test_in_a_terminal_the_walker_is_seen_walking():
    with Person("walk", "exp1", "--episodes", "2", "--seconds", "2") as person:
        first = person.wait_for("step ")
        later = person.wait_for("step ", unless=first[-1])
        assert first != later
        code, rest = person.leave()
        assert code == 0
        assert "step 399; steps in view" in rest
        steps = [int(n) for n in re.findall(r"step (\d+);", person.output)]
        assert steps == sorted(steps)
        assert len(np.unique(steps)) > 10


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["exp6"], "unknown world or experiment 'exp6'; nearest: exp5; known: "),
        (["probe_worlds:two_arms"], "world probe_worlds:two_arms: a walk is drawn on the map of a grid world, which"),
        (["exp1", "--episodes", "0"], "--episodes 0: must be from 2 to"),
        (["exp1", "--longest-stretch", "0"], "--longest-stretch 0: must be from 1 to"),
    ],
)
def test_bad_input_gets_one_line_and_code_2(words, message, capsys):
    assert main(["walk", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"ndigo: {message}")


def test_numbers_as_json_are_those_of_the_table(capsys):
    assert main(["walk", "exp1", "--episodes", "20", "--seconds", "0"]) == 0
    table = capsys.readouterr().out
    assert main(["walk", "exp1", "fixed_and_noise", "--episodes", "20", "--json"]) == 0
    walked = json.loads(capsys.readouterr().out)["random walker"]
    printed = walked["exp1"]
    assert walked["fixed_and_noise"] == printed  # its world, by its own name
    mean, error = printed["visits"]["fixed"]
    assert f" {mean:.1f} ± {error:.1f} " in table


def test_a_walker_in_stretches_says_so_and_bumps_into_the_maze_s_walls_for_longer(capsys):
    """In the first room, whose door is one cell wide: it sees the noise behind it later than one who often turns."""
    first = []
    for words in ([], ["--longest-stretch", "100"]):
        assert main(["walk", "exp5", "--episodes", "200", "--seconds", "0", *words]) == 0
        out = capsys.readouterr().out
        assert ("in stretches of up to 100 steps, 200 episodes" in out) == bool(words)
        first.append(rows_of(out)["noise"][2])
    assert mean(first[1]) > mean(first[0]) + 3 * error(first[1])
