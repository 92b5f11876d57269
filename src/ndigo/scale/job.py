"""The job of a row, or of several together: train these settings into this folder, going on where it stopped.

To run it again changes nothing that is done, so any engine may retry it as it likes.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ndigo.config import Config
from ndigo.errors import NdigoError, explained, frames_of
from ndigo.fast.compile_cache import keep_compiled_programs
from ndigo.from_module import without_working_folder
from ndigo.scale.note import Interrupted, noted, reason
from ndigo.scale.sweep import MOVE_AWAY, SweepRow, refuse_other_settings


def train_rows(rows: Sequence[SweepRow], engine: str) -> int:
    """Trains rows side by side in one program (`vary.packs`) to their last step, which is returned; a signal that
    stops them before is `Interrupted`. One that diverges fails alone, and is raised when the others are done.
    """
    from ndigo.api import create_run, resume_beside  # with JAX, which a sweep can spare
    from ndigo.naming import as_records

    errors: dict[Path, NdigoError] = {}
    with ExitStack() as stack:
        fail = {}
        for row in rows:
            fail[row.path] = stack.enter_context(noted(row.path, engine))
            refuse_other_settings(row.path, row.config, MOVE_AWAY)
            if not (row.path / "config.json").exists():
                create_run(**dataclasses.asdict(row.config), out=row.path, is_beside=len(rows) > 1)
        config, paths = rows[0].config, [row.path for row in rows]
        world, reward = as_records(config.world, config.reward)

        def on_diverged(path: Path, error: NdigoError) -> None:
            errors[path] = error
            fail[path](error)

        runs = resume_beside(paths, world=world, reward=reward, on_diverged=on_diverged)
        outcomes = [run.outcome for run in runs if run.outcome is not None]
        for outcome in outcomes:
            if outcome.is_stop:
                raise Interrupted(f"stopped by {outcome.why} at step {outcome.step:,}, saved")
    if errors:
        raise next(iter(errors.values()))
    return outcomes[0].step


def main() -> int:
    """Rows in a process of their own: their folders are the arguments, their settings come on standard input."""
    without_working_folder()
    paths = [Path(word) for word in sys.argv[1:]]
    settings = json.load(sys.stdin)
    rows = [SweepRow(path.name, Config(**own), path) for path, own in zip(paths, settings, strict=True)]
    keep_compiled_programs(is_command=True)
    try:
        train_rows(rows, "local")
    except Exception as error:
        if (ours := explained(error)) is None:
            raise
        print(*filter(None, [frames_of(ours), f"ndigo: {reason(ours)}"]), sep="\n", file=sys.stderr)
        return ours.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
