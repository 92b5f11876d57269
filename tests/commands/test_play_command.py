"""`ndigo play`, by a person at a terminal. Five rooms: the agent starts at row 9, column 9 of the map."""

from __future__ import annotations

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from person import CODES, Person

from ndigo.api import load_trained
from ndigo.cli import main
from ndigo.commands.play import Game, picture
from ndigo.interop.finding import find_world
from ndigo.types import Truth
from ndigo.watching.belief_text import belief_ansi

AGENT = Path(__file__).parents[2] / "results/agents/exp1-ndigo-4.safetensors"

UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
MAP_WIDTH = 2 * 19


def agent_on_map(screen: list[str]) -> tuple[int, int]:
    """Row and column of the agent; the first line is the title, a cell is two characters."""
    (place,) = [(r, line.index("@") // 2) for r, line in enumerate(screen[1:]) if "@" in line[:MAP_WIDTH]]
    return place


def test_arrow_keys_walk_the_agent_and_the_counter_follows():
    with Person("play", "exp1") as person:
        screen = person.wait_for("step 0 of 400")
        assert screen[0].strip() == "exp1"  # as it was asked for
        assert agent_on_map(screen) == (9, 9)
        person.press(UP)
        assert agent_on_map(person.wait_for("step 1 of 400")) == (8, 9)
        person.press(RIGHT)
        assert agent_on_map(person.wait_for("step 2 of 400")) == (8, 10)
        person.press("\x1bOB" + LEFT)  # the other code that terminals send for an arrow
        assert agent_on_map(person.wait_for("step 4 of 400")) == (9, 9)
        person.press(" ")
        assert agent_on_map(person.wait_for("step 5 of 400")) == (9, 9)
        person.press(LEFT * 3 + UP)  # into the left door, which has walls above and below
        assert agent_on_map(person.wait_for("step 9 of 400")) == (9, 6)
        person.press("r")
        assert agent_on_map(person.wait_for("step 0 of 400")) == (9, 9)


def test_the_view_stands_beside_the_map_and_both_fit_a_small_terminal():
    with Person("play", "maze") as person:
        screen = person.wait_for("step 0 of 400")
        assert len(screen) <= 24
        assert max(map(len, screen)) <= 80
        # The agent in the middle of its 5x5 view: in a 3x3 room with a door to the right.
        centre = next(r for r, line in enumerate(screen) if "@" in line[50:])
        view = [line[53:63] for line in screen[centre - 2 : centre + 3]]
        assert view == ["##########", "##· · · ##", "##· @ · · ", "##· · · ##", "##########"]
        assert any("q quit" in line for line in screen)
        person.press("m")
        hidden = person.wait_for("step 0 of 400", unless="#" * 50)
        assert sum(line.count("@") for line in hidden) == 1


def test_objects_in_view_are_named_and_the_last_step_ends_the_episode():
    # Three steps to the right stands the agent in the noise's 4x4 room, which a 9x9 view covers whole.
    with Person("play", "exp5", "--steps", "3", "--view", "9", "--blind") as person:
        screen = person.wait_for("step 0 of 3")
        assert not any(line.startswith("#" * 50) for line in screen)  # no map
        assert len(screen[3]) == 2 * 9
        person.press(RIGHT * 5)  # two more than there are steps
        screen = person.wait_for("step 3 of 3, over")
        noise = next(line for line in screen if line.startswith("N  noise"))
        assert noise.split()[2:4] == ["in", "view"]
        person.press("q")
        code, farewell = person.leave()
        assert code == 0
        assert farewell.startswith("exp5, 3 steps: noise in view for ")
        assert "fixed2 not seen" in farewell
        assert person.settings_now() == person.settings


def test_control_c_leaves_quietly_and_gives_the_terminal_back():
    with Person("play", "exp1") as person:
        person.wait_for("step 0 of 400")
        person.interrupt()
        code, farewell = person.leave()
        assert code == 130
        assert farewell.strip() == ""
        assert person.settings_now() == person.settings


def test_without_a_terminal_it_says_so_in_one_line(capsys):
    assert main(["play", "exp1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ndigo: play needs a terminal")
    assert err.count("\n") == 1


def test_a_belief_has_a_character_per_cell_whose_halves_shine_by_the_cube_root():
    """Row 2 is the upper half of line 1, row 3 its lower half; an eighth is half way from the floor to the colour."""
    world = find_world("exp1")
    belief = np.zeros((2, 19, 19))
    belief[0, 2, 9], belief[1, 3, 9] = 1, 0.125
    at = jnp.array([9, 9])
    lines = belief_ansi(world, Truth(at, jnp.zeros((2, 2), jnp.int32)), belief).split("\n")
    assert len(lines) == 10  # of 19 rows
    codes = [re.findall(r"38;2;(\d+);(\d+);(\d+);48;2;(\d+);(\d+);(\d+)m▀", line) for line in lines]
    assert [len(row) for row in codes] == [19] * 10
    assert codes[1][9] == (
        "230",
        "159",
        "0",
        "51",
        "99",
        "128",
    )  # orange; floor (16, 18, 23) half way to (86, 180, 233)
    assert codes[4][9][3:] == ("255", "255", "255")  # the agent, row 9


def test_the_agents_belief_follows_what_the_person_does_and_not_what_the_agent_would():
    agent, world = load_trained(AGENT).agent(0), find_world("exp1")
    game, core, probe = Game(world, 0, "exp1", agent), agent.networks.model.core, agent.networks.probe
    assert probe is not None
    b_t, a_tm1 = jnp.zeros(core.size), 0
    advance, located = (
        jax.jit(lambda *args: core.step(*args)),
        jax.jit(lambda b_t: jax.nn.softmax(probe.logits(b_t).reshape(2, -1))),
    )
    for action in ("up", "up", "up", "stay", "left", "up", ""):
        o_t = world.observe(game._state)
        b_t = advance(o_t, a_tm1, b_t)
        expected = np.asarray(located(b_t)).reshape(2, 19, 19)
        assert game.belief is not None
        np.testing.assert_allclose(game.belief, expected, atol=1e-5)
        row, col = np.asarray(game.truth.objects[0])
        assert game.loss(0) == pytest.approx(-float(np.log(expected[0, row, col])), abs=1e-3)
        if action:
            a_tm1 = world.actions.index(action)
            game.act(action)
    screen = CODES.sub("", picture(game, is_map_shown=True)).split("\n")  # of 80 columns and 24 lines
    assert len(screen) <= 24
    assert max(map(len, screen)) <= 80
    assert sum("▀" * 19 in line for line in screen) == 10
    assert sum(line.rstrip().endswith(" nats") for line in screen) == 2
    game.belief = None
    plain = picture(game, is_map_shown=True, colour=False)
    assert CODES.sub("", plain) == plain
    assert plain.split("\n")[1].startswith("##" * 19)


def test_an_agent_of_another_world_is_refused_in_one_line(capsys):
    assert main(["play", "exp2", "--agent", str(AGENT)]) == 2
    told = capsys.readouterr().err
    assert "was trained in exp1 with a view of 5, not in exp2" in told
    assert told.count("\n") == 1
