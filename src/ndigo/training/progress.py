"""What a person sees while a run trains: a bar that is redrawn, and a line for every evaluation.

On a terminal each number of an evaluation is followed by its trend: a bar per evaluation, from 0 to the largest shown.
Where there is no terminal only the lines are printed, without it, and every minute without one how far the run is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from math import isfinite
from types import TracebackType
from typing import Any

import numpy as np
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from ndigo.config import Config


class StatusAndBar(Progress):
    """The bar with lines of numbers above it."""

    status: Sequence[str] = ("compiling",)

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from (Text(line, no_wrap=True, overflow="ellipsis") for line in self.status)
        yield from super().get_renderables()


# What an evaluation tells of episodes that end by themselves: its name, in words, and digits after the point.
SCALARS = (("coverage", "places", 1), ("task_return", "task return", 2), ("episode_steps", "steps", 0))

QUIET = 60.0  # seconds without a line, where there is no terminal, until one tells how far a chunk is
MANY = 12  # more names than this are not listed: only how many of them an episode reaches
BARS, MOST_BARS = "▁▂▃▄▅▆▇█", 8


class TrainingProgress:
    """Step, speed, reward split by channel, discovery loss, visits and the time left."""

    def __init__(self, console: Console, world: dict[str, Any], config: Config, minutes: float | None):
        self.console, self.world = console, world
        self.is_timed, self.chunk = minutes is not None, config.updates_per_chunk
        self.spoke = 0.0  # seconds of this sitting at the last line that stays
        self.is_compiled = False
        self.visits = ""  # of the last evaluation
        self.evaluations: deque[dict[str, np.ndarray]] = deque(maxlen=MOST_BARS)  # means over seeds, of this sitting
        self.bar = StatusAndBar(
            SpinnerColumn(),
            BarColumn(bar_width=32),
            TextColumn("{task.percentage:>3.0f}% of {task.fields[limit]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        total = config.last_step if minutes is None else 60 * minutes
        limit = f"{config.last_step:,} steps" if minutes is None else f"{minutes:g} min"
        self.task = self.bar.add_task("", total=total, limit=limit)

    def __enter__(self) -> TrainingProgress:
        self.bar.start()
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def within(self, step: int, share: float, seconds: float) -> None:
        """How much of the chunk after `step` is done: with a slow world it may take long."""
        self.bar.update(self.task, completed=seconds if self.is_timed else step + share * self.chunk)
        far = f"step {step:,}, {share:.0%} of the way to {step + self.chunk:,}"
        if not self.is_compiled:
            self.bar.status = (far,)
        if not self.console.is_terminal and seconds - self.spoke > QUIET:
            self.say(f"{far}, {seconds:.0f} s")
            self.spoke = seconds

    def show(self, line: dict[str, Any], seconds: float) -> None:
        """One chunk's line of metrics, `seconds` after the start of this sitting."""
        if "evaluation" in line:
            mean = {name: np.asarray(x).mean(axis=0) for name, x in line["evaluation"].items()}
            self.evaluations.append(mean)
            shown = self._evaluation(mean) or self._learning(line)
            self.say(self._fitted([f"step {line['step']:>7,} {line['seconds']:>6.0f} s", *shown]))
            self.spoke = seconds
            self.visits = f"  {visits.replace(':', '')}" if (visits := self._visits(mean)) else ""
        speed = f"step {line['step']:,}  {line['transitions_per_second']:,} transitions/s"
        self.bar.status, self.is_compiled = (speed + self.visits, *self._learning(line)), True
        self.bar.update(self.task, completed=seconds if self.is_timed else line["step"])

    def _fitted(self, parts: Sequence[str]) -> str:
        """The parts in one line, or in several indented ones where the terminal is too narrow."""
        lines = [parts[0]]
        for part in parts[1:]:
            if self.console.is_terminal and len(f"{lines[-1]}   {part}") > self.console.width:
                lines.append(f"  {part}")
            else:
                lines[-1] += f"   {part}"
        return "\n".join(lines)

    def _learning(self, line: dict[str, Any]) -> list[str]:
        """What is paid, and how much is known or predicted."""
        mean = {name: np.asarray(x).mean(axis=0) for name, x in line["learning"].items()}
        reward = f"reward {mean['reward']:.3f}"
        if mean["reward_c"].any():  # a reward without a split by channel leaves it at zero
            reward += f" ({_named(self.world['channels'], mean['reward_c'], '+.3f')})"
        if loss := _named(self.world["objects"], mean["discovery_loss"], ".2f"):
            return [reward, f"discovery loss {loss}"]
        by_channel = mean.get("model_loss_c", np.zeros(0))
        model_loss = f"model loss {_named(self.world['channels'], by_channel, '.2f')}"
        return [reward, model_loss] if by_channel.any() else [reward]

    def _visits(self, mean: dict[str, np.ndarray], trends: Sequence[str] = ()) -> str:
        names = self.world["in_view"]
        if len(names) > MANY:
            return f"events: {mean['frequency'].sum():.1f} of {len(names)}"
        visits = _named(names, mean["visits"], ".0f", trends)
        return f"visits: {visits}" if visits else ""

    def _evaluation(self, mean: dict[str, np.ndarray]) -> list[str]:
        shown = [
            f"{words}: {mean[name]:.{digits}f}{''.join(self._trends(name))}"
            for name, words, digits in SCALARS
            if name in mean
        ]
        loss = _named(self.world["objects"], mean["discovery_loss"], ".2f", self._trends("discovery_loss"))
        parts = [*shown, self._visits(mean, self._trends("visits")), f"discovery loss: {loss}" if loss else ""]
        return [part for part in parts if part]

    def _trends(self, metric: str) -> list[str]:
        """A trend for each number of the metric, after a blank; only on a terminal, from the second evaluation on."""
        is_drawn = self.console.is_terminal and self.console.encoding.startswith("utf")
        if not is_drawn or len(self.evaluations) < 2:
            return []
        columns = np.stack([np.ravel(mean[metric]) for mean in self.evaluations], axis=1)
        return [f" {bars(values)}" for values in columns.tolist()]


def bars(values: Sequence[float]) -> str:
    """A bar per value, from 0 or the least value below it to the largest; a blank for what is no number."""
    known = [value for value in values if isfinite(value)]
    low, high = min([0.0, *known]), max([0.0, *known])
    per_value = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round(per_value * (value - low))] if isfinite(value) else " " for value in values)


def _named(names: Sequence[str], values: np.ndarray, form: str, trends: Sequence[str] = ()) -> str:
    # Not strict: a world without truth may name objects, but has no discovery loss.
    shown = zip_longest((f"{name} {value:{form}}" for name, value in zip(names, values, strict=False)), trends)
    return ", ".join(f"{text}{trend or ''}" for text, trend in shown if text)
