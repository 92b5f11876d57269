"""Trains one of the paper's predictors in one experiment: `python studies/paper-predictor/run.py mlp exp1`.

The run itself goes to runs/paper-predictor; what is kept of it, in the form of a row of the paper's tables, to
studies/paper-predictor/runs. The same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import ndigo
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.paper.reproduce import finish
from ndigo.storage.run_folder import RunFolder

FOLDER = Path(__file__).parent / "runs"
PREDICTORS = ("mlp", "action_gru")  # both with the 64 units that the paper prints


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("predictor", choices=PREDICTORS)
    parser.add_argument("experiment", choices=("exp1", "exp4"))
    parser.add_argument("--steps", type=int, default=32_000)
    parser.add_argument("--preset", default="gpu")
    parser.add_argument("--out", type=Path, default=FOLDER)
    args = parser.parse_args()
    name = f"{args.predictor}-{args.experiment}"
    path = Path("runs/paper-predictor") / name
    if (path / "config.json").exists():
        run = ndigo.resume(path)
    else:
        settings = {"predictor": args.predictor, "predictor_hidden": 64, "learner_steps": args.steps}
        run = ndigo.train(args.experiment, "ndigo-4", preset=args.preset, out=path, seeds=5, seed=100, **settings)
    discovers = EXPERIMENTS[args.experiment].discovers
    finish(args.out / name, RunFolder(path), run.trained(), discovers, episodes=100, keeps_agent=False)


if __name__ == "__main__":
    main()
