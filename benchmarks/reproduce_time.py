"""How long `ndigo reproduce --all` takes on 1, 8 and 64 GPUs: a model, and one check of it.

    python benchmarks/reproduce_time.py note --alone RUN=WALL --beside RUN=WALL RUN=WALL --json FILE   # what was timed
    python benchmarks/reproduce_time.py --measured results/bench/rows-h200.json                        # the model

A row is `start` seconds of a process that starts, traces and compiles, then `train` seconds on the GPU. Assumptions:

    rows are independent: each has a process, and what one does costs no other GPU's rows time
    a GPU trains one row at a time, or two, each of which then takes `slowdown` times as long while both train
    rows begin in the sweep's order as places become free; longest first is shown beside it
    a row that is not among these trains as the mean of its experiment's, else as the mean of all
    final evaluations follow, one after the other in one process, as `ndigo reproduce --all` does after a sweep

The shipped rows were made two at a time on one GPU, so theirs is the pace of two; some had more beside them, and their
clocks do not count (`crowded` in the file). `slowdown` is the pace of such a row
over that of the same row alone, which is measured. The check predicts the wall time of two rows that were measured side
by side; nothing of that measurement is used in it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ndigo.errors import NdigoError
from ndigo.paper.experiments import Row
from ndigo.paper.plan import all_rows, find_rows, recipe
from ndigo.paper.rows import RowFolder
from ndigo.storage.run_folder import RunFolder

GPUS = (1, 8, 64)
RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Timed:
    """A run's clock: seconds at some of its learner steps, and how long its process lived."""

    row: str
    lines: tuple[tuple[int, float], ...]
    wall: float

    @property
    def pace(self) -> float:
        return pace(self.lines)

    @property
    def start(self) -> float:
        """What is not training: to start, trace, compile and end."""
        return self.wall - self.lines[-1][0] * self.pace


@dataclass(frozen=True)
class Measured:
    """One row alone on a GPU, and two side by side."""

    alone: Timed
    beside: tuple[Timed, Timed]
    crowded: tuple[str, ...] = ()  # shipped rows that were made with more than one other beside them


@dataclass(frozen=True)
class Cost:
    """Seconds of a row that is alone on its GPU."""

    start: float
    train: float


@dataclass
class _Running:
    gpu: int
    start: float  # what is left of it
    train: float


def pace(lines: Sequence[tuple[int, float]]) -> float:
    """Seconds per learner step: the median between lines, for a neighbour that comes or goes is no part of it."""
    steps, seconds = np.array(lines, float).T
    return float(np.median(np.diff(seconds) / np.diff(steps)))


def makespan(costs: Sequence[Cost], gpus: int, each: int = 1, slowdown: float = 1.0) -> float:
    """Seconds until all rows have trained, begun in this order as places become free: `each` on a GPU at once.

    Rows that train beside another take `slowdown` times as long meanwhile; to compile disturbs nobody.
    """
    waiting, running, now = list(costs), [], 0.0
    while waiting or running:
        while waiting and len(running) < gpus * each:
            crowd = [sum(row.gpu == gpu for row in running) for gpu in range(gpus)]
            cost = waiting.pop(0)
            running.append(_Running(int(np.argmin(crowd)), cost.start, cost.train))
        training = [row.gpu for row in running if row.start <= 0]
        slow = [slowdown if training.count(row.gpu) > 1 else 1.0 for row in running]
        left = [row.start if row.start > 0 else row.train * by for row, by in zip(running, slow, strict=True)]
        step = min(left)
        for row, by, own in zip(running, slow, left, strict=True):
            if row.start > 0:
                row.start = 0.0 if own == step else row.start - step
            else:
                row.train = 0.0 if own == step else row.train - step / by
        now += step
        running = [row for row in running if row.start > 0 or row.train > 0]
    return now


class Model:
    """Costs of rows, from the shipped ones and from what was measured."""

    def __init__(self, shipped: dict[Row, RowFolder], measured: Measured):
        self.start = measured.alone.start
        timed = {row.name: folder.metrics for row, folder in shipped.items() if row.name not in measured.crowded}
        self._shared = {name: pace([(x["step"], x["seconds"]) for x in lines]) for name, lines in timed.items()}
        if measured.alone.row not in self._shared:
            known = ", ".join(self._shared) or "none"
            raise NdigoError(f"{measured.alone.row} was timed alone and is no shipped row; these are: {known}")
        self.slowdown = self._shared[measured.alone.row] / measured.alone.pace
        self.evaluation = float(np.mean([folder.result["evaluation_seconds"] for folder in shipped.values()]))

    def pace(self, row: str) -> float:
        """Seconds per learner step of a row alone on its GPU."""
        experiment = row.partition("-")[0]
        alike = [x for name, x in self._shared.items() if name.partition("-")[0] == experiment]
        shared = self._shared.get(row) or float(np.mean(alike or list(self._shared.values())))
        return shared / self.slowdown

    def cost(self, row: str, learner_steps: int) -> Cost:
        return Cost(self.start, learner_steps * self.pace(row))

    def pair(self, beside: Sequence[Timed]) -> float:
        """The wall time of rows side by side on one GPU, of as many steps as these."""
        return makespan([self.cost(run.row, run.lines[-1][0]) for run in beside], 1, len(beside), self.slowdown)

    def everything(self, gpus: int, each: int, longest_first: bool = False) -> dict[str, float]:
        """Seconds of all rows of the plan: trained by a sweep, then evaluated."""
        costs = [self.cost(row.name, recipe(row).learner_steps) for row in all_rows()]
        if longest_first:
            costs.sort(key=lambda cost: -cost.train)
        trained = makespan(costs, gpus, each, self.slowdown)
        return {"train": trained, "evaluate": len(costs) * self.evaluation}


def read_measured(file: Path) -> Measured:
    """What `note` wrote."""
    try:
        table = json.loads(file.read_text())
        runs = [_timed(run) for run in (*table["alone"], *table["beside"])]
        alone, first, second = runs
        crowded = tuple(map(str, table.get("crowded", ())))
    except OSError as error:
        raise NdigoError(f"{file}: {error.strerror}; the subcommand note writes it") from None
    except (ValueError, KeyError, TypeError) as error:
        raise NdigoError(
            f"{file} must hold one run under alone and two under beside, as note writes ({error})"
        ) from None
    return Measured(alone, (first, second), crowded)


def _timed(run: dict[str, Any]) -> Timed:
    lines = tuple((int(step), float(seconds)) for step, seconds in run["lines"])
    if len(lines) < 2:
        raise ValueError(f"{run['row']} has fewer than two lines")
    return Timed(run["row"], lines, float(run["wall_s"]))


def note(word: str) -> dict[str, Any]:
    """A run's clock from its folder, RUN=WALL: its lines with an evaluation, as a shipped row has them."""
    path, _, wall = word.rpartition("=")
    folder = RunFolder(Path(path))
    config = folder.settings()["config"]
    lines = [(line["step"], line["seconds"]) for line in folder.metrics() if "evaluation" in line]
    return {"row": f"{config['world']}-{config['reward']}", "lines": lines, "wall_s": float(wall)}


def tell(model: Model, measured: Measured) -> dict[str, Any]:
    """The check and the table, printed and as numbers."""
    predicted, found = model.pair(measured.beside), max(run.wall for run in measured.beside)
    print(f"alone: {1e3 * measured.alone.pace:.2f} ms per learner step after {model.start:.0f} s")
    print(f"two on one GPU: each takes {model.slowdown:.2f} times as long, both {2 / model.slowdown:.2f} times as fast")
    print(f"two rows side by side: predicted {predicted:.0f} s, measured {found:.0f} s ({predicted / found - 1:+.1%})")
    told: dict[str, Any] = {"slowdown": model.slowdown, "predicted_s": predicted, "measured_s": found, "minutes": []}
    print("GPUs  rows at once on each  minutes to train  longest first  to evaluate")
    for gpus in GPUS:
        for each in (1, 2):
            took, sorted_ = model.everything(gpus, each), model.everything(gpus, each, longest_first=True)
            minutes = [took["train"] / 60, sorted_["train"] / 60, took["evaluate"] / 60]
            told["minutes"].append([gpus, each, *minutes])
            print(f"{gpus:4}  {each:21}  {minutes[0]:16.1f}  {minutes[1]:13.1f}  {minutes[2]:11.1f}")
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("model", "note"), default="model")
    parser.add_argument("--alone", metavar="RUN=WALL", help="of `note`: a run's folder, and its process' seconds")
    parser.add_argument("--beside", metavar="RUN=WALL", nargs=2, help="of `note`: the same of two at once")
    parser.add_argument("--crowded", metavar="ROW", nargs="*", default=[], help="of `note`: rows with more beside them")
    parser.add_argument("--device", default="NVIDIA H200", help="of `note`: what they ran on")
    parser.add_argument("--measured", type=Path, default=RESULTS / "bench" / "rows-h200.json")
    parser.add_argument("--rows", type=Path, default=RESULTS / "rows", help="the shipped rows")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.what == "note":
        if not args.alone or not args.beside:
            parser.error("note needs --alone and --beside")
        found = {"device": args.device, "alone": [note(args.alone)], "beside": [note(word) for word in args.beside]}
        found["crowded"] = args.crowded
    else:
        measured = read_measured(args.measured)
        found = tell(Model(find_rows(args.rows), measured), measured)
    if args.json is not None:
        args.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    try:
        main()
    except NdigoError as error:
        sys.exit(f"reproduce_time: {error}")
