"""What a person sees while a run trains: a bar that is rewritten, or plain lines where there is no terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ndigo.worlds import World


class TrainingProgress:
    """Step, speed, reward split by channel, discovery loss and visits; a line for every evaluation."""

    def __init__(self, console: Console, world: World, total: float, unit: str):
        self.console = console
        self.world = world
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f}% of {task.fields[limit]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("compiling", total=total, limit=unit)

    def __enter__(self) -> TrainingProgress:
        self.bar.start()
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.stop()

    def show(self, done: float, line: dict[str, Any]) -> None:
        learning = line["learning"]
        split = np.asarray(learning["reward_c"]).mean(axis=0)
        parts = " ".join(f"{c.name} {x:+.3f}" for c, x in zip(self.world.channels, split, strict=True))
        status = f"step {line['step']:,}  {line['transitions_per_second']:,.0f} transitions/s  reward {parts}"
        self.bar.update(self.task, completed=done, description=status)
        if "evaluation" in line:
            self.console.print(
                f"step {line['step']:>7,}  {line['seconds']:>6.0f} s  {self._evaluation(line)}", highlight=False
            )

    def _evaluation(self, line: dict[str, Any]) -> str:
        mean = {name: np.asarray(x).mean(axis=0) for name, x in line["evaluation"].items()}
        seen = [c.name for c in self.world.channels if c.kind == "one_hot"]
        visits = ", ".join(f"{name} {x:.0f}" for name, x in zip(seen, mean["visits"], strict=True))
        loss = ", ".join(f"{name} {x:.2f}" for name, x in zip(self.world.objects, mean["discovery_loss"], strict=False))
        return f"visits: {visits}  discovery loss: {loss}" if loss else f"visits: {visits}"
