"""Slurm, through submitit: a row is a job of an array (or rows that share a program are), and one that is preempted or
out of time is queued again.

Slurm says that a job must go by SIGUSR2, on which submitit calls the task's `checkpoint` and requeues what it returns:
the same task, which goes on from its run folder and loses one chunk at most.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ndigo.errors import NdigoError
from ndigo.scale.engine import Asked, Work, load_extra
from ndigo.scale.job import train_rows
from ndigo.scale.note import Interrupted, Note, reason, write_note
from ndigo.scale.sweep import Sweep, SweepRow, row_name
from ndigo.scale.vary import packs
from ndigo.storage.records import read_json
from ndigo.storage.run_folder import make_folder, write_whole

FOLDER = "slurm"  # beside the rows: submitit's scripts, and what the jobs print
TIME_LIMITS = 1000  # that a row may run into before it is given up; submitit alone allows 3
JOBS = "jobs.json"  # in that folder: Slurm's number of each row's job
PATIENCE_SECONDS = 600.0
AT_ONCE = 256  # jobs of an array, where [slurm] does not say slurm_array_parallelism: submitit's default


def launch(sweep: Sweep, rows: Sequence[SweepRow], asked: Asked) -> Work:
    submitit = load_extra("submitit", "slurm")
    takes = dict(sweep.takes["slurm"])
    cluster = takes.pop("cluster", "slurm")  # submitit's own word; "local" tries a sweep where there is no Slurm
    if cluster == "slurm" and shutil.which("sbatch") is None:
        raise NdigoError("--on slurm: this machine has no sbatch; run it where jobs are submitted from")
    folder = sweep.out.absolute() / FOLDER
    os.environ["PYTHONSAFEPATH"] = "1"  # jobs inherit it: their `python -m` would search the working folder first
    try:
        limits = {"slurm_max_num_timeout": TIME_LIMITS}
        executor = submitit.AutoExecutor(folder=folder / "%j", cluster=cluster, **limits)
        executor.update_parameters(name=f"ndigo-{row_name({'world': sweep.file.stem})}", **takes)
    except (ValueError, NameError, TypeError, AssertionError, RuntimeError) as error:
        raise NdigoError(f"[slurm] of the sweep: {reason(error)}") from None
    jobs = _waiting(submitit, folder, sweep.rows) if cluster == "slurm" else {}
    new = [row for row in rows if row.name not in jobs]
    for row in new:
        write_note(row.path, Note("queued", "slurm", time.time()))
    if new:
        said = takes.get("slurm_array_parallelism")
        at_once = said if isinstance(said, int) else AT_ONCE
        with executor.batch():
            submitted = [(rows, executor.submit(RowsTask(rows))) for rows in packs(new, sweep.pack, at_once)]
        jobs |= {row.name: job for rows, job in submitted for row in rows}
    make_folder(folder)  # submitit makes it where it is handed a job
    write_whole(folder / JOBS, json.dumps({name: job.job_id for name, job in jobs.items()}, indent=1).encode())
    some = [job.job_id for job in jobs.values()][:3]
    where = "Slurm" if cluster == "slurm" else f"submitit's {cluster} cluster"
    about = f"{where}, jobs {', '.join(some)}{', ...' if len(jobs) > len(some) else ''}"
    return Work(about, lambda: all(job.done() for job in jobs.values()), poll_seconds=5.0, outlives="squeue --me")


def _waiting(submitit: Any, folder: Path, rows: Sequence[SweepRow]) -> dict[str, Any]:
    """By row, the jobs of an earlier command that Slurm still has in its queue."""
    if not (folder / JOBS).exists():
        return {}
    ids = read_json((folder / JOBS).read_bytes(), str(folder / JOBS))
    if not isinstance(ids, dict) or not all(isinstance(id_, str) for id_ in ids.values()):
        raise NdigoError(f"{folder / JOBS} is damaged: it has no names of rows with their jobs")
    jobs = {row.name: submitit.SlurmJob(folder / "%j", ids[row.name]) for row in rows if row.name in ids}
    # Unknown: Slurm has forgotten it, or keeps no accounts. To submit a row twice is safe, to wait for ever is not.
    return {name: job for name, job in jobs.items() if not job.done() and job.state != "UNKNOWN"}


class RowsTask:
    """What submitit pickles and calls."""

    def __init__(self, rows: Sequence[SweepRow]):
        self.rows = rows

    def __call__(self) -> int:
        try:
            return train_rows(self.rows, "slurm")
        except Interrupted:
            # By SIGTERM, with which Slurm announces a preemption. The run is saved. What follows is Slurm's to say:
            # SIGUSR2, or an end and a requeue of its own.
            time.sleep(PATIENCE_SECONDS)
            raise

    def checkpoint(self) -> Any:
        return load_extra("submitit", "slurm").helpers.DelayedSubmission(self)
