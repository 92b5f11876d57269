"""What a sweep's file may take of an engine: sizes, times and places.

An engine's other words can run commands (submitit's `slurm_setup`) or load code (Ray's `runtime_env`). The file may be
anybody's, so for those the user trusts the table by name, as a module.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Any

from ndigo.errors import NdigoError
from ndigo.scale.sweep import Sweep

_SLURM = (
    *("account", "array_parallelism", "comment", "constraint", "cpus_per_gpu", "cpus_per_task", "exclude", "exclusive"),
    *("gpus_per_node", "gpus_per_task", "gres", "mem", "mem_per_cpu", "mem_per_gpu", "nodelist", "nodes"),
    *("ntasks_per_node", "partition", "qos", "signal_delay_s", "time", "wckey"),
)
KNOWN = {
    "ray": ("accelerator_type", "max_retries", "memory", "num_cpus", "num_gpus", "resources"),
    "slurm": (
        *("cluster", "cpus_per_task", "gpus_per_node", "mem_gb", "nodes", "tasks_per_node", "timeout_min"),
        *(f"slurm_{word}" for word in _SLURM),
    ),
}


def check_takes(sweep: Sweep, engine: str, trust: Collection[str]) -> None:
    """An error where the engine's table says more than sizes and places, or a text that is more than a line."""
    for name, value in sweep.takes.get(engine, {}).items():
        if name not in KNOWN[engine] and engine not in trust:
            near = difflib.get_close_matches(name, KNOWN[engine], n=1, cutoff=0.8)
            hint = f"nearest: {near[0]}" if near else f"known: {', '.join(KNOWN[engine])}"
            raise NdigoError(
                f"{sweep.file}: {name} in [{engine}] is none of the words that run no commands ({hint}); "
                f"if you trust the file, add --trust {engine}"
            )
        if engine not in trust and not _is_plain(value):
            # submitit writes texts into a script, where a second line is a command.
            raise NdigoError(f"{sweep.file}: {name} = {value!r} in [{engine}] must be a number, or text of one line")


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):  # Ray's resources
        return all(_is_plain(part) for part in (*value, *value.values()))
    return isinstance(value, int | float) or (isinstance(value, str) and value.isprintable())
