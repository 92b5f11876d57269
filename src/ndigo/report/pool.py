"""What a report reads: a run, or several that differ in `seed` alone, as one run of all their seeds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ndigo.storage.records import BY_SEED
from ndigo.storage.run_folder import RunFolder


@dataclass(frozen=True)
class Pool:
    runs: tuple[RunFolder, ...]

    @property
    def path(self) -> Path:
        return self.runs[0].path

    @property
    def more(self) -> str:
        """What follows the first run's path."""
        return f" and {len(self.runs) - 1} more" if len(self.runs) > 1 else ""

    @property
    def name(self) -> str:
        return f"{self.runs[0].name}{self.more}"

    def settings(self) -> dict[str, Any]:
        every = [run.settings() for run in self.runs]
        num_seeds = sum(settings["config"]["seeds"] for settings in every)
        return every[0] | {"config": every[0]["config"] | {"seeds": num_seeds}}

    def metrics(self) -> list[dict[str, Any]]:
        """A line for each step that all have."""
        first, *others = [{line["step"]: line for line in run.metrics()} for run in self.runs]
        return [_joined([first[step], *(lines[step] for lines in others)]) for step in first if _all_have(step, others)]

    def evaluations(self) -> list[dict[str, Any]]:
        return [line for line in self.metrics() if "evaluation" in line]


def pooled(runs: Iterable[RunFolder]) -> list[Pool]:
    """Runs of other settings, of one seed twice, or without an evaluation at a common step, each stand alone."""
    alike: dict[str, list[RunFolder]] = {}
    for run in runs:
        alike.setdefault(json.dumps(run.settings()["config"] | {"seed": None}, sort_keys=True), []).append(run)
    pools = []
    for group in alike.values():
        together = Pool(tuple(group))
        has_seeds_apart = len({run.settings()["config"]["seed"] for run in group}) == len(group)
        fits = has_seeds_apart and together.evaluations()
        pools += [together] if fits else [Pool((run,)) for run in group]
    return pools


def _all_have(step: int, others: Sequence[dict[int, Any]]) -> bool:
    return all(step in lines for lines in others)


def _joined(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first run's line, with the rows of all runs' seeds. By `|` a part stays one that knows its file."""
    joined = lines[0]
    for part in BY_SEED:
        if part in joined:
            joined |= {part: joined[part] | {n: [row for line in lines for row in line[part][n]] for n in joined[part]}}
    return joined
