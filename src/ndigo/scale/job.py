"""The job of a row: train these settings into this folder, going on where it stopped.

To run it again changes nothing that is done, so any engine may retry it as it likes.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

from ndigo.config import Config
from ndigo.errors import NdigoError
from ndigo.fast.compile_cache import keep_compiled_programs
from ndigo.from_module import without_working_folder
from ndigo.scale.note import Interrupted, noted, reason
from ndigo.scale.sweep import Row, refuse_other_settings


def train_row(row: Row, engine: str) -> int:
    """Trains the row to its last step, which is returned; a signal that stops it before is `Interrupted`."""
    from ndigo.api import as_reward, as_world, create_run, resume  # with JAX, which the sweep's own process can spare

    with noted(row.path, engine):
        refuse_other_settings(row)
        config = row.config
        if not (row.path / "config.json").exists():
            create_run(**dataclasses.asdict(config), out=row.path)
        run = resume(row.path, world=as_world(config.world), reward=as_reward(config.reward))
        assert run.outcome is not None
        if run.outcome.why != "finished":
            raise Interrupted(f"stopped by {run.outcome.why} at step {run.outcome.step:,}, saved")
        return run.outcome.step


def main() -> int:
    """One row in a process of its own: its folder is the argument, its settings come on standard input."""
    without_working_folder()
    path = Path(sys.argv[1])
    row = Row(path.name, Config(**json.load(sys.stdin)), path)
    keep_compiled_programs(is_command=True)
    try:
        train_row(row, "local")
    except NdigoError as error:
        print("ndigo:", reason(error), file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
