"""What a person sees: a bar in a terminal, a line for every evaluation anywhere."""

import io

import pytest
from rich.console import Console

from ndigo.config import Config
from ndigo.training.progress import TrainingProgress, bars

WORLD = {"channels": ["walls", "ball"], "in_view": ["ball"], "objects": ["ball"]}
LINE = {
    "step": 4000,
    "seconds": 61.2,
    "transitions_per_second": 123456,
    "learning": {"reward": [0.5, 0.7], "reward_c": [[0.1, 0.4], [0.1, 0.6]], "discovery_loss": [[3.0], [5.0]]},
}
EVALUATION = {"visits": [[10.0], [30.0]], "discovery_loss": [[1.0], [2.0]]}


def shown(world=WORLD, line=LINE, minutes: float | None = None, is_terminal: bool = True, width: int = 120) -> str:
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=is_terminal, color_system=None)
    with TrainingProgress(console, world, Config(learner_steps=16_000), minutes) as progress:
        progress.show(line, seconds=30.0)
        progress.bar.refresh()
    return text.getvalue()


def test_the_bar_has_step_speed_reward_split_discovery_loss_and_share():
    text = shown()
    assert "step 4,000  123,456 transitions/s\n" in text
    assert "transitions/s  visits ball 20\n" in shown(line=LINE | {"evaluation": EVALUATION})
    assert "reward 0.600 (walls +0.100, ball +0.500)\ndiscovery loss ball 4.00" in text
    assert "25% of 16,000 steps" in text
    assert "left" in text


def test_a_run_bounded_by_time_shows_its_share_of_the_time():
    assert "50% of 1 min" in shown(minutes=1.0)


def test_an_evaluation_is_a_line_that_stays_also_without_a_terminal():
    line = LINE | {"evaluation": EVALUATION}
    assert (
        shown(line=line, is_terminal=False) == "step   4,000     61 s   visits: ball 20   discovery loss: ball 1.50\n"
    )
    assert shown(is_terminal=False) == ""


def test_on_a_narrow_terminal_an_evaluation_is_lines_of_whole_parts():
    names = ["upper", "lower", "noise"]
    world = {"channels": ["walls", *names], "in_view": names, "objects": names}
    learning = {"reward": [0.5], "reward_c": [[0.1] * 4], "discovery_loss": [[3.0] * 3]}
    evaluation = {"visits": [[10.0] * 3], "discovery_loss": [[1.0] * 3]}
    line = LINE | {"learning": learning, "evaluation": evaluation}
    lines = shown(world, line, width=80).splitlines()
    first = next(i for i, text in enumerate(lines) if "61 s" in text)
    assert lines[first].endswith("step   4,000     61 s   visits: upper 10, lower 10, noise 10")
    assert lines[first + 1] == "  discovery loss: upper 1.00, lower 1.00, noise 1.00"
    assert shown(world, line, width=80, is_terminal=False).count("\n") == 1  # a log has a line per evaluation


@pytest.mark.parametrize(
    ("world", "evaluation", "expected"),
    [
        (WORLD | {"objects": []}, {"visits": [[7.0]], "discovery_loss": [[]]}, "visits: ball 7\n"),
        (WORLD | {"objects": [], "in_view": []}, {"visits": [[]], "discovery_loss": [[]]}, "reward 0.600\n"),
    ],
)
def test_a_world_without_truth_or_objects_shows_what_there_is(world, evaluation, expected):
    learning = LINE["learning"] | {"reward_c": [[0.0, 0.0]], "discovery_loss": [[]]}
    text = shown(world, LINE | {"learning": learning, "evaluation": evaluation}, is_terminal=False)
    assert text.endswith(f" s   {expected}")


def test_on_a_terminal_each_number_has_the_trend_of_the_last_eight_evaluations():
    """Ten evaluations that fall from 10 to 1: the last eight are 8/8 .. 1/8 of the largest, a bar of eight each."""
    losses = [10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    for is_terminal, trend in ((True, " █▇▆▅▅▄▃▂"), (False, "")):  # 7 * 4/8 and 7 * 5/8 both round to the fifth bar
        text = io.StringIO()
        console = Console(file=text, width=120, force_terminal=is_terminal, color_system=None)
        with TrainingProgress(console, WORLD, Config(learner_steps=16_000), None) as progress:
            for loss in losses:
                progress.show(LINE | {"evaluation": {"visits": [[0.0]], "discovery_loss": [[loss]]}}, seconds=30.0)
        assert f"discovery loss: ball 1.00{trend}\n" in text.getvalue()
        assert "discovery loss: ball 10.00\n" in text.getvalue()  # one evaluation has none


def test_a_trend_is_drawn_from_zero_and_leaves_out_what_is_no_number():
    assert bars([0.0, 7.0]) == "▁█"
    assert bars([3.87, 3.86]) == "██"  # a thousandth is no trend
    assert bars([-1.0, 0.0, 6.0]) == "▁▂█"
    assert bars([0.0, 0.0]) == "▁▁"
    assert bars([float("nan"), 1.0]) == " █"


def test_a_chunk_that_takes_long_tells_how_far_it_is():
    """Of 320 steps: 16 updates in each of 20 rounds. In a terminal the bar moves; elsewhere a line comes per minute."""
    text = io.StringIO()
    console = Console(file=text, width=120, force_terminal=True, color_system=None)
    with TrainingProgress(console, WORLD, Config(learner_steps=3_200), None) as progress:
        progress.within(0, 0.5, seconds=200.0)
        progress.bar.refresh()
        assert "step 0, 50% of the way to 320\n" in text.getvalue()
        assert "5% of 3,200 steps" in text.getvalue()
        progress.show(LINE | {"step": 320}, seconds=400.0)
        progress.within(320, 0.5, seconds=500.0)
        progress.bar.refresh()
        assert "15% of 3,200 steps" in text.getvalue()
        assert "step 320, " not in text.getvalue()  # the numbers of the last chunk stay
    text = io.StringIO()
    with TrainingProgress(Console(file=text, width=120), WORLD, Config(learner_steps=3_200), None) as progress:
        for i in range(9):
            progress.within(320, i / 10, seconds=22.0 * i)
        progress.show(LINE | {"evaluation": EVALUATION}, seconds=180.0)
        progress.within(640, 0.1, seconds=230.0)
        progress.within(640, 0.2, seconds=241.0)
    lines = [line for line in text.getvalue().splitlines() if "way" in line]
    assert lines == [
        "step 320, 30% of the way to 640, 66 s",
        "step 320, 60% of the way to 640, 132 s",
        "step 640, 20% of the way to 960, 241 s",
    ]
