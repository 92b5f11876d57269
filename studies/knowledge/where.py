"""Where the loss of Experiment 1's fixed object comes from: `python studies/knowledge/where.py`.

Two tables of the shipped rows. First the final loss, cut up by how long ago the object was in view: what each part adds
to the mean over an episode, and in brackets its steps per episode. Until the first sight the loss is taken as ln 48,
which knows the room; `later` is what is left. Then the row of NDIGO-4 along training.
"""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np

from ndigo.paper.experiment import Row
from ndigo.paper.plan import load_rows

ROWS = Path(__file__).parents[2] / "results" / "rows"
OBJECT, STEPS, EPISODES = "fixed", 400, 100
REWARDS = ("icm", "ndigo-1", "ndigo-2", "ndigo-4", "ndigo-10")
ALONG, AT = "ndigo-4", (9_600, 12_800, 16_000, 24_000, 32_000)


def main() -> None:
    rows = load_rows(ROWS)
    print("| row | discovery loss | until its first sight | in view | 1 to 63 steps after | later |")
    print("|---|" + "--:|" * 5)
    for reward in REWARDS:
        row = rows[Row("exp1", reward)]
        i, whole, first = row.objects.index(OBJECT), row.discovery_loss(), row.per_seed("first_visit", OBJECT)
        steps = row.tracking_steps[:, i] / EPISODES
        nats = row.tracking_loss[:, i] * steps / STEPS
        parts = [(first * log(48) / STEPS, first), (nats[:, 0], steps[:, 0]), (nats[:, 1:].sum(1), steps[:, 1:].sum(1))]
        parts.append((whole - sum(x for x, _ in parts), STEPS - sum(n for _, n in parts)))
        cells = " | ".join(f"{np.mean(x):.2f} ({np.mean(n):.0f})" for x, n in parts)
        print(f"| exp1-{reward} | {whole.mean():.2f} | {cells} |")
    print("\n| learner step | in view, steps | first at step | discovery loss |\n|--:|--:|--:|--:|")
    row = rows[Row("exp1", ALONG)]
    for step in AT:
        at = list(row.steps).index(step)
        visits, first, loss = (
            row.curves[name][at, :, row.objects.index(OBJECT)].mean()
            for name in ("visits", "first_visit", "discovery_loss")
        )
        print(f"| {step:,} | {visits:.0f} | {first:.0f} | {loss:.2f} |")


if __name__ == "__main__":
    main()
