"""One of the runs that train side by side: its lanes of every line and of the state go into its own folder.

Each is a run as if it had been trained alone: it can be looked at, evaluated and resumed without the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndigo.storage.checkpoint import CheckpointWriter
from ndigo.storage.parts import Share
from ndigo.storage.records import BY_SEED
from ndigo.storage.run_folder import RunFolder

Saved = dict[str, np.ndarray] | Share  # a state as it is saved


@dataclass(frozen=True)
class RunLanes:
    """Lanes `first` to `last` of what trains, and the folder they belong to."""

    folder: RunFolder
    first: int
    last: int
    writer: CheckpointWriter
    seconds_before: float  # of its earlier sittings

    def line(self, joint: dict[str, Any], elapsed: float) -> dict[str, Any]:
        """Its own line of a chunk, `elapsed` seconds into this sitting."""
        return lanes_of([self], joint) | {"seconds": round(self.seconds_before + elapsed, 3)}

    def own(self, arrays: Saved) -> Saved:
        """Its own part of the state."""
        if isinstance(arrays, Share):
            return arrays.lanes(self.first, self.last)
        return {name: array[self.first : self.last] for name, array in arrays.items()}


def lanes_of(runs: Sequence[RunLanes], joint: dict[str, Any]) -> dict[str, Any]:
    """A line with these runs' lanes alone, and of their world steps the mean."""

    def own(by_lane: Sequence[Any]) -> list[Any]:
        return [x for run in runs for x in by_lane[run.first : run.last]]

    parts = {
        name: {key: own(value) for key, value in part.items()} if name in BY_SEED else part
        for name, part in joint.items()
    }
    return parts | {"world_steps": round(float(np.mean(own(joint["world_steps"]))))}
