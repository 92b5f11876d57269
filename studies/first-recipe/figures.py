"""Draws the curves and scores of this recipe's rows: `python studies/first-recipe/figures.py`.

The scores leave out Experiment 5: its rows are of the first maze, and the reference agents are measured in the present
one.
"""

from __future__ import annotations

from pathlib import Path

from ndigo.paper.curves import discovery_figure, tracking_figure
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.paper.measured import measured
from ndigo.paper.plan import row_folders
from ndigo.paper.scores import scores, scores_figure
from ndigo.report.figures import save_figure

HERE = Path(__file__).parent


def main() -> None:
    rows = {row: measured(row, folder) for row, folder in row_folders(HERE.parents[1] / "results" / "rows").items()}
    figures = {f"{name}-discovery-loss": discovery_figure(EXPERIMENTS[name], rows) for name in EXPERIMENTS}
    figures["exp3-tracking"] = tracking_figure(EXPERIMENTS["exp3"], rows)
    figures["scores"] = scores_figure(scores({row: x for row, x in rows.items() if row.experiment != "exp5"}))
    for name, figure in figures.items():
        if figure is not None:
            save_figure(figure, HERE / name)


if __name__ == "__main__":
    main()
