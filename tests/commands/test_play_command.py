"""`ndigo play`, by a person at a terminal. Five rooms: the agent starts at row 9, column 9 of the map."""

from person import Person

from ndigo.cli import main

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
