"""A script of tests/devices in a process whose CPU is several devices, which JAX is told before it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def run_on_devices(script: str, num: int, *words: str) -> dict:
    """What the script prints last, as JSON."""
    ours = [TESTS, TESTS / "support", TESTS / "made_up", TESTS.parent / "examples"]
    paths = [*ours, os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"JAX_NUM_CPU_DEVICES": str(num), "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, str(TESTS / "devices" / script), *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
