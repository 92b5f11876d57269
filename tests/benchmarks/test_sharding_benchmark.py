"""What the benchmark of the mesh says of its pairs and counts; and a mesh of one device compiles to the same work."""

import argparse
import time

import numpy as np
import pytest
from benchmark_modules import load_benchmark
from custom_world import world
from tiny_runs import TINY

from ndigo.config import preset
from ndigo.rewards import make_reward

CONFIG = preset("cpu", **{name: value for name, value in TINY.items() if name != "preset"})


@pytest.fixture(scope="module")
def sharding():
    return load_benchmark("sharding")


def test_the_ratio_is_of_each_pair_and_not_of_the_two_medians(sharding):
    pairs = np.array([[1.0, 2.0], [10.0, 10.0], [100.0, 110.0]])  # the machine slows down tenfold between pairs
    found = sharding.ratios(pairs)
    assert found["ratio"] == pytest.approx(1.1)
    assert found["ratio_quartiles"] == pytest.approx([1.05, 1.55])
    assert found["ratio_interval"] == pytest.approx([1.0, 2.0])  # of three, any may be the median


def test_the_best_use_is_the_fastest_count_and_the_fewest_seeds_within_a_twentieth_of_it(sharding):
    speeds = {1: 2.0, 10: 9.6, 20: 10.0, 40: 9.9}
    found = [{"seeds": count, "transitions_per_s": speed} for count, speed in speeds.items()]
    assert sharding.best_use(found) == {"fastest": 20, "within_95%": 10}
    assert sharding.best_use([]) is None


@pytest.mark.slow
def test_a_mesh_of_one_device_adds_no_work_and_is_timed_in_turns(sharding, monkeypatch):
    monkeypatch.setattr(sharding, "WORLD", world)
    monkeypatch.setattr(sharding, "REWARD", make_reward("ndigo-1"))
    args = argparse.Namespace(repeats=4, rounds=1, minutes=10)
    found = sharding.overhead(CONFIG, args, time.monotonic())
    plain, meshed = found["instructions"]
    assert plain > 1000
    assert abs(meshed - plain) <= plain / 1000
    assert np.shape(found["each_ms"]) == (4, 2)
    assert found["plain_ms"] == pytest.approx(np.median([pair[0] for pair in found["each_ms"]]), rel=1e-3)
