"""Lines of agents that need no training, measured once: `python studies/reference-agents/make.py` makes them."""

from __future__ import annotations

from importlib.resources import files
from math import nan

from ndigo.errors import NdigoError
from ndigo.paper.experiment import Experiment
from ndigo.report.statistics import Estimate
from ndigo.report.tables import Line
from ndigo.storage.seal import unseal

FOLDER = files("ndigo.paper") / "reference_agents"


def reference_lines(experiment: Experiment | None) -> list[Line]:
    """The experiment's reference agents; none where they were not measured."""
    if experiment is None or not (path := FOLDER / f"{experiment.name}.json").is_file():
        return []
    try:
        rows = unseal(path.read_bytes().removesuffix(b"\n"))[0]["rows"]
    except ValueError as error:
        raise NdigoError(f"{path} is damaged ({error}); install ndigo again") from None
    return [
        Line(
            label=line["label"],
            reward="",
            values={
                metric: {name: Estimate(*[*found, nan, nan][:3]) for name, found in by_object.items()}
                for metric, by_object in line["values"].items()
            },
        )
        for line in rows
    ]
