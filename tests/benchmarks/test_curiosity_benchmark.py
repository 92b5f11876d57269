"""The benchmark of curiosity: what its differences are of, and that it takes turns."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

BENCHMARK = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "curiosity.py"))


def test_curiosity_is_what_the_loop_takes_beyond_ppo_and_ppos_update_what_it_takes_beyond_acting():
    ms = {"PPO without its update": 10, "PPO alone": 30, "PPO and pay": 34, "PPO, pay and learn": 50}
    found = BENCHMARK["differences"]({name: {"median_ms": float(x)} for name, x in ms.items()}, num_rollouts=2)
    assert found == {
        "PPO's own update": pytest.approx(10),
        "curiosity: pay": pytest.approx(2),
        "curiosity: learn": pytest.approx(8),
        "curiosity, the whole": pytest.approx(10),
    }


@pytest.mark.parametrize(("most_seconds", "num_turns"), [(0.0, 3), (float("inf"), 5)])
def test_calls_take_turns_after_one_of_each_and_no_more_turns_begin_when_the_time_is_over(most_seconds, num_turns):
    called: list[str] = []
    calls = {name: lambda name=name: called.append(name) for name in "ab"}
    assert set(BENCHMARK["in_turns"](calls, 5, most_seconds)) == {"a", "b"}
    assert "".join(called) == "ab" * (1 + num_turns)
