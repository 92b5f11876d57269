"""Which settings the task asks for: the trials behind the yardstick's, from `yardstick.json`.

python studies/suites/yardstick.py                     # the table
python studies/suites/yardstick.py --keep RUNS ...     # add what runs came to
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from table import MAXIMUM

from ndigo.storage.run_folder import RunFolder, write_whole

KEPT = Path(__file__).with_name("yardstick.json")
NAMES = ("agent_rate", "target_period", "batch", "updates_per_round", "actors", "round_steps", "window", "replay_steps")
HEAD = ("rate", "copied every", "windows", "frames per interaction", "interactions, thousands", "task, %")
Trial = dict[str, Any]


def trial(path: Path) -> Trial:
    """A run's settings, and the task's return per seed in each of its evaluations."""
    folder = RunFolder(path)
    config = folder.settings()["config"]
    lines = [line for line in folder.metrics() if "evaluation" in line]
    steps, returns = [line["world_steps"] for line in lines], [line["evaluation"]["task_return"] for line in lines]
    return {
        **{name: config[name] for name in NAMES},
        "device": folder.settings()["device"],
        "world_steps": steps,
        "task_return": [[round(x, 4) for x in per_seed] for per_seed in returns],
    }


def line(found: Trial) -> list[str]:
    learned = found["batch"] * found["window"] * found["updates_per_round"]
    percent = ", ".join(f"{100 * x / MAXIMUM:.2f}" for x in found["task_return"][-1])
    per_interaction = learned / (found["actors"] * found["round_steps"])
    return [
        *(f"{found['agent_rate']:g}", str(found["target_period"]), str(found["batch"]), f"{per_interaction:g}"),
        *(f"{found['world_steps'][-1] / 1000:,.0f}", percent),
    ]


def table(trials: Sequence[Trial]) -> str:
    lines = [HEAD, ("--:",) * len(HEAD), *map(line, trials)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, nargs="+", metavar="RUN", default=[])
    args = parser.parse_args()
    trials = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
    if args.keep:
        trials += [trial(path) for path in args.keep]
        write_whole(KEPT, ("[\n" + ",\n".join(map(json.dumps, trials)) + "\n]\n").encode())
    print(table(trials))
