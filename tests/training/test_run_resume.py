"""Nothing is lost: kills, signals, damage and full disks, and the numbers of an uninterrupted run after each."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from full_disk import files_end_at
from tiny_runs import CHUNK, FLAGS, TINY, TRUST, WORLD, change_settings, numbers, start, train_tiny, wait_for_lines

import ndigo
from ndigo.cli import main
from ndigo.errors import NdigoError
from ndigo.storage import checkpoint, milestones, run_folder
from ndigo.storage.agents import load_agent
from ndigo.storage.lock import one_writer
from ndigo.storage.run_folder import RunFolder, WriteError
from ndigo.storage.saving import Saving
from ndigo.training.divergence import refuse_bad_numbers

STREAM = "stream_worlds:corridor_to_goal"


def steps(run: Path) -> list[int]:
    return [line["step"] for line in numbers(run)]


def learned(run: Path) -> list[dict[str, Any]]:
    return [line["learning"] for line in numbers(run)]


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(finished, tmp_path):
    again = train_tiny(tmp_path / "again").path
    assert numbers(again) == numbers(finished.path)
    other = train_tiny(tmp_path / "other", seed=1).path
    assert numbers(other)[0]["learning"] != numbers(finished.path)[0]["learning"]


def test_a_run_ends_at_its_steps_with_an_evaluation_and_resuming_it_changes_nothing(finished):
    assert finished.outcome == ndigo.api.Outcome(step=20, why="finished")
    before = numbers(finished.path)
    assert [("evaluation" in line) for line in before] == [False, True, False, True, True]
    assert ndigo.resume(finished.path, quiet=True, trust=TRUST).outcome == finished.outcome
    assert numbers(finished.path) == before


def says_how_to_continue(out: str, signal_name: str, run: Path) -> bool:
    return f"({signal_name}) and saved; continue with ndigo train --resume {run} --trust custom_world\n" in out


def test_ctrl_c_ends_the_chunk_saves_and_says_how_to_continue(finished, tmp_path):
    """A process of its own, in the middle of a run that would go on for hours."""
    run = tmp_path / "run"
    flags = [*FLAGS, "--reward", "ndigo-1", "--learner-steps", "1000000", "--out", str(run)]
    process = start("train", WORLD, *flags)
    wait_for_lines(process, run, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=250)
    assert (process.returncode, err) == (130, "")
    assert says_how_to_continue(out, "SIGINT", run)
    assert checkpoint.steps(run / "checkpoints")[0] == steps(run)[-1]
    # The stop adds an evaluation; what was learned is the uninterrupted run's, as far as that went.
    compared = min(len(learned(run)), len(learned(finished.path)))
    assert compared >= 2
    assert learned(run)[:compared] == learned(finished.path)[:compared]


SAY_WHEN_WAITING = """
import time, types
from ndigo.training import signals

def sleep(seconds):
    print("waiting", flush=True)
    time.sleep(seconds)

signals.time = types.SimpleNamespace(sleep=sleep)
"""


@pytest.mark.slow
def test_a_third_signal_ends_a_chunk_that_would_take_hours(tmp_path):
    """One round of a hundred thousand large updates: Python waits for the device, and must hear the signals meanwhile.

    Each is sent when the one before has been told: two at once would be handed over as one.
    """
    run = tmp_path / "run"
    flags = [*FLAGS, "--updates-per-round", "100000", "--learner-steps", "100000", "--batch", "64"]
    process = start("train", WORLD, *flags, "--reward", "ndigo-1", "--out", str(run), first=SAY_WHEN_WAITING)
    assert process.stdout is not None
    for expected in ("waiting", "SIGINT: finishing this chunk", "SIGINT: still finishing this chunk"):
        while expected not in (line := process.stdout.readline()):
            assert line, process.communicate()
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=200)
    assert (process.returncode, err) == (130, "")
    assert steps(run) == []


def test_sigterm_in_a_chunk_ends_it_with_an_evaluation_and_a_checkpoint(finished, tmp_path, monkeypatch, capsys):
    run = tmp_path / "run"

    def terminated(numbers, step):
        if step == 12:  # computed, and neither looked at nor written
            signal.raise_signal(signal.SIGTERM)
        refuse_bad_numbers(numbers, step)

    with monkeypatch.context() as patch:
        patch.setattr("ndigo.training.divergence.refuse_bad_numbers", terminated)
        assert main(["train", WORLD, *FLAGS, "--reward", "ndigo-1", "--out", str(run)]) == 143
    out, err = capsys.readouterr()
    assert err == ""
    assert says_how_to_continue(out, "SIGTERM", run)
    assert checkpoint.steps(run / "checkpoints")[0] == steps(run)[-1] == 12
    assert "evaluation" in numbers(run)[-1]  # which the uninterrupted run has at step 16
    assert "evaluation" not in numbers(finished.path)[2]
    assert learned(run) == learned(finished.path)[:3]


class PowerCut(BaseException):
    """Ends the process's writing at once, as a kill would: nothing is tidied up."""


# Of one whose episodes have one length, and of one where they end by themselves.
@pytest.mark.parametrize(("world", "num_syncs"), [(WORLD, 3), (WORLD, 7), (WORLD, 10), (STREAM, 7)])
def test_a_kill_inside_any_write_loses_at_most_a_chunk(world, num_syncs, finished, tmp_path, monkeypatch):
    unbroken = finished.path if world == WORLD else train_tiny(tmp_path / "unbroken", world=world).path
    real, count = os.fsync, [0]

    def failing(handle):
        count[0] += 1
        if count[0] > num_syncs:
            raise PowerCut
        real(handle)

    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises(PowerCut):
            train_tiny(run, world=world)
    saved, lines = checkpoint.steps(run / "checkpoints"), steps(run)
    assert (lines[-1] if lines else 0) - (saved[0] if saved else 0) <= CHUNK
    ndigo.resume(run, quiet=True, trust=(*TRUST, "stream_worlds"))
    assert numbers(run) == numbers(unbroken)
    assert not list(run.rglob(".*.tmp"))


def cut_off(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends in its last chunk, before its line of metrics, as a kill would end it."""
    real = run_folder.RunFolder.append

    def append(self, line):
        if line["step"] == 20:
            raise PowerCut
        real(self, line)

    with monkeypatch.context() as patch:
        patch.setattr(run_folder.RunFolder, "append", append)
        with pytest.raises(PowerCut):
            train_tiny(run)


def test_after_a_minute_saving_takes_a_twentieth_of_the_time_at_most():
    now = [0.0]
    saving, saved = Saving(lambda: now[0]), []
    for _ in range(400):  # chunks of two seconds, and half a second for each save
        now[0] += 2.0
        with saving.of_chunk(saving.is_due()) as is_saved:
            now[0] += 0.5 * is_saved
        saved.append((now[0], is_saved))
    assert all(is_saved for seconds, is_saved in saved if seconds < Saving.ALWAYS)
    later = [(seconds, is_saved) for seconds, is_saved in saved if seconds > 2 * Saving.ALWAYS]
    took = 0.5 * sum(is_saved for _, is_saved in later)
    assert 0.04 < took / (later[-1][0] - later[0][0]) <= 0.05


def test_a_kill_between_checkpoints_that_rest_leads_to_the_same_numbers(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(Saving, "ALWAYS", -1.0)
    monkeypatch.setattr(Saving, "REST", 1e9)
    assert checkpoint.steps(train_tiny(tmp_path / "whole").path / "checkpoints") == [20, 4]  # first and last alone
    cut_off(tmp_path / "run", monkeypatch)
    assert checkpoint.steps(tmp_path / "run" / "checkpoints") == [4]
    assert steps(tmp_path / "run") == [4, 8, 12, 16]
    ndigo.resume(tmp_path / "run", quiet=True, trust=TRUST)
    assert numbers(tmp_path / "run") == numbers(tmp_path / "whole") == numbers(finished.path)


@pytest.fixture
def stopped(tmp_path, monkeypatch) -> Path:
    """A run cut off in its last chunk, with checkpoints of steps 12 and 16."""
    cut_off(tmp_path / "run", monkeypatch)
    assert checkpoint.steps(tmp_path / "run" / "checkpoints") == [16, 12]
    return tmp_path / "run"


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_leads_to_the_same_numbers(finished, stopped, capsys):
    path = stopped / "checkpoints" / "step_16" / "state.safetensors"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    assert ndigo.resume(stopped, trust=TRUST).outcome == finished.outcome
    first_line = capsys.readouterr().out.split("\n")[0]
    assert first_line == f"checkpoint {path.parent} is damaged (state.safetensors does not match its sha256)"
    assert numbers(stopped) == numbers(finished.path)


def test_a_full_disk_stops_the_run_with_its_last_good_checkpoint_and_it_goes_on_when_there_is_room(
    finished, tmp_path, monkeypatch
):
    run, real = tmp_path / "run", checkpoint.save

    def save(folder, step, arrays, fingerprint):
        if step == 12:
            with files_end_at(1000):
                return real(folder, step, arrays, fingerprint)
        return real(folder, step, arrays, fingerprint)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", save)
        with pytest.raises(WriteError, match=r"^checkpoint of step 12 is not saved .*last good checkpoint is step 8$"):
            train_tiny(run)
    assert checkpoint.steps(run / "checkpoints") == [8, 4]
    assert not list(run.rglob(".*.tmp"))
    ndigo.resume(run, quiet=True, trust=TRUST)
    assert numbers(run) == numbers(finished.path)


def test_metrics_that_do_not_fit_stop_the_run_in_one_line(finished, tmp_path, monkeypatch):
    run, real = tmp_path / "run", run_folder.RunFolder.append

    def append(self, line):
        if line["step"] == 12:
            with files_end_at((run / "metrics.jsonl").stat().st_size + 10):
                return real(self, line)
        return real(self, line)

    with monkeypatch.context() as patch:
        patch.setattr(run_folder.RunFolder, "append", append)
        with pytest.raises(WriteError, match=r"^cannot write \S+/metrics\.jsonl: File too large$"):
            train_tiny(run)
    assert steps(run) == [4, 8]
    ndigo.resume(run, quiet=True, trust=TRUST)
    assert numbers(run) == numbers(finished.path)


def test_a_checkpoint_of_another_configuration_is_refused_in_one_line(finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished.path, run)
    change_settings(run, '"batch": 4', '"batch": 5')
    with pytest.raises(NdigoError, match=r"^no checkpoint in \S+ can be used: steps 20, 16$"):
        ndigo.resume(run, quiet=True, trust=TRUST)
    assert numbers(run) == numbers(finished.path)  # nothing was rewound


@pytest.mark.parametrize("step", [CHUNK, 20])
def test_lost_checkpoints_are_an_error_and_the_metrics_stay(step, finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished.path, run)
    shutil.rmtree(run / "checkpoints")
    RunFolder(run).rewind(step)
    before = (run / "metrics.jsonl").read_bytes()
    message = rf"^\S+ has metrics up to step {step} but no checkpoint to go on from: put "
    with pytest.raises(NdigoError, match=message):
        ndigo.resume(run, quiet=True, trust=TRUST)
    assert (run / "metrics.jsonl").read_bytes() == before


def test_a_first_chunk_without_its_checkpoint_is_learned_again_and_told(finished, tmp_path, monkeypatch, capsys):
    """A kill after its line and before its checkpoint."""
    run = tmp_path / "run"

    def killed(*_):
        raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr("ndigo.storage.checkpoint.CheckpointWriter.write", killed)
        with pytest.raises(PowerCut):
            train_tiny(run)
    assert steps(run) == [CHUNK]
    ndigo.resume(run, trust=TRUST)
    told = f"{run} has no checkpoint yet: its first chunk is learned again"
    assert capsys.readouterr().out.split("\n")[0] == told
    assert numbers(run) == numbers(finished.path)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_neither_trained_nor_used(bad, stopped, tmp_path, capsys):
    """As a checkpoint of another program could hold; ours refuses to write one."""
    mark = checkpoint.fingerprint(RunFolder(stopped).settings()["config"])
    arrays = checkpoint.load(stopped / "checkpoints" / "step_16", mark)
    name = next(name for name in arrays if name.startswith(".learner.params.model"))
    arrays[name].flat[0] = bad
    checkpoint.save(stopped / "checkpoints", 16, arrays, mark)
    expected = f"the checkpoint of step 16 in {stopped} cannot be used: tensor {name} holds numbers that are not finite"
    with pytest.raises(NdigoError, match=f"^{re.escape(expected)}$"):
        ndigo.resume(stopped, quiet=True, trust=TRUST)
    tensor = re.escape(name.removeprefix(".learner.params"))
    with pytest.raises(NdigoError, match=f"cannot be used: tensor {tensor} holds numbers that are not finite$"):
        ndigo.load(stopped, trust=TRUST)


def test_a_second_writer_is_told_who_the_first_is_and_changes_nothing(stopped, tmp_path, capsys):
    before = {path: path.read_bytes() for path in stopped.rglob("*") if path.is_file() and path.name != ".lock"}
    held = f"{stopped} is being written by process {os.getpid()} on {socket.gethostname()}; wait until that ends, "
    with one_writer(stopped):
        assert main(["train", "--resume", str(stopped), "--trust", *TRUST]) == 2
    assert capsys.readouterr().err.startswith(f"ndigo: {held}")
    assert {path: path.read_bytes() for path in before} == before


def test_two_runs_that_begin_in_one_folder_are_not_both_begun(finished, tmp_path):
    with one_writer(tmp_path / "run"), pytest.raises(NdigoError, match="is being written by process"):
        train_tiny(tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]


def test_settings_of_another_version_are_refused_in_one_line(finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished.path, run)
    change_settings(run, '"batch": 4', '"batches": 4')
    with pytest.raises(NdigoError, match="was written by another version: its settings do not fit"):
        ndigo.resume(run, quiet=True, trust=TRUST)


def test_settings_that_cannot_be_trained_leave_no_folder(tmp_path):
    with pytest.raises(NdigoError, match="window 100: longer than an episode of 12 steps"):
        ndigo.train(WORLD, out=tmp_path / "run", **{**TINY, "window": 100})
    with pytest.raises(NdigoError, match="unknown predictor 'mpl'"):
        ndigo.train(WORLD, out=tmp_path / "run", **{**TINY, "predictor": "mpl"})
    assert not (tmp_path / "run").exists()


def test_without_a_window_of_ones_own_it_is_an_episode_at_most(tmp_path):
    told = []
    changes = {name: value for name, value in TINY.items() if name != "window"}
    run = ndigo.api.create_run(WORLD, "ndigo-1", out=tmp_path / "run", say=told.append, **changes)
    assert run.config.window == 12
    assert ndigo.api.open_run(run.path, trust=TRUST).config.window == 12
    assert [line.partition(",")[0] for line in told] == ["window 100 is cut to 12"]


def test_minutes_end_a_run_with_an_evaluation_and_it_can_go_on(finished, tmp_path):
    run = train_tiny(tmp_path / "run", minutes=1e-6)
    assert run.outcome == ndigo.api.Outcome(step=CHUNK, why="time")
    assert "evaluation" in run.metrics()[-1]
    ndigo.resume(run.path, quiet=True, trust=TRUST)
    assert learned(run.path) == learned(finished.path)


@pytest.mark.parametrize("minutes", [-5, 0, float("nan")])
def test_minutes_that_never_end_or_never_begin_are_refused(minutes, stopped):
    with pytest.raises(NdigoError, match=f"^--minutes {minutes}: must be above 0"):
        ndigo.resume(stopped, minutes=minutes, quiet=True, trust=TRUST)


def test_a_resumed_run_keeps_exports_and_opens_the_mean_of_its_policy(finished, stopped, tmp_path, monkeypatch):
    """The bits of a run that was never stopped, and nowhere the newest weights, which only training reads."""
    monkeypatch.setattr(milestones, "FIRST", 20)
    run = ndigo.resume(stopped, quiet=True, trust=TRUST)
    mark = checkpoint.fingerprint(RunFolder(run.path).settings()["config"])
    arrays, unbroken = (checkpoint.load(path / "checkpoints" / "step_20", mark) for path in (run.path, finished.path))
    part = ".learner.policy"
    mean = {f".agent{name.removeprefix(part)}": x for name, x in arrays.items() if name.startswith(part)}
    assert len(mean) > 4
    assert all(np.array_equal(unbroken[name], x) for name, x in arrays.items())
    assert all((x != arrays[f".learner.params{name}"]).any() for name, x in mean.items())

    opened = checkpoint.named_arrays(run.agent(1).params)
    exported, milestone = load_agent(run.export_agent(tmp_path / "agent", 1))[1], milestones.load(run.path, 20)
    for name, x in mean.items():
        np.testing.assert_array_equal(opened[name], x[1])
        np.testing.assert_array_equal(exported[name], x[1].astype(np.float16))
        np.testing.assert_array_equal(milestone[name], x[:1].astype(np.float16))


def test_evaluations_play_the_mean_and_training_does_not_read_it(finished, stopped):
    """A checkpoint with the opposite policy leads to the same learning and to other visits."""
    mark = checkpoint.fingerprint(RunFolder(stopped).settings()["config"])
    arrays = checkpoint.load(stopped / "checkpoints" / "step_16", mark)
    opposite = {name: -x for name, x in arrays.items() if name.startswith(".learner.policy")}
    checkpoint.save(stopped / "checkpoints", 16, arrays | opposite, mark)
    ndigo.resume(stopped, quiet=True, trust=TRUST)
    assert learned(stopped) == learned(finished.path)
    assert numbers(stopped)[-1]["evaluation"] != numbers(finished.path)[-1]["evaluation"]
