"""The run folder: what a reader meets after kills, full disks and other people's edits."""

import contextlib
import errno
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from full_disk import files_end_at

from ndigo.errors import NdigoError
from ndigo.storage import checkpoint
from ndigo.storage.run_folder import RunFolder, WriteError

WRITTEN = ["checkpoints", "config.json", "metrics.jsonl"]


@pytest.fixture
def run(tmp_path) -> RunFolder:
    folder = RunFolder.create(tmp_path / "run", {"config": {}})
    for step in (1, 2, 3):
        folder.append({"step": step})
    return folder


def steps(run: RunFolder) -> list[int]:
    return [line["step"] for line in run.metrics()]


def test_lines_come_back_in_order(run):
    assert steps(run) == [1, 2, 3]


def test_a_line_cut_short_by_a_kill_is_skipped_and_written_over(run):
    with open(run.path / "metrics.jsonl", "a") as file:
        file.write('{"step": 4, "lear')
    assert steps(run) == [1, 2, 3]
    run.rewind(3)
    run.append({"step": 4})
    assert steps(run) == [1, 2, 3, 4]


def test_rewinding_drops_later_lines_and_what_a_kill_left(run):
    (run.path / ".metrics.jsonl.tmp").write_text("half")
    run.rewind(2)
    assert steps(run) == [1, 2]
    assert sorted(os.listdir(run.path)) == WRITTEN


def test_rewinding_leaves_what_is_not_ours(run):
    (run.path / ".diary.tmp").mkdir()
    (run.path / ".notes.txt.tmp").write_text("precious")
    run.rewind(2)
    assert sorted(os.listdir(run.path)) == [".diary.tmp", ".notes.txt.tmp", *WRITTEN]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
def test_a_disk_that_cannot_sync_folders_is_written_and_one_that_fails_is_not(number, run, monkeypatch):
    """Linux answers EINVAL where a file system has no sync of folders, as CIFS had none and VirtualBox's has none."""
    fsync = os.fsync

    def of_files(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", of_files)
    with contextlib.nullcontext() if number == errno.EINVAL else pytest.raises(WriteError, match="cannot write"):
        run.rewind(2)


def test_a_damaged_line_in_the_middle_is_named(run):
    lines = (run.path / "metrics.jsonl").read_text().split("\n")
    (run.path / "metrics.jsonl").write_bytes("\n".join([lines[0], "\xff{", *lines[2:]]).encode("latin-1"))
    with pytest.raises(NdigoError, match=r"metrics\.jsonl is damaged in line 2: it does not end in a sha256"):
        steps(run)


@pytest.mark.parametrize(("order", "line"), [("02", 2), ("12", 1), ("021", 2), ("0112", 3), ("00", 2)])
def test_missing_repeated_and_swapped_lines_are_named(run, order, line):
    lines = (run.path / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "metrics.jsonl").write_bytes(b"".join(lines[int(i)] for i in order))
    with pytest.raises(NdigoError, match=rf"is damaged in line {line}: it does not match its sha256, or a line before"):
        steps(run)


def test_the_chain_goes_on_in_another_process_and_after_a_rewind(run):
    again = RunFolder(run.path)
    again.append({"step": 4})
    run.append({"step": 5})
    again.rewind(4)
    again.append({"step": 6})
    assert steps(RunFolder(run.path)) == [1, 2, 3, 4, 6]


def test_every_byte_of_the_settings_and_metrics_counts(run):
    for name, read in (("config.json", run.settings), ("metrics.jsonl", run.metrics)):
        path = run.path / name
        whole = path.read_bytes()
        for at in range(len(whole)):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << at % 8
            path.write_bytes(bytes(damaged))
            with pytest.raises(NdigoError, match=rf"{name} is damaged"):
                read()
        path.write_bytes(whole)
        read()


def test_a_full_disk_keeps_no_part_of_a_line(run):
    size = (run.path / "metrics.jsonl").stat().st_size
    with files_end_at(size + 5), pytest.raises(WriteError, match=r"^cannot write \S+/metrics\.jsonl: File too large$"):
        run.append({"step": 4})
    assert (run.path / "metrics.jsonl").stat().st_size == size
    run.append({"step": 4})
    assert steps(run) == [1, 2, 3, 4]


def test_a_full_disk_leaves_the_old_metrics_when_rewinding(run):
    with files_end_at(5), pytest.raises(WriteError):
        run.rewind(2)
    assert steps(run) == [1, 2, 3]
    assert sorted(os.listdir(run.path)) == WRITTEN


def test_a_folder_that_holds_a_run_is_left_alone(run):
    with pytest.raises(NdigoError, match=r"already holds a run; continue it with --resume"):
        RunFolder.create(run.path, {"config": {"other": 1}})
    assert run.settings() == {"config": {}}


def test_a_file_in_the_way_of_a_run_is_named(tmp_path):
    (tmp_path / "run").write_text("a diary")
    with pytest.raises(NdigoError, match="is a file; --out must name a folder"):
        RunFolder.create(tmp_path / "run", {})
    with pytest.raises(WriteError, match="cannot make the folder"):
        RunFolder.create(tmp_path / "run" / "deeper", {})
    assert (tmp_path / "run").read_text() == "a diary"


def test_a_folder_without_settings_is_no_run(tmp_path):
    with pytest.raises(NdigoError, match=r"is not a run: it has no config\.json"):
        RunFolder.open(tmp_path)


def test_a_finished_row_is_not_opened_as_a_run_whose_training_could_begin_again():
    row = Path(__file__).parents[2] / "results/rows/exp1-ndigo-4"
    with pytest.raises(NdigoError, match="exp1-ndigo-4 is a finished row, not a run: it keeps no networks"):
        RunFolder.open(row)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe"])
def test_damaged_settings_are_named(run, content):
    (run.path / "config.json").write_bytes(content)
    with pytest.raises(NdigoError, match=r"config\.json is damaged .*; the run cannot be read$"):
        run.settings()


@pytest.mark.timeout(20)
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(run, tmp_path):
    for name, read in (("metrics.jsonl", run.metrics), ("config.json", run.settings)):
        (run.path / name).unlink()
        os.mkfifo(run.path / name)
        with pytest.raises(OSError, match=f"it is no file: .*{name}"):
            read()
    checkpoint.save(tmp_path, 8, {"x": np.ones(3)}, "mark")
    (tmp_path / "step_8" / "state.safetensors").unlink()
    os.mkfifo(tmp_path / "step_8" / "state.safetensors")
    with pytest.raises(NdigoError, match=r"step_8 is damaged \(state.safetensors: it is no file\)"):
        checkpoint.load(tmp_path / "step_8", "mark")
