"""Prints the study's table: `python studies/policy-mean/table.py`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ndigo.paper.experiments import EXPERIMENTS
from ndigo.worlds import World


def names_of(world: World) -> list[str]:
    assert world.grid is not None
    return [thing.name for thing in world.grid.objects]


def main() -> None:
    print("| row | object | seen, %: newest | mean | worst seed: newest | mean | first at step: newest | mean |")
    print("|---|---|" + "--:|" * 6)
    for row, found in json.loads(Path(__file__).with_name("evaluations.json").read_text()).items():
        experiment = EXPERIMENTS[row.partition("-")[0]]
        for name in experiment.discovers:
            i = names_of(experiment.world).index(name)
            seen, first = (
                [np.array(found[which][metric])[:, i] for which in ("newest", "mean")]
                for metric in ("frequency", "first_visit")
            )
            cells = [f"{100 * x.mean():.0f}" for x in seen] + [f"{100 * x.min():.0f}" for x in seen]
            print(f"| {row} | {name} | {' | '.join(cells + [f'{x.mean():.0f}' for x in first])} |")


if __name__ == "__main__":
    main()
