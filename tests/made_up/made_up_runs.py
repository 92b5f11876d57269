"""Run folders written by hand: what stands in them is what was put in."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ndigo.storage.run_folder import RunFolder

OBJECTS = {"exp1": ["fixed", "noise"], "my:world": ["lamp"]}


def write_run(
    path: Path, *, world: str, reward: str, seeds: int, seed: int = 0, has_truth: bool = True, num_lines: int = 4
) -> Path:
    """A run whose seed s, from `seed` on, has at line i and object n visits 100 i + 10 n + s, loss i + n/10 + s/100."""
    names = OBJECTS[world]
    n, s = np.arange(len(names)), seed + np.arange(seeds)[:, None]
    settings = {
        "config": {"world": world, "reward": reward, "seeds": seeds, "seed": seed},
        "reward": reward,
        "world": {"channels": ["walls", *names], "in_view": names, "objects": names if has_truth else []},
    }
    folder = RunFolder.create(path, settings)
    for i in range(1, num_lines + 1):
        split = 0.0 * s + np.arange(1 + len(names)) / i * (reward != "icm")
        line = {"step": 10 * i, "learning": {"reward": [1.0 / i] * seeds, "reward_c": split.tolist()}}
        if i % 2 == 0:
            line["evaluation"] = {
                "visits": (100.0 * i + 10 * n + s).tolist(),
                "first_visit": (50.0 + 0 * n + s).tolist(),
                "frequency": np.full((seeds, len(names)), 0.5).tolist(),
                "discovery_loss": (i + n / 10 + s / 100).tolist() if has_truth else [[]] * seeds,
            }
        folder.append(line)
    return path
