"""Which mesh is chosen, and one line with the nearest that fits for each that cannot be."""

from __future__ import annotations

import dataclasses
import math

import jax
import numpy as np
import pytest

from ndigo.config import Config
from ndigo.devices import mesh as meshes
from ndigo.devices.mesh import choose_mesh, read_mesh
from ndigo.devices.placed import Placed
from ndigo.devices.processes import join
from ndigo.errors import NdigoError

CONFIG = Config(seeds=10, actors=32, batch=64)


@pytest.fixture
def eight_devices(monkeypatch):
    """JAX says that it has eight; a mesh is then its sizes."""
    monkeypatch.setattr(jax, "device_count", lambda: 8)
    monkeypatch.setattr(meshes, "make_mesh", lambda seeds, data: (seeds, data))


@pytest.mark.parametrize(
    ("seeds", "chosen"), [(40, (8, 1)), (8, (8, 1)), (10, (5, 1)), (7, (7, 1)), (11, None), (1, None)]
)
def test_without_a_word_seeds_go_to_the_most_devices_that_divide_them(eight_devices, seeds, chosen):
    assert choose_mesh(None, dataclasses.replace(CONFIG, seeds=seeds)) == chosen


def test_lanes_are_dealt_out_as_seeds_are(eight_devices):
    assert choose_mesh(None, CONFIG, lanes=40) == (8, 1)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [("seeds=4,data=2", (4, 2)), ("data=2", (1, 2)), ("seeds=3", (3, 1)), ("data=2, seeds=5", (5, 2))],
)
def test_the_words_of_a_mesh(text, sizes):
    assert read_mesh(text) == sizes


ONCE = "write each axis once with a whole number, as --mesh seeds=4,data=2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed=4", "unknown axis in --mesh seed=4: 'seed'; nearest: seeds; known: data, seeds"),
        (
            "seeds=4,seeds=2",
            f"--mesh seeds=4,seeds=2: {ONCE}",
        ),
        ("seeds=x", f"--mesh seeds=x: {ONCE}"),
        ("seeds=0", f"--mesh seeds=0: {ONCE}"),
        ("seeds=9", "--mesh seeds=9: asks for 9 devices, and JAX finds 8"),
        ("seeds=4", "--mesh seeds=4: 10 seeds do not divide by 4; nearest: --mesh seeds=5,data=1, or --seeds 8"),
        (
            "seeds=3,data=2",
            "--mesh seeds=3,data=2: 10 seeds do not divide by 3; nearest: --mesh seeds=2,data=2, or --seeds 9",
        ),
        ("data=3", "--mesh data=3: actors 32 do not divide by 3; nearest: --actors 33"),
        ("data=5", "--mesh data=5: actors 32 do not divide by 5; nearest: --actors 30"),
    ],
)
def test_what_does_not_divide_is_one_line_with_the_nearest(eight_devices, text, message):
    with pytest.raises(NdigoError) as error:
        choose_mesh(text, CONFIG)
    assert str(error.value) == message


def test_of_several_processes_none_may_be_left_without_a_device(eight_devices, monkeypatch):
    monkeypatch.setattr(jax, "process_count", lambda: 4)
    with pytest.raises(
        NdigoError, match=r"^10 seeds do not divide among the 8 devices of 4 processes; nearest: --seeds 8$"
    ):
        choose_mesh(None, CONFIG)
    with pytest.raises(NdigoError, match=r"^--mesh seeds=5: asks for 5 of the 8 devices of 4 processes$"):
        choose_mesh("seeds=5", CONFIG)


def test_what_does_not_divide_of_settings_side_by_side_is_told_as_settings(eight_devices, monkeypatch):
    told = r"4 settings of 10 seeds do not divide by 3; nearest: --mesh seeds=2,data=1, or --seeds 9$"
    with pytest.raises(NdigoError, match=told):
        choose_mesh("seeds=3", CONFIG, lanes=40)
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    # 3 settings of 10 seeds on 8 devices: 8 seeds of each do.
    with pytest.raises(NdigoError, match=r"^3 settings of 10 seeds do not divide among .* nearest: --seeds 8$"):
        choose_mesh(None, CONFIG, lanes=30)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("10.0.0.1:99999", 2, 0), "--coordinator 10.0.0.1:99999: write HOST:PORT, .* with a port below 65,536"),
        ((":1234", 2, 0), "--coordinator :1234: write HOST:PORT"),
        (("", 2, 0), "--coordinator : write HOST:PORT"),
        (("10.0.0.1:1234", 0, 0), "--processes 0: must be from 1 to 100,000"),
        (("10.0.0.1:1234", 2, 2), "--process 2: must be from 0 to 1, below --processes 2"),
        (("10.0.0.1:1234", 2, None), "--coordinator HOST:PORT, --processes N and --process I belong together"),
    ],
)
def test_words_that_no_processes_could_find_each_other_by_are_refused_at_once(words, message, monkeypatch):
    monkeypatch.setattr(jax.distributed, "initialize", lambda *words: pytest.fail("it would wait for minutes"))
    with pytest.raises(NdigoError, match=f"^{message}"):
        join(*words)


def test_a_ring_is_saved_in_the_same_order_however_many_parts_it_lies_in():
    """Row i of a round is actor i's: parts hold columns of [rounds, actors], which read row by row are the ring."""
    S, rounds, actors, parts = 2, 3, 4, 2
    ring = np.arange(S * rounds * actors).reshape(S, rounds * actors)
    lies = Placed(FakeMesh(parts), block=actors // parts).as_it_lies({".rows.windows.start": ring, ".key": ring})  # type: ignore[arg-type]
    assert (lies[".key"] == ring).all()
    for seed in range(S):
        for r in range(rounds):
            for actor in range(actors):
                assert lies[".rows.windows.start"][seed, r, actor] == ring[seed, r * actors + actor]


class FakeMesh:
    """As many parts as it is told, and no devices."""

    def __init__(self, data: int):
        self.shape = {"seeds": 1, "data": data}
        self.size = math.prod(self.shape.values())
