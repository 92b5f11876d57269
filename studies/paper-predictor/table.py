"""Prints the study's table and draws its figure: `python studies/paper-predictor/table.py [--figure figure.png]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from ndigo.palette import OBJECTS
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.measured import MeasuredRow, measured
from ndigo.paper.rows import load_row
from ndigo.report.figures import PAGE, STYLE, plain, save_figure

HERE, ROWS = Path(__file__).parent, Path(__file__).parents[2] / "results" / "rows"
REWARD = "ndigo-4"
WORLDS = {"exp1": ("fixed", "noise"), "exp4": ("fixed", "brownian")}
COLOURS = {"fixed": OBJECTS[0], "noise": OBJECTS[1], "brownian": OBJECTS[5]}
PREDICTORS = {"open_loop": "ours\n256 units", "action_gru": "action GRU\n64 units", "mlp": "MLP\n64 units"}


def read(predictor: str, experiment: str) -> MeasuredRow:
    ours = predictor == "open_loop"  # the row of ten seeds
    path = ROWS / f"{experiment}-{REWARD}" if ours else HERE / "runs" / f"{predictor}-{experiment}"
    return measured(Row(experiment, REWARD), load_row(path))


def printed(experiment: str, metric: str, name: str) -> str:
    """The paper's mean; its text has the interval too."""
    return EXPERIMENTS[experiment].printed.text(metric, REWARD, name).split(" ")[0]


def table() -> list[str]:
    heads = ("seen, %", "steps in view", "first at step", "discovery loss", "pays per step", "walls pay")
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "--:|" * len(heads)]
    for experiment, names in WORLDS.items():
        for name in names:
            for predictor in PREDICTORS:
                run = read(predictor, experiment)
                seen, steps, first, loss = (
                    run.per_seed(metric, name) for metric in ("frequency", "visits", "first_visit", "discovery_loss")
                )
                paid = run.reward_c[-1].mean(axis=0)
                cells = [f"{seen.mean():.0f} ({seen.min():.0f} to {seen.max():.0f})", f"{steps.mean():.0f}"]
                cells += [f"{first.mean():.0f}", f"{loss.mean():.2f}"]
                cells += [f"{paid[run.channels.index(x)]:.4f}" for x in (name, "walls")]
                lines.append(f"| {experiment}, {name}: {predictor} | " + " | ".join(cells) + " |")
            steps, first = (printed(experiment, metric, name) for metric in ("visits", "first_visit"))
            lines.append(f"| {experiment}, {name}: the paper | | {steps} | {first} | | | |")
    return lines


def draw(path: Path) -> None:
    with rc_context(STYLE):
        save_figure(_in_view(), path.with_suffix(""))


def _in_view() -> Figure:
    """A dot per seed: the steps of an episode with each object in view; a bar is the paper's mean."""
    figure = Figure(figsize=(PAGE, 2.4), layout="constrained")
    for axis, (experiment, names) in zip(figure.subplots(1, 2, sharey=True), WORLDS.items(), strict=True):
        for side, name in zip((-0.15, 0.15), names, strict=True):
            colour = tuple(x / 255 for x in COLOURS[name])
            for at, predictor in enumerate(PREDICTORS):
                steps = read(predictor, experiment).per_seed("visits", name)
                axis.plot([at + side] * len(steps), steps, "o", color=colour, markersize=4, alpha=0.7)
            at, mean = len(PREDICTORS) + side, float(printed(experiment, "visits", name))
            axis.plot([at - 0.12, at + 0.12], [mean, mean], color=colour, linewidth=3, label=name)
        axis.set_xticks(range(len(PREDICTORS) + 1), [*PREDICTORS.values(), "the paper's\nmean"])
        axis.set_title(f"Experiment {experiment[-1]}")
        axis.legend(frameon=False)
        plain(axis)
    figure.axes[0].set(ylabel="steps in view, of 400", ylim=(-8, 400))
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args()
    print("\n".join(table()))
    if args.figure is not None:
        draw(args.figure)


if __name__ == "__main__":
    main()
