"""Prints the study's four tables and draws its figure: `python studies/recipe/table.py [--figure figure.png]`.

`--gather FOLDER` first puts what `run.py` has kept there into runs.jsonl.gz.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ndigo.palette import SERIES
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.measured import MeasuredRow, measured
from ndigo.paper.rows import RowFolder, load_row
from ndigo.paper.scores import bounds
from ndigo.report.figures import PAGE, STYLE, plain, save_figure

RUNS = Path(__file__).with_name("runs.jsonl.gz")
CHOSEN = "w100-32k"
ORDER = ("exp1", "exp2", "exp3", "exp5")
WINDOWS = {"w100-16k": "windows of 100", "w400-16k": "windows of 400", "w100-32k": "windows of 100, 32,000 steps"}


def read_runs() -> dict[str, dict[str, MeasuredRow]]:
    """Candidate with its steps -> experiment -> what it came to."""
    found: dict[str, dict[str, MeasuredRow]] = {}
    with gzip.open(RUNS, "rt") as file:
        for run in map(json.loads, file):
            candidate, experiment = run["name"].rsplit("-", 1)
            row = Row(experiment, run["settings"]["config"]["reward"])
            folder = RowFolder(RUNS.parent, run["settings"], run["result"], run["metrics"])
            found.setdefault(candidate, {})[experiment] = measured(row, folder)
    return found


def seed_scores(run: MeasuredRow, experiment: str) -> np.ndarray:
    """[S], each between 0 and 1: the rule's second step."""
    between = bounds(EXPERIMENTS[experiment])
    parts = [(run.per_seed(*what) - low) / (high - low) for what, (low, high) in between.items()]
    return np.clip(parts, 0, 1).mean(axis=0)


def late_scores(run: MeasuredRow, experiment: str, share: float) -> np.ndarray:
    """[S]: the same, of the mean over the evaluations in the last `share` of the run."""
    between, points = bounds(EXPERIMENTS[experiment]), slice(int(len(run.steps) * (1 - share)), None)
    curves = {what: run.curves[what[0]][points, :, run.objects.index(what[1])] for what in between}
    parts = [(curves[what] - low) / (high - low) for what, (low, high) in between.items()]
    return np.clip(parts, 0, 1).mean(axis=(0, 1))


def second_worst(scores: np.ndarray) -> float:
    return float(np.sort(scores)[1])


def table(runs: dict[str, dict[str, MeasuredRow]]) -> list[str]:
    lines = ["| candidate | " + " | ".join(ORDER) + " | mean | minutes per run |", "|---|" + "--:|" * (len(ORDER) + 2)]
    whole = {name: by for name, by in runs.items() if set(by) == set(ORDER)}
    scores = {name: [second_worst(seed_scores(by[e], e)) for e in ORDER] for name, by in whole.items()}
    for name in sorted(scores, key=lambda name: -np.mean(scores[name])):
        minutes = np.mean([run.minutes for run in whole[name].values()])
        cells = [f"{x:.2f}" for x in (*scores[name], np.mean(scores[name]))]
        lines.append(f"| {name} | " + " | ".join([*cells, f"{minutes:.1f}"]) + " |")
    return lines


def late_table(runs: dict[str, dict[str, MeasuredRow]]) -> list[str]:
    """Scores that do not hang on one step, and how often a policy of the second half misses the object sought."""
    heads = ("candidate", "last step", "last quarter", "last half", "misses, exp1", "exp2", "exp5")
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "--:|" * (len(heads) - 1)]
    for name, by in runs.items():
        cells = ["", "", ""]
        if set(by) == set(ORDER):
            scores = [[seed_scores(by[e], e) for e in ORDER]]
            scores += [[late_scores(by[e], e, share) for e in ORDER] for share in (0.25, 0.5)]
            cells = [f"{np.mean([second_worst(x) for x in by_experiment]):.2f}" for by_experiment in scores]
        for experiment in ("exp1", "exp2", "exp5"):
            run, sought = by[experiment], EXPERIMENTS[experiment].discovers[-1]
            seen = run.curves["frequency"][len(run.steps) // 2 :, :, run.objects.index(sought)]
            cells.append(f"{100 * (seen < 0.9).mean():.0f}%")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def objects(runs: dict[str, dict[str, MeasuredRow]], candidate: str) -> list[str]:
    """What each object comes to with one candidate: mean over five seeds, and the worst."""
    lines = ["| | seen, % | worst | first at step | latest | discovery loss | worst |", "|---|" + "--:|" * 6]
    for experiment in ORDER:
        run = runs[candidate][experiment]
        for name in EXPERIMENTS[experiment].discovers:
            seen, first, loss = (
                run.per_seed(metric, name) for metric in ("frequency", "first_visit", "discovery_loss")
            )
            ends = (seen.mean(), seen.min(), first.mean(), first.max())
            cells = [*(f"{x:.0f}" for x in ends), f"{loss.mean():.2f}", f"{loss.max():.2f}"]
            lines.append(f"| {experiment}, {run.row.reward}: {name} | " + " | ".join(cells) + " |")
    return lines


def maze(runs: dict[str, dict[str, MeasuredRow]]) -> list[str]:
    """How each candidate's `ndigo-2` comes through the maze: its last object, in the mean and the worst seed."""
    lines = ["| candidate | room 5 seen, % | worst seed | first at step | latest seed |", "|---|--:|--:|--:|--:|"]
    for name, by in runs.items():
        if "exp5" in by:
            seen, first = by["exp5"].per_seed("frequency", "movable"), by["exp5"].per_seed("first_visit", "movable")
            cells = [f"{x:.0f}" for x in (seen.mean(), seen.min(), first.mean(), first.max())]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def draw(runs: dict[str, dict[str, MeasuredRow]], path: Path) -> None:
    """Left, Experiment 1's loss and visits along the way; right, its loss by steps since the object was last seen."""
    with rc_context(STYLE):
        save_figure(_windows(runs), path.with_suffix(""))


def _windows(runs: dict[str, dict[str, MeasuredRow]]) -> Figure:
    figure = Figure(figsize=(PAGE, 2.3), layout="constrained")
    along, visits, memory = figure.subplots(1, 3)
    for (name, label), style in zip(WINDOWS.items(), SERIES, strict=False):
        run, line = runs[name]["exp1"], {"color": style.colour, "linestyle": style.dash}
        fixed = run.objects.index("fixed")
        along.plot(run.steps, run.discovery_curve().mean(axis=0), label=label, **line)
        visits.plot(run.steps, run.curves["visits"][:, :, fixed].mean(axis=1), **line)
        loss, steps = run.tracking_loss[:, fixed], run.tracking_steps[:, fixed]
        for seed in loss:
            memory.plot(seed, color=style.colour, linewidth=0.5, alpha=0.4)
        memory.plot((loss * steps).sum(axis=0) / steps.sum(axis=0), linewidth=2, **line)
    along.set(xlabel="learner steps", ylabel="discovery loss, nats", ylim=(0, None))
    visits.set(xlabel="learner steps", ylabel="steps with the object in view", ylim=(0, 400))
    memory.set(xlabel="steps since last seen", ylabel="discovery loss, nats", ylim=(0, None))
    for axis in (along, visits):
        axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x else "0"))
    for axis in (along, visits, memory):
        plain(axis)
    figure.legend(*along.get_legend_handles_labels(), loc="outside upper center", ncols=len(WINDOWS), frameon=False)
    return figure


def gather(folder: Path) -> None:
    """Adds the runs kept in `folder`, in place of any of the same name."""
    known = {}
    if RUNS.exists():
        with gzip.open(RUNS, "rt") as file:
            known = {run["name"]: run for run in map(json.loads, file)}
    for path in sorted(folder.iterdir()):
        row = load_row(path)
        known[path.name] = {"name": path.name, "settings": row.settings, "result": row.result, "metrics": row.metrics}
    text = "".join(json.dumps(known[name]) + "\n" for name in sorted(known))
    RUNS.write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gather", type=Path)
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args()
    if args.gather is not None:
        gather(args.gather)
    runs = read_runs()
    print("\n".join([*table(runs), "", *late_table(runs), "", *maze(runs), "", *objects(runs, CHOSEN)]))
    if args.figure is not None:
        draw(runs, args.figure)


if __name__ == "__main__":
    main()
