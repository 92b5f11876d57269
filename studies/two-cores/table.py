"""Prints the study's seven tables: `python studies/two-cores/table.py`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

BEFORE = {  # the preset's, when runs explored by epsilon-z-greedy first
    "reward": "ndigo-4",
    "num_ahead": 5,
    "actors": 16,
    "updates_per_round": 32,
    "likelihood": "categorical",
    "model_rate": 4e-3,
    "last_model_rate": None,
    "agent_rate": 2e-4,
    "gamma": 0.99,
}
NOW = BEFORE | {"reward": "ndigo-2", "num_ahead": 3, "actors": 64, "gamma": 0.97, "policy_mean": 500}
HEADS = NOW | {"head_hidden": 64, "probe_hidden": 64, "probe_stride": 2}
WIDE = HEADS | {"head_hidden": 256, "probe_hidden": 256}
WATCHED = 130  # seconds of a model that watches a random walk


def read_runs() -> list[dict[str, Any]]:
    """Every run's name, settings and lines of metrics."""
    with gzip.open(Path(__file__).with_name("runs.jsonl.gz"), "rt") as file:
        return [json.loads(line) for line in file]


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


def explorers(runs: list[dict[str, Any]]) -> str:
    """With exploration that persists: means over the last quarter of a run's evaluations, seed after seed."""
    lines = [
        "| settings beside the preset's | episodes that see it, % | discovery loss | walls pay | s per 1,000 steps |",
        "|---|--:|--:|--:|--:|",
    ]
    by_name: dict[str, list[tuple[float, ...]]] = {}
    for run in (run for run in runs if run["name"].startswith("z-")):
        late = run["metrics"][3 * len(run["metrics"]) // 4 :]
        seen, loss = (np.mean([x["evaluation"][m][0][0] for x in late]) for m in ("frequency", "discovery_loss"))
        walls, last = np.mean([x["learning"]["reward_c"][0][0] for x in late]), late[-1]
        one = (100 * float(seen), float(loss), float(walls), 1000 * last["seconds"] / last["step"])
        by_name.setdefault(changed(run["settings"]["config"], BEFORE), []).append(one)
    for name, seeds in sorted(by_name.items(), key=lambda item: np.mean([seed[1] for seed in item[1]])):
        digits = ("{:.0f}", "{:.2f}", "{:.2f}", "{:.0f}")
        cells = [
            ", ".join(form.format(x) for x in column)
            for form, column in zip(digits, zip(*seeds, strict=True), strict=True)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def means(runs: list[dict[str, Any]], kind: str, preset: dict[str, Any]) -> str:
    """With a policy that is a mean: the last evaluation of each run, seed after seed."""
    lines = [
        "| settings beside the preset's | learner steps | episodes that see it, % | first at step | discovery loss |",
        "|---|--:|--:|--:|--:|",
    ]
    by_name: dict[str, list[list[float]]] = {}
    for run in (run for run in runs if run["name"].startswith(kind)):
        last = run["metrics"][-1]
        seen, first, loss = (last["evaluation"][m][0][0] for m in ("frequency", "first_visit", "discovery_loss"))
        name = f"{changed(run['settings']['config'], preset)} | {last['step']:,}"
        by_name.setdefault(name, []).append([100 * seen, first, loss])
    for name, seeds in sorted(by_name.items(), key=lambda item: np.mean([seed[-1] for seed in item[1]])):
        seen, first, loss = zip(*seeds, strict=True)
        cells = [", ".join(f"{x:.0f}" for x in seen), ", ".join(f"{x:.0f}" for x in first)]
        lines.append(f"| {name} | {' | '.join(cells)} | {', '.join(f'{x:.2f}' for x in loss)} |")
    return "\n".join(lines)


def changed(config: dict[str, Any], preset: dict[str, Any]) -> str:
    """The settings in which a run is not the preset's of its time, in words."""
    return ", ".join(f"`{name}` {config[name]}" for name in preset if config[name] != preset[name]) or "none"


if __name__ == "__main__":
    kept = read_runs()
    groups = {"mean-": BEFORE, "five-": NOW, "cut-": NOW, "heads-": HEADS, "rates-": WIDE}
    of_means = [means(kept, kind, preset) for kind, preset in groups.items()]
    print(models(kept), explorers(kept), *of_means, sep="\n\n")
