"""`ndigo report`: runs beside the paper's rows, and their curves as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from ndigo.errors import NdigoError
from ndigo.report.curves import draw_curves
from ndigo.report.tables import comparison, experiment_of_run, row
from ndigo.storage.run_folder import RunFolder, make_folder


@dataclass(frozen=True)
class Arguments:
    """Compare runs by their last evaluation, and draw their learning curves."""

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN ...")]
    """Folders of runs, finished or not."""
    out: Path | None = None
    """Folder for the pictures; without it the first run's own."""


def run(args: Arguments) -> None:
    if not args.runs:
        raise NdigoError("name at least one run to report on, such as runs/first")
    by_world: dict[str, list[RunFolder]] = {}
    for folder in map(RunFolder.open, dict.fromkeys(args.runs)):
        if not folder.evaluations():
            raise NdigoError(f"run {folder.path} has no evaluation yet: train it further")
        by_world.setdefault(folder.settings()["config"]["world"], []).append(folder)
    out = args.out or args.runs[0]
    make_folder(out)
    console = Console()
    for world, folders in by_world.items():
        print(f"{world}: last evaluation, mean over seeds with 95% bootstrap interval (one seed has none)")
        rewards = [folder.settings()["reward"] for folder in folders]
        rows = []
        for folder, reward in zip(folders, rewards, strict=True):
            last, num_seeds = folder.evaluations()[-1], folder.settings()["config"]["seeds"]
            label = reward if rewards.count(reward) == 1 else folder.path.name
            print(f"  {folder.path}: {reward}, {num_seeds} seed{'' if num_seeds == 1 else 's'}, step {last['step']:,}")
            rows.append(row(label, folder.settings(), last["evaluation"]))
        print()
        console.print(comparison(rows, experiment_of_run(folders[0].settings())))
        name = "curves.png" if len(by_world) == 1 else f"curves-{world.replace(':', '-')}.png"
        print(f"curves: {draw_curves(folders, out / name)}")
