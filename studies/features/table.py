"""Prints the study's table, and draws its figure: `python studies/features/table.py [--figure FILE]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("losses.json")
MEAN_OF = 100  # updates behind each number
AFTER = (500, 1_000, 2_000, 3_000)
COLOURS = {"as they come": "#d55e00", "normalised": "#0072b2"}


def table(found: dict[str, dict[str, list[list[float]]]]) -> str:
    lines = [
        "| world | features | " + " | ".join(f"after {n:,} updates" for n in AFTER) + " |",
        "|---|---|" + "--:|" * len(AFTER),
    ]
    for world, of_world in found.items():
        for kind, losses in of_world.items():
            cells = [
                ", ".join(f"{x:#.2g}" if x < 10 else f"{x:.1f}" for x in np.array(losses)[:, n // MEAN_OF - 1])
                for n in AFTER
            ]
            lines.append(f"| `{world}` | {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(found: dict[str, dict[str, list[list[float]]]], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(found), squeeze=False, figsize=(3.1 * len(found), 3), layout="constrained")
    for axis, (world, of_world) in zip(axes.flat, found.items(), strict=True):
        for kind, losses in of_world.items():
            for i, of_seed in enumerate(losses):
                updates = MEAN_OF * np.arange(1, len(of_seed) + 1)
                axis.plot(updates, of_seed, color=COLOURS[kind], lw=1.2, label=kind if i == 0 else None)
        axis.set(title=world.rpartition("::")[2], xlabel="updates", ylabel="nats of the next frame", ylim=(0, None))
    axes.flat[0].legend(frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args()
    kept = json.loads(FILE.read_text())
    print(table(kept))
    if args.figure:
        draw(kept, args.figure)
