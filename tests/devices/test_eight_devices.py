"""Eight devices with one seed each are eight runs of one seed, to the bit, and say nothing to each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_a_seed_alone_on_its_device_is_trained_to_the_bit_as_alone_and_without_a_message():
    found = run_on_devices("on_eight_devices.py", 8)
    assert found["devices"] == list(range(8))
    assert (found["act"], found["learn"]) == ([], [])
    assert found["different"] == []


def run_on_devices(script: str, num: int) -> dict:
    """What a script of this folder prints, in a process whose CPU is so many devices."""
    paths = [HERE.parent, HERE.parent.parent / "examples", os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"JAX_NUM_CPU_DEVICES": str(num), "PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run([sys.executable, HERE / script], env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
