"""The model of `ndigo reproduce --all`: packing against a slow clock, paces against hand-made rows."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from benchmark_modules import BENCHMARKS, load_benchmark

from ndigo.errors import NdigoError
from ndigo.paper.experiments import Row
from ndigo.paper.plan import all_rows

time_model = load_benchmark("reproduce_time")
Cost, Timed, Measured = time_model.Cost, time_model.Timed, time_model.Measured


def ticking(costs, gpus, each, slowdown, tick=1 / 64):
    """The same by a clock that moves in ticks: every place does one tick's work of its row."""
    waiting, places, now = [[cost.start, cost.train] for cost in costs], [[] for _ in range(gpus)], 0.0
    while True:
        for place in places:
            place[:] = [row for row in place if row[0] > 0 or row[1] > 0]
        while waiting and min(map(len, places)) < each:
            min(places, key=len).append(waiting.pop(0))
        if not any(places):
            return now
        for place in places:
            num_training = sum(row[0] <= 0 for row in place)
            for row in place:
                if row[0] > 0:
                    row[0] -= tick
                else:
                    row[1] -= tick / (slowdown if num_training > 1 else 1)
        now += tick


def test_rows_of_one_length_take_as_long_as_the_most_that_one_gpu_has():
    rows = [Cost(20, 280)] * 36
    assert [time_model.makespan(rows, gpus) for gpus in (1, 8, 64)] == pytest.approx([36 * 300, 5 * 300, 300])


def test_two_on_a_gpu_compile_beside_each_other_and_slow_each_other_down_only_while_both_train():
    assert time_model.makespan([Cost(20, 100), Cost(20, 100)], 1, 2, 1.5) == pytest.approx(20 + 150)
    # The second compiles for 40 s more, while the first does 40 of its 100; then 60 and 60 at 1.5; then 40 alone.
    assert time_model.makespan([Cost(20, 100), Cost(60, 100)], 1, 2, 1.5) == pytest.approx(60 + 90 + 40)


@pytest.mark.parametrize(("gpus", "each"), [(1, 1), (1, 2), (3, 1), (3, 2), (8, 2)])
def test_packing_agrees_with_a_clock_that_ticks(gpus, each):
    rng = np.random.default_rng(gpus + each)
    rows = [Cost(*(rng.integers(1, 40, 2))) for _ in range(17)]
    expected = ticking(rows, gpus, each, slowdown=1.5)
    assert time_model.makespan(rows, gpus, each, 1.5) == pytest.approx(expected, rel=5e-3)


def row(pace, start=30.0, evaluation=8.0):
    metrics = [{"step": step, "seconds": start + step * pace} for step in (1600, 3200, 4800)]
    return SimpleNamespace(metrics=metrics, result={"evaluation_seconds": evaluation})


def run(name, pace, steps=1600, start=20.0):
    return Timed(name, tuple((n, start - 5 + n * pace) for n in (steps // 2, steps)), start + steps * pace)


SHIPPED = {Row("exp1", "ndigo-4"): row(0.012), Row("exp2", "pe"): row(0.015), Row("exp2", "icm"): row(0.018)}
TIMED = Measured(run("exp1-ndigo-4", 0.008), (run("exp1-ndigo-4", 0.012), run("exp2-pe", 0.015)))


def test_a_row_alone_is_as_much_faster_than_its_shipped_one_as_the_one_that_was_timed_alone():
    model = time_model.Model(SHIPPED, TIMED)
    assert (model.slowdown, model.start, model.evaluation) == pytest.approx((1.5, 20, 8))
    assert model.pace("exp2-pe") == pytest.approx(0.010)
    assert model.pace("exp2-random") == pytest.approx(0.011)  # its experiment's mean
    assert model.pace("exp4-pe") == pytest.approx(0.010)  # the mean of all


def test_the_clock_of_a_row_that_had_more_than_one_other_beside_it_does_not_count():
    crowded = Measured(TIMED.alone, TIMED.beside, crowded=("exp2-icm",))
    model = time_model.Model(SHIPPED, crowded)
    assert model.pace("exp2-icm") == pytest.approx(0.010)  # as its experiment's other


def test_two_rows_side_by_side_are_predicted_from_what_was_timed_without_them():
    model = time_model.Model(SHIPPED, TIMED)
    # 12.8 s of work and 16: the first is done after 19.2 s, and 3.2 s of the second are left.
    assert model.pair(TIMED.beside) == pytest.approx(20 + 19.2 + 3.2)


def test_all_rows_are_trained_and_evaluated_one_after_the_other():
    found = time_model.Model(SHIPPED, TIMED).everything(64, 1)
    assert found["train"] == pytest.approx(20 + 32_000 * 0.012)  # the longest row alone: exp2-icm
    assert found["evaluate"] == pytest.approx(8 * len(all_rows()))


def test_what_was_not_timed_is_one_line(tmp_path):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "reproduce_time.py", "--measured", tmp_path / "none.json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    file = tmp_path / "half.json"
    one = {"row": "exp1-ndigo-4", "lines": [[1, 1.0], [2, 2.0]], "wall_s": 3.0}
    file.write_text(json.dumps({"alone": [one], "beside": [one]}))
    with pytest.raises(NdigoError, match="two under beside"):
        time_model.read_measured(file)
    file.write_text(json.dumps({"alone": [one], "beside": [one, one]}))
    assert time_model.read_measured(file).alone == Timed("exp1-ndigo-4", ((1, 1.0), (2, 2.0)), 3.0)
    other = Measured(run("exp9-pe", 0.01), TIMED.beside)
    with pytest.raises(NdigoError, match=r"^exp9-pe was timed alone and is no shipped row"):
        time_model.Model(SHIPPED, other)
