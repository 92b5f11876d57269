"""Prints the study's two tables: `python studies/two-cores/table.py`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = (220, 440)  # of a run on one core, which its evaluations are averaged over
FOUND = 60  # steps of an episode with the object in view
WATCHED = 130  # seconds of a model that watches a random walk


def read_runs() -> list[dict[str, Any]]:
    """Every run's name, settings and lines of metrics."""
    with gzip.open(Path(__file__).with_name("runs.jsonl.gz"), "rt") as file:
        return [json.loads(line) for line in file]


def agents(runs: list[dict[str, Any]]) -> str:
    lines = [
        f"| run | first in view for {FOUND} steps, s | fixed object in view | first seen | discovery loss | least |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for run in (run for run in runs if "-seed" in run["name"]):
        # Of the one seed, the first object is the fixed one.
        told = [(line["seconds"], line["evaluation"]) for line in run["metrics"] if "evaluation" in line]
        found = next((f"{s:.0f}" for s, e in told if e["visits"][0][0] > FOUND), "never")
        between = [e for s, e in told if SECONDS[0] <= s <= SECONDS[1]]
        visits, first, loss = (
            np.mean([e[metric][0][0] for e in between]) for metric in ("visits", "first_visit", "discovery_loss")
        )
        least = min(e["discovery_loss"][0][0] for e in between)
        lines.append(f"| {run['name']} | {found} | {visits:.0f} | {first:.0f} | {loss:.2f} | {least:.2f} |")
    return "\n".join(lines)


def models(runs: list[dict[str, Any]]) -> str:
    lines = [
        "| model rate | windows | hidden | belief | features | window | K | learner steps | walls | fixed object |",
        "|" + "--:|" * 10,
    ]
    rows = []
    for run in (run for run in runs if run["name"].startswith("model-")):
        config = run["settings"]["config"]
        last = [line for line in run["metrics"] if line["seconds"] <= WATCHED][-1]
        names = ("batch", "predictor_hidden", "belief_size", "num_features", "window", "num_ahead")
        walls, fixed = last["learning"]["model_loss_c"][0][:2]
        rows.append((walls, [f"{config['model_rate']:g}", *(str(config[name]) for name in names)], last["step"], fixed))
    for walls, settings, step, fixed in sorted(rows, key=lambda row: -row[0]):
        lines.append(f"| {' | '.join(settings)} | {step:,} | {walls:.2f} | {fixed:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    kept = read_runs()
    print(agents(kept), models(kept), sep="\n\n")
