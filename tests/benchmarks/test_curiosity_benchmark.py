"""The benchmark of curiosity: what its differences are of, and that it takes turns."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

BENCHMARK = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "curiosity.py"))


def test_curiosity_is_what_the_loop_takes_beyond_ppo_and_ppos_update_what_it_takes_beyond_acting():
    ms = {"PPO without its update": 10, "PPO alone": 30, "PPO, pay in the scan": 48, "PPO, pay_rollout": 34}
    ms |= {"PPO, pay_rollout, learn 8x128": 50, "PPO, pay_rollout, learn 1x1024": 38}
    times = {name: {"median_ms": float(x)} for name, x in ms.items()}
    amounts = [BENCHMARK["Amount"].parse(text) for text in ("8x128", "1x1024")]
    assert BENCHMARK["differences"](times, 2, amounts) == {
        "environment and policy": pytest.approx(5),
        "PPO's own update": pytest.approx(10),
        "pay, in the scan": pytest.approx(9),
        "pay_rollout, after it": pytest.approx(2),
        "learn 8x128": pytest.approx(8),
        "learn 1x1024": pytest.approx(2),
        "pay_rollout and learn 8x128": pytest.approx(10),
        "pay_rollout and learn 1x1024": pytest.approx(4),
    }


def test_what_is_seen_of_a_rollout_is_counted_in_steps():
    """128 of 1,024 environments are 131,072; four epochs see all of them, 1,024 windows of 32 as many as a quarter."""
    settings = BENCHMARK["ppo"].Settings(num_envs=1024, num_steps=128, epochs=4, minibatches=8)
    assert BENCHMARK["steps_seen"](settings, [BENCHMARK["Amount"](8, 128)]) == {
        "PPO": {"updates": 32, "steps_of_each": 16_384, "passes": 4.0},
        "learn 8x128": {"updates": 8, "steps_of_each": 4_096, "passes": 0.25},
    }


@pytest.mark.parametrize(("most_seconds", "num_turns"), [(0.0, 3), (float("inf"), 5)])
def test_calls_take_turns_after_one_of_each_and_no_more_turns_begin_when_the_time_is_over(most_seconds, num_turns):
    called: list[str] = []
    calls = {name: lambda name=name: called.append(name) for name in "ab"}
    assert set(BENCHMARK["in_turns"](calls, 5, most_seconds)) == {"a", "b"}
    assert "".join(called) == "ab" * (1 + num_turns)
