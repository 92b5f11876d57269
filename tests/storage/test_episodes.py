"""Files of episodes: what comes back is what was recorded, and anything else is refused in one line."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import io
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from full_disk import files_end_at

from ndigo.errors import NdigoError
from ndigo.storage.episodes import ARRAYS, EXTRAS, Recording, load_episodes, read_episodes, save_episodes, to_json
from ndigo.storage.run_folder import WriteError

# E, T, N, V, C, R, W, K: all different, so that no axis can stand for another.
SIZES = {"E": 3, "T": 5, "N": 6, "V": 7, "C": 8, "R": 9, "W": 10, "K": 4, "2": 2}
SIZES |= {"Y": 11, "X": 12, "H": 13, "S": 14, "B": 15, "3": 3}


@pytest.fixture
def episodes() -> Recording:
    random = np.random.default_rng(0)
    meta = {"format": "ndigo-episodes", "version": 1, "num_steps": 4, "num_ahead": 4, "view": 7}
    names = {"objects": [{"name": str(i)} for i in range(6)], "channels": [{"name": str(i)} for i in range(8)]}
    arrays = {
        name: (random.random([SIZES[axis] for axis in axes]) * (1 if "float" in dtype else 120)).astype(dtype)
        for name, (dtype, axes) in (ARRAYS | EXTRAS).items()
    }
    arrays["lengths"] = np.array([4, 1, 3], np.int32)
    return Recording(meta=meta | names | {"events": [str(i) for i in range(15)]}, **arrays)


@pytest.fixture
def path(tmp_path, episodes):
    save_episodes(tmp_path / "new" / "episodes.npz", episodes)
    return tmp_path / "new" / "episodes.npz"


def is_equal(one: Recording, other: Recording) -> bool:
    def same(name: str) -> bool:
        a, b = getattr(one, name), getattr(other, name)
        return (a is None and b is None) or bool((a == b).all())

    return one.meta == other.meta and all(same(name) for name in ARRAYS | EXTRAS)


def test_the_file_has_every_field_and_they_come_back_as_they_were(path, episodes):
    assert {field.name for field in dataclasses.fields(Recording)} == {"meta", *ARRAYS, *EXTRAS}
    again = load_episodes(path)
    assert is_equal(again, episodes)
    assert all(getattr(again, name).dtype == dtype for name, (dtype, _) in (ARRAYS | EXTRAS).items())


def test_what_only_some_worlds_have_may_be_missing(path, episodes, tmp_path):
    bare = dataclasses.replace(episodes, **dict.fromkeys(EXTRAS))
    save_episodes(tmp_path / "bare.npz", bare)
    assert is_equal(load_episodes(tmp_path / "bare.npz"), bare)


@pytest.mark.parametrize(("num_actions", "dtype", "bad"), [(128, np.int8, np.int32), (129, np.int32, np.int8)])
def test_actions_are_as_wide_as_their_names_ask_for(episodes, num_actions, dtype, bad, tmp_path):
    """int8 ends at 127: action 128 would come back as another."""
    named = dataclasses.replace(episodes, meta=episodes.meta | {"actions": [f"go{i}" for i in range(num_actions)]})
    last = np.full(episodes.a.shape, num_actions - 1, dtype)
    save_episodes(tmp_path / "right.npz", dataclasses.replace(named, a=last))
    assert load_episodes(tmp_path / "right.npz").a.tolist() == last.tolist()
    assert to_json(load_episodes(tmp_path / "right.npz"), 0)["a"]["dtype"] == "int32"
    save_episodes(tmp_path / "wrong.npz", dataclasses.replace(named, a=np.zeros(last.shape, bad)))
    with pytest.raises(NdigoError, match=rf"is damaged: a is {np.dtype(bad)}\[3, 5\], not {np.dtype(dtype)}"):
        load_episodes(tmp_path / "wrong.npz")


@pytest.mark.parametrize("wrong", [-2, 3])
def test_an_action_without_a_name_is_damage(episodes, wrong, tmp_path):
    named = dataclasses.replace(
        episodes, meta=episodes.meta | {"actions": ["a", "b", "c"]}, a=np.full((3, 5), 2, np.int8)
    )
    named.a[0, :2] = -1, wrong
    save_episodes(tmp_path / "x.npz", named)
    says = f"its actions reach from {min(wrong, -1)} to {max(wrong, 2)}, expected -1 to 2"
    with pytest.raises(NdigoError, match=says):
        load_episodes(tmp_path / "x.npz")


def test_an_episode_that_ended_by_itself_is_sent_to_its_last_frame(episodes):
    form = to_json(episodes, 1)
    assert form["meta"]["num_steps"] == 1
    assert {form[name]["shape"][0] for name in ("a", "o", "reward_c", "seen", "expected", "task", "events")} == {2}
    assert "lengths" not in form


def test_a_recording_of_an_agent_comes_back(recorded, tmp_path):
    save_episodes(tmp_path / "episodes.npz", recorded)
    assert is_equal(load_episodes(tmp_path / "episodes.npz"), recorded)
    assert (tmp_path / "episodes.npz").stat().st_size < 400_000


def test_a_flipped_byte_is_noticed_or_changes_nothing(path, episodes):
    whole, complaints = path.read_bytes(), []
    positions = range(0, len(whole), 211)
    for at in positions:
        damaged = bytearray(whole)
        damaged[at] ^= 4
        try:
            again = read_episodes(bytes(damaged), "x.npz")
        except NdigoError as error:
            complaints.append(str(error))
        else:
            assert is_equal(again, episodes)  # a date, an attribute: what nobody reads in a zip
    assert all(complaint.startswith("x.npz is ") for complaint in complaints)
    assert len(complaints) > 0.9 * len(positions)


def test_a_truncated_file_is_one_line(path):
    whole = path.read_bytes()
    for size in (0, 1, 5, 200, len(whole) // 2, len(whole) - 1):
        with pytest.raises(NdigoError, match=r"x\.npz is (damaged|no recording of episodes)") as error:
            read_episodes(whole[:size], "x.npz")
        assert "\n" not in str(error.value)


def saved(**arrays) -> bytes:
    data = io.BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


def test_other_files_are_no_recordings(episodes, tmp_path):
    with pytest.raises(NdigoError, match=r"cannot read .*: No such file"):
        load_episodes(tmp_path / "missing.npz")
    one_array = io.BytesIO()
    np.save(one_array, np.zeros(3))
    pickled = io.BytesIO()
    np.savez(pickled, meta=np.array([{"format": "ndigo-episodes"}], dtype=object))
    for data, message in [
        (b"hello", "x is no recording of episodes"),
        (one_array.getvalue(), "x is no recording of episodes"),
        (saved(w=np.zeros(3)), "x is no recording of episodes: it has no meta"),
        (saved(meta=np.array('{"format": "other"}')), "x is no recording of episodes: its meta does not say"),
        (saved(meta=np.array("{")), "x is damaged: its meta cannot be read"),
        (pickled.getvalue(), "x is damaged"),
        (saved(meta=np.array(json.dumps(episodes.meta | {"version": 2}))), "x is of format version 2; .* reads 1"),
        (saved(meta=np.array(json.dumps(episodes.meta)), walls=episodes.walls), "x is damaged: it lacks a, agent"),
    ]:
        with pytest.raises(NdigoError, match=message):
            read_episodes(data, "x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": np.zeros((3, 5), np.int32)}, r"a is int32\[3, 5\], not int8"),
        ({"o": np.zeros((3, 5, 7, 7, 2), np.uint8)}, "o has 2 where C = 8"),
        ({"reward": np.zeros((2, 5), np.float32)}, "reward has 2 where E = 3"),
        ({"belief": np.zeros((3, 5, 6, 9, 9), np.float16)}, "belief has 9 where W = 10"),
        ({"agent": np.zeros((3, 5, 3), np.uint8)}, "agent has 3 where 2 = 2"),
        ({"seen": np.zeros((3, 5, 9, 9, 4), np.uint8)}, "seen has 4 where 3 = 3"),
        ({"events": np.zeros((3, 5, 2), bool)}, "events has 2 where B = 15"),
        ({"lengths": np.array([4, 5, 1], np.int32)}, "an episode is longer than its 4 steps"),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_named(episodes, change, message):
    arrays = {name: getattr(episodes, name) for name in ARRAYS} | change
    meta = episodes.meta | {"extras": [name for name in change if name in EXTRAS]}
    with pytest.raises(NdigoError, match=f"x is damaged: {message}"):
        read_episodes(saved(meta=np.array(json.dumps(meta)), **arrays), "x")


@contextlib.contextmanager
def at_most(num_bytes: int) -> Iterator[None]:
    """Within the block no more memory is taken at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < num_bytes
    finally:
        tracemalloc.stop()


def claiming(episodes: Recording, name: str, shape: tuple[int, ...]) -> bytes:
    """A recording in which one array's header claims another shape; its bytes are zeros, as few as the rest has."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        arrays = {each: getattr(episodes, each) for each in ARRAYS} | {"meta": np.array(json.dumps(episodes.meta))}
        for each, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, array)
            if each == name:
                stream = io.BytesIO()
                header = {"descr": array.dtype.str, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(stream, header)
                stream.write(bytes(1000))
            file.writestr(f"{each}.npy", stream.getvalue())
    return data.getvalue()


def test_a_header_that_claims_more_than_the_file_has_takes_no_memory(episodes):
    with at_most(1 << 20), pytest.raises(NdigoError, match=r"^x is damaged$"):
        read_episodes(claiming(episodes, "walls", (2_000_000, 4_000_000)), "x")


def test_a_file_that_unpacks_to_far_more_than_a_recording_is_refused_before_it_is_unpacked(episodes):
    """Consistent in itself: two thousand times as many steps, and all of them zeros."""
    sizes = SIZES | {"T": 10_000}
    zeros: dict[str, Any] = {
        name: np.zeros([sizes[axis] for axis in axes], dtype) for name, (dtype, axes) in ARRAYS.items()
    }
    data = io.BytesIO()
    np.savez_compressed(data, meta=np.array(json.dumps(episodes.meta | {"num_steps": 9_999})), **zeros)
    assert len(data.getvalue()) < 200_000
    with at_most(1 << 22), pytest.raises(NdigoError, match=r"^x is no recording: its \S+ bytes unpack to \S+$"):
        read_episodes(data.getvalue(), "x")


def test_a_meta_of_megabytes_is_not_read(episodes):
    with pytest.raises(NdigoError, match=r"^x is damaged: its meta has 4,000,128 bytes$"):
        read_episodes(saved(meta=np.array("x" * 1_000_000)), "x")


def test_a_full_disk_leaves_the_file_that_was_there(path, episodes):
    before = path.read_bytes()
    with files_end_at(500), pytest.raises(WriteError):
        save_episodes(path, episodes)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_json_of_an_episode_is_its_bytes(recorded):
    form = json.loads(json.dumps(to_json(recorded, 1)))
    assert form["meta"] == recorded.meta

    def unpacked(name: str) -> np.ndarray:
        part = form[name]
        return np.frombuffer(base64.b64decode(part["data"]), np.dtype(part["dtype"])).reshape(part["shape"])

    for name in ARRAYS.keys() - {"walls", "belief"}:
        np.testing.assert_array_equal(unpacked(name), getattr(recorded, name)[1])
    assert form["walls"]["dtype"] == form["belief"]["dtype"] == "uint8"
    np.testing.assert_array_equal(unpacked("walls"), recorded.walls)
    # sqrt(p) in steps of 1/255, so p is off by at most sqrt(p)/255 and a little.
    p = recorded.belief[1].astype(float)
    assert (abs((unpacked("belief") / 255) ** 2 - p) <= np.sqrt(p) / 255 + 1e-5).all()
