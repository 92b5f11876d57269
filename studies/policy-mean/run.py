"""Evaluates a finished run twice: `python studies/policy-mean/run.py runs/rows/exp2-ndigo-4`.

Its agent once as it is kept, by the mean of its weights, and once by the newest; same episodes. The numbers, per seed
and object, go into evaluations.json beside this file.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import jax
import numpy as np

import ndigo
from ndigo.paper.reproduce import EVALUATION_SEED
from ndigo.storage import checkpoint
from ndigo.storage.newest import fingerprint_of
from ndigo.storage.run_folder import RunFolder
from ndigo.training.trained import Trained

FILE = Path(__file__).with_name("evaluations.json")
METRICS = ("visits", "first_visit", "frequency", "discovery_loss")


def newest(path: Path, kept: Trained) -> Trained:
    """The same run, its agent by the newest weights."""
    folder, part = RunFolder.open(path), ".learner.params"
    _, arrays = checkpoint.load_newest(folder.checkpoints, fingerprint_of(folder), print)
    named = {name.removeprefix(part): x for name, x in arrays.items() if name.startswith(part)}
    return dataclasses.replace(kept, params=checkpoint.into_tree(named, kept.params, str(path)))


def numbers(trained: Trained) -> dict[str, list[list[float]]]:
    found = trained.evaluate(100, EVALUATION_SEED)
    means = jax.tree.map(lambda x: np.asarray(x, float).mean(axis=1).round(4).tolist(), found)
    return {metric: getattr(means, metric) for metric in METRICS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    path = parser.parse_args().run
    kept = ndigo.open_run(path).trained()
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    known[path.name] = {"mean": numbers(kept), "newest": numbers(newest(path, kept))}
    FILE.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(known.items())) + "\n}\n")


if __name__ == "__main__":
    main()
