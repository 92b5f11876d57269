"""Signals that come at the worst moments: inside a write, while the device works, from a terminal that is gone."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import threading

import pytest
from rich.console import Console
from tiny_runs import FLAGS, WORLD, numbers, start, wait_for_lines

from ndigo.config import Config
from ndigo.errors import StoppedNow
from ndigo.storage import checkpoint
from ndigo.storage.run_folder import RunFolder
from ndigo.training.progress import TrainingProgress
from ndigo.training.run import continue_runs, new_run
from ndigo.training.signals import stop_signals

HOUSE = {"channels": [], "in_view": [], "objects": []}


class SignallingPipe(io.RawIOBase):
    """The end of a stream; a signal comes in the middle of those of its writes that `at` names."""

    def __init__(self, number: signal.Signals, at: range):
        self.number, self.at, self.num_writes, self.data = number, at, 0, b""

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        if self.num_writes in self.at:
            signal.raise_signal(self.number)  # its handler runs here, with the buffer above us half written
        self.num_writes += 1
        self.data += bytes(data)
        return len(data)

    def console(self) -> Console:
        return Console(file=io.TextIOWrapper(io.BufferedWriter(self), write_through=True))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_two_hundred_signals_inside_writes_are_noted_and_told_after_them(number):
    for _ in range(200):
        pipe = SignallingPipe(number, at=range(1))
        with (
            TrainingProgress(pipe.console(), HOUSE, Config(), None) as progress,
            stop_signals(progress.say) as signals,
        ):
            progress.say("step 4")
            assert signals.first == number.name
            assert pipe.data == b"step 4\n"
            signals.listen()
            signals.listen()
        assert pipe.data.decode().splitlines() == [
            "step 4",
            f"{number.name}: finishing this chunk, then saving ... (twice more: stop now, without this chunk)",
        ]


def test_a_signal_inside_the_line_of_an_evaluation_saves_the_run_as_any_other(finished, tmp_path):
    pipe = SignallingPipe(signal.SIGTERM, at=range(1))
    config, folder = finished.config, RunFolder(tmp_path / "run")
    new_run(folder.path, config, finished.world, finished.reward)
    (outcome,) = continue_runs([(folder, config)], finished.world, finished.reward, console=pipe.console())
    assert (outcome.step, outcome.why) == (8, "SIGTERM")  # the first evaluation's chunk
    assert checkpoint.steps(folder.checkpoints)[0] == 8
    assert numbers(folder.path) == numbers(finished.path)[:2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_third_is_raised_where_the_loop_listens_with_its_exit_code(number):
    said: list[str] = []
    with stop_signals(said.append) as signals:
        for count in (1, 2):
            signal.raise_signal(number)
            signals.listen()
            assert len(said) == count
        signal.raise_signal(number)  # inside a write, say: nothing happens here
        with pytest.raises(StoppedNow) as stop:
            signals.listen()
    assert stop.value.exit_code == 128 + number
    assert isinstance(stop.value, KeyboardInterrupt)  # what a notebook expects


def test_handlers_are_as_they_were_afterwards_and_from_a_third_on():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with stop_signals(print):
        assert signal.getsignal(signal.SIGTERM) is not before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    with stop_signals(print):
        for _ in range(3):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_what_nohup_has_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_signals(print) as signals:
            signal.raise_signal(signal.SIGHUP)
            assert signals.first == ""
    finally:
        signal.signal(signal.SIGHUP, before)


TAKE_THE_TERMINAL = "import fcntl, os, termios\nos.setsid()\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)"


def drain(screen: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.read(screen, 1 << 16)


@pytest.mark.slow
def test_a_closed_terminal_ends_the_chunk_and_saves(finished, tmp_path):
    """The system sends SIGHUP, and from then on refuses every write to the screen."""
    run, (screen, terminal) = tmp_path / "run", os.openpty()
    words = ["train", WORLD, *FLAGS, "--reward", "ndigo-1", "--learner-steps", "1000000", "--out", str(run)]
    process = start(*words, first=TAKE_THE_TERMINAL, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    os.set_blocking(screen, False)
    wait_for_lines(process, run, 2, lambda: drain(screen))
    os.close(screen)
    process.wait(timeout=200)
    assert process.returncode == 141  # there is nobody to tell
    lines = numbers(run)
    assert "evaluation" in lines[-1]
    assert checkpoint.steps(run / "checkpoints")[0] == lines[-1]["step"]
    assert [line["learning"] for line in lines[:2]] == [line["learning"] for line in numbers(finished.path)[:2]]


def test_in_another_thread_signals_are_left_to_the_caller(tmp_path):
    found = []

    def train() -> None:
        with stop_signals(print) as signals:
            found.append(signals.first)

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert found == [""]
