"""A row as numbers: per seed and object, ready for tables, curves and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ndigo.paper.experiment import Row
from ndigo.paper.rows import RowFolder
from ndigo.report.statistics import Estimate, estimates
from ndigo.report.tables import HEADINGS

# Of two equal rows of ten normal seeds, the one's mean is outside the other's interval in 15% of draws.
BY_CHANCE = "by chance alone about one in six would"
METRICS = tuple(HEADINGS)


@dataclass(frozen=True)
class MeasuredRow:
    """One row's numbers; the first axis is the seed's."""

    row: Row
    objects: tuple[str, ...]
    channels: tuple[str, ...]
    final: Mapping[str, np.ndarray]  # metric -> [S, N]
    steps: np.ndarray  # [points], learner steps of the evaluations along the way
    curves: Mapping[str, np.ndarray]  # metric -> [points, S, N]
    reward_c: np.ndarray  # [points, S, C], a step, on the windows the learner saw
    reward: np.ndarray  # [points, S]
    tracking_loss: np.ndarray  # [S, N, ages], by steps since the object was last seen
    tracking_steps: np.ndarray
    discovers: tuple[str, ...]
    minutes: float
    device: str
    agent: Path | None

    @property
    def num_seeds(self) -> int:
        return len(self.final["visits"])

    def per_seed(self, metric: str, *objects: str) -> np.ndarray:
        """[S]: the metric of one object, or its mean over several; frequencies in percent."""
        columns = [self.objects.index(name) for name in objects]
        return self.final[metric][:, columns].mean(axis=1) * (100 if metric == "frequency" else 1)

    def discovery_loss(self) -> np.ndarray:
        """[S]: the mean over the objects that the experiment's curve averages."""
        return self.per_seed("discovery_loss", *self.discovers)

    def discovery_curve(self) -> np.ndarray:
        """[S, points]: the same, along the way."""
        columns = [self.objects.index(name) for name in self.discovers]
        return self.curves["discovery_loss"][:, :, columns].mean(axis=2).T

    def reward_split(self) -> dict[str, Estimate]:
        """Reward a step at the end of training, by channel; by its total alone where it is no sum over channels."""
        last = self.reward_c[-1]
        if not last.any():
            return {"total": estimates(self.reward[-1][:, None])[0]}
        return dict(zip(self.channels, estimates(last), strict=True))


Rows = Mapping[Row, MeasuredRow]


def measured(row: Row, folder: RowFolder) -> MeasuredRow:
    """The numbers of a row's folder."""
    world, result = folder.settings["world"], folder.result
    lines = folder.metrics
    return MeasuredRow(
        row=row,
        objects=tuple(world["objects"]),
        channels=tuple(world["channels"]),
        final={name: np.asarray(result["evaluation"][name], float) for name in METRICS},
        steps=np.array([line["step"] for line in lines]),
        curves={name: np.array([line["evaluation"][name] for line in lines], float) for name in METRICS},
        reward_c=np.array([line["learning"]["reward_c"] for line in lines], float),
        reward=np.array([line["learning"]["reward"] for line in lines], float),
        tracking_loss=np.asarray(result["tracking"]["loss"], float),
        tracking_steps=np.asarray(result["tracking"]["steps"], float),
        discovers=tuple(result["discovers"]),
        minutes=result["seconds"] / 60,
        device=result["device"],
        agent=folder.agent,
    )


def differences(new: MeasuredRow, shipped: MeasuredRow) -> Sequence[tuple[str, str, float, Estimate, bool]]:
    """(metric, object, new mean, shipped interval, whether the one lies in the other) for every number of a table."""
    found = []
    for metric in METRICS:
        for name in new.objects:
            mean = float(new.per_seed(metric, name).mean())
            (there,) = estimates(shipped.per_seed(metric, name)[:, None])
            # Equal means are equal, also where one seed gives no interval.
            is_inside = mean == there.mean or there.low <= mean <= there.high
            found.append((metric, name, mean, there, bool(is_inside)))
    return found


def compared(new: MeasuredRow, shipped: MeasuredRow) -> str:
    """Whether a remade row agrees with the shipped one, and where not."""
    found = differences(new, shipped)
    outside = [difference for difference in found if not difference[-1]]
    if not outside:
        return f"ok: all {len(found)} means lie within the shipped result's 95% intervals"
    lines = [f"{len(outside)} of {len(found)} means lie outside the shipped result's 95% interval ({BY_CHANCE}):"]
    for metric, name, mean, there, _ in outside:
        interval = f"{there.mean:.4g} ({there.low:.4g} to {there.high:.4g})"
        lines.append(f"  {HEADINGS[metric]} of {name}: {mean:.4g}, shipped {interval}")
    return "\n".join(lines)
