"""Trains one candidate in one experiment: `python studies/recipe/run.py w400 exp1 [--steps 32000]`.

The run itself goes to runs/recipe; what is kept of it, in the form of a row of the paper's tables, to
studies/recipe/runs. The same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import ndigo
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.paper.reproduce import finish
from ndigo.storage.run_folder import RunFolder

FOLDER = Path(__file__).parent / "runs"
REWARDS = {"exp1": "ndigo-4", "exp2": "ndigo-4", "exp3": "ndigo-1", "exp5": "ndigo-2"}
WHOLE = {"window": 400, "batch": 16}
STAYS = {"model_rate": 2e-3, "last_model_rate": 1.0}
CANDIDATES = {
    "w100": {},
    "w200": {"window": 200, "batch": 32},
    "w400": WHOLE,
    "w100-stays": STAYS,
    "w400-stays": WHOLE | STAYS,
    "w100-mixture": {"likelihood": "mixture"},
    "w400-mixture": WHOLE | {"likelihood": "mixture"},
    "w400-a512": WHOLE | {"actors": 512},
    "w100-a32": {"actors": 32},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("candidate", choices=CANDIDATES)
    parser.add_argument("experiment", choices=REWARDS)
    parser.add_argument("--steps", type=int, default=16_000)
    parser.add_argument("--out", type=Path, default=FOLDER)
    args = parser.parse_args()
    name = f"{args.candidate}-{args.steps // 1000}k-{args.experiment}"
    path, reward = Path("runs/recipe") / name, REWARDS[args.experiment]
    if (path / "config.json").exists():
        run = ndigo.resume(path)
    else:
        settings = {"seeds": 5, "seed": 100, "actors": 128, "learner_steps": args.steps} | CANDIDATES[args.candidate]
        run = ndigo.train(args.experiment, reward, preset="gpu", out=path, **settings)
    discovers = EXPERIMENTS[args.experiment].discovers
    finish(args.out / name, RunFolder(path), run.trained(), discovers, episodes=100, keeps_agent=False)


if __name__ == "__main__":
    main()
