"""Checkpoints in parts: several processes write one, whole or absent; any number of processes reads it."""

from __future__ import annotations

import contextlib
import itertools
import threading
from pathlib import Path

import numpy as np
import pytest
from killed import KilledError, kill_at

from ndigo.errors import NdigoError
from ndigo.storage import checkpoint, parts
from ndigo.storage.parts import Share, piece_key
from ndigo.storage.run_folder import WriteError

MARK = "0123456789abcdef"
NEVER = threading.Event()


def state(step: int) -> dict[str, np.ndarray]:
    """Four lanes; the ring is saved as [lanes, rows] and lies as [lanes, rounds, rows of a round]."""
    return {
        ".weight": np.arange(4 * 10, dtype=np.float32).reshape(4, 10) + step,
        ".rows.windows.start": np.arange(4 * 6, dtype=np.int32).reshape(4, 6) * step,
        ".step": np.full(4, step, np.int32),
    }


def shares(arrays: dict[str, np.ndarray], cuts: list[tuple[slice, slice]]) -> list[Share]:
    """What processes hold that own these lanes, and these rows of each round."""
    lies = {name: x.reshape(4, 3, 2) if name.startswith(".rows") else x for name, x in arrays.items()}
    shapes = {name: (lies[name].shape, x.shape) for name, x in arrays.items()}
    made = []
    for i, (lanes, rows) in enumerate(cuts):
        pieces = {}
        for name, x in lies.items():
            if x.ndim == 3:
                pieces[piece_key(name, (lanes.start, 0, rows.start))] = x[lanes, :, rows]
            elif rows.start == 0:  # what all parts of a seed hold alike is the first one's to write
                pieces[piece_key(name, (lanes.start, *[0] * (x.ndim - 1)))] = x[lanes]
        made.append(Share(i, len(cuts), pieces, shapes))
    return made


BY_LANE = [(slice(0, 2), slice(0, 2)), (slice(2, 4), slice(0, 2))]
UNEVEN = [(slice(0, 1), slice(0, 2)), (slice(1, 3), slice(0, 2)), (slice(3, 4), slice(0, 2))]
BY_BOTH = [(slice(a, a + 2), slice(b, b + 1)) for a in (0, 2) for b in (0, 1)]


def save(folder: Path, step: int, cuts: list[tuple[slice, slice]]) -> None:
    first, *others = shares(state(step), cuts)
    for share in [*others, first]:  # the first waits for the others
        checkpoint.save_share(folder, step, share, MARK, NEVER)


@pytest.mark.parametrize("cuts", [BY_LANE, UNEVEN, BY_BOTH])
def test_parts_of_any_cut_become_the_arrays_of_one_process(tmp_path, cuts):
    save(tmp_path, 7, cuts)
    step, loaded = checkpoint.load_newest(tmp_path, MARK, pytest.fail)
    assert step == 7
    assert loaded.keys() == state(7).keys()
    for name, x in state(7).items():
        assert loaded[name].dtype == x.dtype
        np.testing.assert_array_equal(loaded[name], x)


@pytest.mark.parametrize("cuts", [BY_LANE, UNEVEN, BY_BOTH])
def test_the_lanes_of_one_run_are_a_checkpoint_of_their_own(tmp_path, cuts):
    first, *others = (share.lanes(1, 3) for share in shares(state(7), cuts))
    for share in [*others, first]:
        checkpoint.save_share(tmp_path, 7, share, MARK, NEVER)
    loaded = checkpoint.load(tmp_path / "step_7", MARK)
    for name, x in state(7).items():
        np.testing.assert_array_equal(loaded[name], x[1:3])


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("at", [0, 60, -1])
def test_a_flipped_byte_in_any_part_is_named_and_the_previous_one_is_used(tmp_path, part, at):
    for step in (1, 2, 3):
        save(tmp_path, step, BY_LANE)
    assert checkpoint.steps(tmp_path) == [3, 2]
    path = tmp_path / "step_3" / f"part_{part}.safetensors"
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))
    said: list[str] = []
    step, loaded = checkpoint.load_newest(tmp_path, MARK, said.append)
    assert said == [f"checkpoint {tmp_path}/step_3 is damaged (part_{part}.safetensors does not match its sha256)"]
    assert step == 2
    np.testing.assert_array_equal(loaded[".weight"], state(2)[".weight"])


def test_a_part_that_is_gone_is_named(tmp_path):
    save(tmp_path, 1, BY_LANE)
    (tmp_path / "step_1" / "part_1.safetensors").unlink()
    with pytest.raises(NdigoError, match=r"is damaged \(part_1\.safetensors: No such file or directory\)$"):
        checkpoint.load(tmp_path / "step_1", MARK)


def test_parts_that_do_not_fill_the_arrays_are_no_checkpoint(tmp_path):
    first, _ = shares(state(1), BY_LANE)
    checkpoint.save_share(tmp_path, 1, Share(0, 1, first.pieces, first.shapes), MARK, NEVER)
    with pytest.raises(NdigoError, match=r"is damaged \(parts of \.weight are missing\)$"):
        checkpoint.load(tmp_path / "step_1", MARK)


def test_without_every_part_there_is_no_checkpoint_and_the_last_good_one_stays(tmp_path, monkeypatch):
    save(tmp_path, 1, BY_LANE)
    first, second = shares(state(2), BY_LANE)
    lost = threading.Event()
    lost.set()
    with pytest.raises(
        WriteError, match=r"^checkpoint of step 2 .*part_1.* not written.*last good checkpoint is step 1$"
    ):
        checkpoint.save_share(tmp_path, 2, first, MARK, lost)
    monkeypatch.setattr(parts, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(WriteError, match="part_1"):
        checkpoint.save_share(tmp_path, 2, first, MARK, NEVER)
    assert checkpoint.load_newest(tmp_path, MARK, pytest.fail)[0] == 1
    checkpoint.remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step_1"]
    checkpoint.save_share(tmp_path, 2, second, MARK, NEVER)  # the other's alone is nothing yet
    assert checkpoint.steps(tmp_path) == [1]


def test_the_writer_does_not_wait_for_a_lost_process_when_its_own_has_failed(tmp_path):
    first, _ = shares(state(1), BY_LANE)
    writer = checkpoint.CheckpointWriter(tmp_path, MARK)
    writer.write(1, first)
    writer.__exit__(KeyError)  # as a `with` does when its block fails
    assert checkpoint.steps(tmp_path) == []


def test_what_is_after_the_step_of_all_runs_is_removed(tmp_path):
    for step in (1, 2, 3):
        checkpoint.save(tmp_path, step, state(step), MARK)
    checkpoint.remove_after(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["step_2"]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_killed_at_any_write_leaves_the_last_checkpoint_or_the_new_one(victim, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PATIENCE_SECONDS", 0.0)
    newest: list[int] = []
    for point in itertools.count():
        folder, is_killed = tmp_path / f"{point}", False
        save(folder, 1, BY_LANE)
        for share in reversed(shares(state(2), BY_LANE)):  # the first waits for the others
            with monkeypatch.context() as patched, contextlib.suppress(WriteError):
                if share.process == victim:
                    kill_at(point, patched)
                try:
                    checkpoint.save_share(folder, 2, share, MARK, NEVER)
                except KilledError:
                    is_killed = True
        step, arrays = checkpoint.load_newest(folder, MARK, pytest.fail)
        assert {name: x.tolist() for name, x in arrays.items()} == {n: x.tolist() for n, x in state(step).items()}
        checkpoint.remove_unfinished(folder)
        save(folder, 2, BY_LANE)  # goes on as if nothing had been
        assert checkpoint.load_newest(folder, MARK, pytest.fail)[0] == 2
        assert sorted(path.name for path in folder.iterdir()) == ["step_1", "step_2"]
        newest.append(step)
        if not is_killed:
            break
    assert newest == sorted(newest)  # the later the kill, the newer what is left
    assert newest.count(1) >= 5  # until the second of two files has its name
    assert newest[-1] == 2
