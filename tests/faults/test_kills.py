"""SIGKILL at every write and at random moments: the run that goes on has the bits of one that was never killed.

`make faults` runs all of it; `make test` a share.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tiny_runs import FLAGS, TINY, TRUST, WORLD, numbers, start, train_tiny

import ndigo
from ndigo.curiosity import saving
from ndigo.frames import bits
from ndigo.storage import checkpoint

IS_WHOLE = os.environ.get("NDIGO_FAULTS") == "all"
# By world, one of episodes of one length and one whose episodes end by themselves: before which writes it is killed.
STREAM = "stream_worlds:corridor_to_goal"
WRITE_POINTS = {WORLD: range(55), STREAM: range(0, 55, 5)} if IS_WHOLE else {}  # a share: training/test_run_resume.py
SAVE_POINTS = range(40) if IS_WHOLE else (22,)
RANDOM_KILLS = 100 if IS_WHOLE else 1
KILLS_PER_RUN = 5
LATEST = 4.0 if IS_WHOLE else 2.0  # seconds after a run's first word; a tiny one is over soon after
LONG = 400 if IS_WHOLE else TINY["learner_steps"]  # of a run that is killed at random moments
WORDS = ["train", WORLD, *FLAGS, "--reward", "ndigo-1"]
RESUME = ["--trust", *TRUST]
MADE_UP = Path(__file__).parents[1] / "made_up"  # has the second world

# The half of a write is a point too: of what was written since the last sync, only the first half reaches the disk.
KILL_AT_WRITE = """
import os, shutil, signal

left = {point}

def count():
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

def counted(name, module):
    real = getattr(module, name)

    def call(*args, **more):
        count()
        result = real(*args, **more)
        count()
        return result

    setattr(module, name, call)

fsync, synced = os.fsync, {{}}

def sync_half(handle):
    if os.path.isfile(link := f"/proc/self/fd/{{handle}}"):
        path, size = os.readlink(link), os.fstat(handle).st_size
        if left == 0:
            os.truncate(handle, (synced.get(path, 0) + size) // 2)
        synced[path] = size
    count()
    fsync(handle)

os.fsync = sync_half
counted("replace", os)
counted("rmtree", shutil)
"""


def state(run: Path) -> str:
    """The digest of the newest checkpoint's arrays."""
    newest = checkpoint.steps(run / "checkpoints")[0]
    return hashlib.sha256((run / "checkpoints" / f"step_{newest}" / "state.safetensors").read_bytes()).hexdigest()


def is_whole(run: Path, like: Path) -> bool:
    """Whether the run has the other's numbers, its last state bit for bit, and nothing half-written."""
    return numbers(run) == numbers(like) and state(run) == state(like) and not list(run.rglob(".*.tmp"))


def tell(capsys: pytest.CaptureFixture[str], what: str, count: Counter[str]) -> None:
    with capsys.disabled():
        if IS_WHOLE:
            print(f"\n{what}: {dict(count)}")


@pytest.mark.parametrize("world", WRITE_POINTS)
def test_a_kill_at_any_write_loses_nothing(world, finished, tmp_path, capsys):
    count, trust = Counter[str](), (*TRUST, "stream_worlds")
    unbroken = finished.path if world == WORLD else train_tiny(tmp_path / "unbroken", world=world).path
    for point in WRITE_POINTS[world]:
        run = tmp_path / f"run-{point}"
        first = f"sys.path.append({str(MADE_UP)!r})\n{KILL_AT_WRITE.format(point=point)}"
        process = start("train", world, *WORDS[2:], "--out", str(run), first=first)
        out, err = process.communicate(timeout=200)
        assert process.returncode == -signal.SIGKILL, (point, out, err)
        if (run / "config.json").exists():
            ndigo.resume(run, quiet=True, trust=trust)
        else:  # killed before there was a run: the same command begins it
            train_tiny(run, world=world)
        count["resumed identical" if is_whole(run, unbroken) else f"lost at {point}"] += 1
    tell(capsys, f"SIGKILL at a write, {world}", count)
    assert count == {"resumed identical": len(WRITE_POINTS[world])}


SAVE_SIX = """
import numpy as np
from pathlib import Path
from ndigo.curiosity import saving
for step in range(1, 7):
    saving.save(Path(sys.argv[1]), {settings}, step, {{"w": np.full(99, step, np.int32)}}, [], None)
    print(step, flush=True)
"""


def test_a_kill_within_a_save_of_a_curiosity_leaves_it_or_the_one_before(tmp_path, capsys):
    count, settings = Counter[str](), {"reward": "pe", "num_envs": 1, "config": {}}
    for point in SAVE_POINTS:
        folder = tmp_path / f"save-{point}"
        code = f"import sys\n{KILL_AT_WRITE.format(point=point)}{SAVE_SIX.format(settings=settings)}"
        child = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=200)
        assert child.returncode == -signal.SIGKILL, (point, child.stderr)
        told = [int(word) for word in child.stdout.split()]
        if told:
            step, tree, _, _ = saving.load(folder, settings, {"w": np.zeros(99, np.int32)}, bits(["thing"], 2))
            assert step in (told[-1], told[-1] + 1), point
            assert (tree["w"] == step).all(), point
        saving.save(folder, settings, 9, {"w": np.zeros(99, np.int32)}, [], None)  # it goes on
        count["whole"] += 1
    tell(capsys, "SIGKILL within a save of a curiosity", count)


@pytest.fixture(scope="module")
def long_run(finished, tmp_path_factory) -> ndigo.Run:
    return train_tiny(tmp_path_factory.mktemp("long") / "run", learner_steps=LONG) if IS_WHOLE else finished


def killed(process: subprocess.Popen[str], wait: float) -> bool:
    """Whether the process was killed before it ended, so many seconds after its first word."""
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(wait)
    process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_kills_at_random_moments_lose_nothing(long_run, tmp_path, capsys):
    """Whenever they come: while it compiles, restores, learns, evaluates or writes."""
    rng, count, num_kills = random.Random(0), Counter[str](), 0
    while num_kills < RANDOM_KILLS:
        run = tmp_path / f"run-{num_kills}"
        words = [*WORDS, "--learner-steps", str(LONG), "--out", str(run)]
        for _ in range(min(KILLS_PER_RUN, RANDOM_KILLS - num_kills)):
            num_kills += killed(start(*words), rng.uniform(0, LATEST))
            words = ["train", "--resume", str(run), *RESUME]
        ndigo.resume(run, quiet=True, trust=TRUST)
        count["runs identical" if is_whole(run, long_run.path) else "runs spoiled"] += 1
    tell(capsys, "SIGKILL at random moments", count + Counter({"kills": num_kills}))
    assert count["runs spoiled"] == 0


@pytest.mark.skipif(not IS_WHOLE, reason="tests/storage/test_lock.py holds it in one process")
def test_of_two_that_resume_one_run_one_trains_and_the_other_is_told(long_run, tmp_path, capsys):
    count = Counter[str]()
    for number in range(8):
        run = tmp_path / f"run-{number}"
        killed(start(*WORDS, "--learner-steps", str(LONG), "--out", str(run)), 1.0)
        both = [start("train", "--resume", str(run), *RESUME) for _ in range(2)]
        told = [(process.communicate(timeout=200), process.returncode) for process in both]
        refused = sum(code == 2 and "is being written by process" in err for (_, err), code in told)
        done = sum(code == 0 for _, code in told)
        count[f"{done} trained, {refused} refused"] += 1  # or one after the other
        assert done + refused == 2, told
        assert is_whole(run, long_run.path)
    tell(capsys, "two resumes at once", count)
