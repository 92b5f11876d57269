"""Environments that fail are told of in one line, with their own reason, before a run has a folder."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from stream_worlds import CountingEnv

import ndigo
from ndigo.cli import main
from ndigo.errors import NdigoError, StoppedNow, UserCodeError, frames_of
from ndigo.gate import check_processes
from ndigo.interop.suites import from_gymnasium

TINY: dict[str, Any] = {"preset": "cpu", "quiet": True, "learner_steps": 1}


class Returns(CountingEnv):
    """Its step ends in what a function makes of the five values."""

    def __init__(self, change: Any):
        super().__init__()
        self.change = change

    def step(self, action: int) -> Any:
        return self.change(*super().step(action))


FIVE = "expected five values: observation, reward, terminated, truncated, info"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda o, r, end, cut, info: (o, r, end, {"lives": 3}), f"its step returned 4 values, {FIVE}"),
        (lambda o, r, end, cut, info: o, f"its step returned a ndarray, {FIVE}"),
        (lambda o, r, end, cut, info: (o, r, end, info, info), "truncated of its step is of type dict, expected bool"),
        (lambda o, r, end, cut, info: (o, r, 0.0, cut, info), "terminated of its step is of type float, expected bool"),
    ],
)
def test_a_step_that_does_not_return_gymnasiums_five_values_is_refused(change, says, tmp_path):
    with pytest.raises(NdigoError) as error:
        ndigo.train(from_gymnasium(partial(Returns, change), name="old"), "ndigo-1", out=tmp_path / "run", **TINY)
    assert str(error.value) == f"world old: {says}"
    assert not (tmp_path / "run").exists()


def test_ends_in_numpys_bools_are_taken():
    world = from_gymnasium(partial(Returns, lambda o, r, end, cut, info: (o, r, np.bool_(end), np.bool_(cut), info)))
    assert world.host is not None
    envs = world.host.open(1, 0)
    envs.reset(0)
    envs.send(np.zeros(1, int))
    assert envs.receive().is_last.dtype == bool


def test_places_come_through_processes_as_they_are():
    """Float32 has no 30,000,001: its next number is 30,000,002."""
    world = from_gymnasium(CountingEnv, place=lambda env: (30_000_000 + env.t, -0.5))
    assert world.host is not None
    for num_processes in (0, 1):
        envs = world.host.open(1, num_processes)
        seen = [np.array(envs.reset(0).place)]
        envs.send(np.zeros(1, int))
        seen.append(np.array(envs.receive().place))
        envs.close()
        assert np.array(seen).tolist() == [[[30_000_000, -0.5]], [[30_000_001, -0.5]]]


def test_a_place_that_is_no_number_is_refused(tmp_path):
    world = from_gymnasium(CountingEnv, name="lost", place=lambda env: None)
    with pytest.raises(NdigoError, match="world lost: step 0 of it: place returned numbers that are not finite"):
        ndigo.train(world, "ndigo-1", out=tmp_path / "run", **TINY)


class Fails(CountingEnv):
    """Its step does what a function does, in the processes that step it."""

    def __init__(self, act: Any):
        super().__init__()
        self.act = act

    def step(self, action: int) -> Any:
        return self.act()


def raise_what_cannot_be_pickled() -> None:
    error = KeyError("door")
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    raise error


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("act", "says"),
    [
        (partial(os._exit, 7), "one of their processes ended, killed or out of memory"),
        (partial(sys.exit, 7), "SystemExit: 7"),
        (raise_what_cannot_be_pickled, "KeyError: 'door'"),
    ],
)
def test_who_fails_in_a_step_is_told_of_in_a_line_and_closes_in_peace(act, says):
    host = from_gymnasium(partial(Fails, act), name="mine").host
    assert host is not None
    envs = host.open(1, 1)
    envs.reset(0)
    envs.send(np.zeros(1, int))
    with pytest.raises(NdigoError) as error:
        envs.receive()
    assert str(error.value) == f"world mine: its environments failed: {says}"
    envs.close()  # as the trainer does after any error


def limited(act: Any) -> gymnasium.Env:
    """As Gymnasium's `make` wraps it."""
    return gymnasium.wrappers.TimeLimit(Fails(act), 9)


def test_of_what_a_process_raised_its_own_frames_are_shown_and_nothing_else(capfd):
    """On the command line (`frames_of`), and by Python, which shows notes."""
    host = from_gymnasium(partial(limited, partial(int, "door")), name="mine").host
    assert host is not None
    envs = host.open(2, 2)
    envs.reset(0)
    envs.send(np.zeros(2, int))
    with pytest.raises(UserCodeError) as error:
        envs.receive()
    first, *frames, last = frames_of(error.value).splitlines()
    assert first == "Your code, most recent call last:"
    assert [line.strip() for line in frames if line.startswith("  File")] == [frames[0].strip()]
    assert re.search(r"test_gymnasium_processes\.py\", line \d+, in step$", frames[0])
    assert last == "ValueError: invalid literal for int() with base 10: 'door'"
    assert frames_of(error.value) in "".join(traceback.format_exception(error.value))
    assert error.value.__cause__ is None
    assert capfd.readouterr().err == ""


class Hangs(CountingEnv):
    def step(self, action: int) -> Any:
        time.sleep(1000)


def test_who_waits_for_a_step_that_hangs_listens_and_may_stop_waiting():
    heard = []

    def listen() -> None:
        heard.append(time.monotonic())
        if len(heard) == 3:
            raise StoppedNow(signal.SIGINT)

    host = from_gymnasium(Hangs, name="hangs").host
    assert host is not None
    envs = host.open(2, 2)
    envs.reset(0)
    envs.send(np.zeros(2, int))
    with pytest.raises(StoppedNow):
        envs.receive(listen)
    assert heard[-1] - heard[0] < 5
    envs.close()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


DIES = """
import multiprocessing, os, sys
import numpy as np
from test_gymnasium_processes import Hangs
from ndigo.interop.suites import from_gymnasium
if __name__ == "__main__":
    envs = from_gymnasium(Hangs).host.open(2, 2)
    envs.reset(0)
    envs.send(np.zeros(2, int))
    print(*[process.pid for process in multiprocessing.active_children()], flush=True)
    os._exit(3)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the system by /proc which processes live")
def test_environments_that_hang_do_not_outlive_the_run(tmp_path):
    (tmp_path / "dies.py").write_text(DIES)
    folders = [os.environ.get("PYTHONPATH", ""), str(Path(__file__).parent), str(Path(__file__).parents[1] / "made_up")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    died = subprocess.run([sys.executable, "dies.py"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True)
    assert died.returncode == 3
    pids = [int(pid) for pid in died.stdout.split()]
    assert len(pids) == 2
    until = time.monotonic() + 20
    while any(map(is_alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    left = [pid for pid in pids if is_alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def make_only_here() -> gymnasium.Env:
    if multiprocessing.parent_process() is not None:
        raise KeyError("no display")
    return CountingEnv()


def test_what_fails_in_another_process_alone_is_refused_with_its_own_words(tmp_path, capfd):
    world = from_gymnasium(make_only_here, name="shy")
    with pytest.raises(NdigoError) as error:
        ndigo.train(world, "ndigo-1", out=tmp_path / "run", **TINY)
    assert str(error.value) == "world shy: its environments failed: KeyError: 'no display'"
    assert not (tmp_path / "run").exists()
    assert capfd.readouterr().err == ""
    os.write(2, b"seen")  # what is written later reaches the screen again
    assert capfd.readouterr().err == "seen"


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_a_dry_run_refuses_what_fails_in_another_process_alone(tmp_path, monkeypatch, capsys):
    lines = "from ndigo.interop.suites import from_gymnasium", "from test_gymnasium_processes import make_only_here"
    (tmp_path / "shyworld.py").write_text("\n".join([*lines, "world = from_gymnasium(make_only_here, name='shy')"]))
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert main(["train", "shyworld:world", "--preset=cpu", "--dry-run"]) == 2
    finally:
        sys.modules.pop("shyworld", None)
    first, *frames, last = capsys.readouterr().err.splitlines()
    assert (first, frames[-1]) == ("Your code, most recent call last:", "KeyError: 'no display'")
    assert len([line for line in frames if "make_only_here" in line]) == 1
    assert last == "ndigo: world shy: its environments failed: KeyError: 'no display'"


ROOM = """
import gymnasium, stream_worlds
gymnasium.register("Pit-v0", entry_point=stream_worlds.CountingEnv)
"""
WORLD = """
import gymnasium, pitroom
from ndigo.interop.suites import from_gymnasium
world = from_gymnasium(lambda: gymnasium.make("Pit-v0"))
"""


def test_a_lambdas_module_is_imported_where_the_lambda_is_called(tmp_path, monkeypatch):
    """By which the id is registered there too."""
    (tmp_path / "pitroom.py").write_text(ROOM)
    (tmp_path / "pitworld.py").write_text(WORLD)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        check_processes(__import__("pitworld").world)
    finally:
        gymnasium.registry.pop("Pit-v0", None)
        for name in ("pitroom", "pitworld"):
            sys.modules.pop(name, None)


def test_a_lambda_whose_module_is_in_no_file_is_called_all_the_same():
    made: dict[str, Any] = {"__name__": "by_hand", "CountingEnv": CountingEnv}
    exec("make = lambda: CountingEnv()", made)
    check_processes(from_gymnasium(made["make"]))


def test_a_script_without_its_guard_is_told_of_it_and_leaves_no_folder(tmp_path):
    (tmp_path / "script.py").write_text(
        "import ndigo\nfrom stream_worlds import CountingEnv\nfrom ndigo.interop.suites import from_gymnasium\n"
        f"ndigo.train(from_gymnasium(CountingEnv, name='bare'), 'ndigo-1', out='run', **{TINY})\n"
    )
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(Path(__file__).parents[1] / "made_up")])
    said = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    ).stderr
    why = 'a script that trains says `if __name__ == "__main__":`, because their processes import it'
    assert said.endswith(f"NdigoError: world bare: its environments failed: {why}\n")
    assert said.count("Traceback") == 1
    assert not (tmp_path / "run").exists()
