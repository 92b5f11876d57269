"""An agent's numbers in a sentence, for whoever reads one line of a table's twenty."""

from __future__ import annotations

import numpy as np

from ndigo.paper.comparisons import half_of_knowing_the_room, prior
from ndigo.paper.experiment import Experiment
from ndigo.report.tables import Line


def mean_over(line: Line, metric: str, names: list[str], end: str = "mean") -> float:
    return float(np.mean([getattr(line.values[metric][name], end) for name in names]))


def conclusion(line: Line, experiment: Experiment | None, who: str | None = None) -> str:
    """Whether the agent discovers what its experiment is about, and by which numbers (means over those objects).

    Discovered is an object whose loss is under half of that of knowing its room and no more. A world of one's own has
    no such level: its numbers stand alone.
    """
    who = who or line.label
    losses = line.values.get("discovery_loss", {})
    names = list(losses or line.values["visits"]) if experiment is None else list(experiment.discovers)
    if not names:
        return f"{who}: its world names nothing that could be seen."
    what = " and ".join(names) if len(names) < 3 else f"the {len(names)} objects"
    seen = (
        f"seen in {mean_over(line, 'frequency', names):.0f}% of episodes, "
        f"first at step {mean_over(line, 'first_visit', names):.0f}"
    )
    if not losses:
        return f"{who}: {what} {seen}."
    known = f"known to {mean_over(line, 'discovery_loss', names):.2f} nats"
    if experiment is None or (level := prior(experiment.name)) is None:
        return f"{who}: {what} {seen}, and {known}, where 0 is certain."
    is_found = mean_over(line, "discovery_loss", names) < half_of_knowing_the_room(experiment.name)
    return (
        f"{who} {'discovers' if is_found else 'does not discover'} {what}: {seen}, and {known}, where "
        f"{level:.2f} knows the room and 0 the cell."
    )
