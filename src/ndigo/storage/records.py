"""What the JSON of a run's files holds, checked before anything reads it: settings, lines of metrics, results.

A file may be another program's, another version's, or damaged where no checksum looks. Then an error names the file
and its first wrong part, instead of the line of code that happens to need that part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ndigo.errors import NdigoError

NAMES, COUNT, NUMBER, TEXT = "a list of names", "a whole number", "a number", "text"
LARGEST = 2**53  # of a count: what a float still tells from the next
# Of each record the parts that are read by name: their kind, or for numbers by seed how many axes they have.
WORLD: dict[str, str | int] = {
    "name": TEXT,
    "num_steps": COUNT,
    **dict.fromkeys(("channels", "in_view", "objects", "kinds"), NAMES),
}
# What is read before it is a `Config`.
CONFIG: dict[str, str | int] = {"world": TEXT, "reward": TEXT, "seeds": COUNT, "learner_steps": COUNT}
SETTINGS: dict[str, str | int] = {"reward": TEXT, "seed": COUNT, "learner_step": COUNT}
LINE: dict[str, str | int] = {
    **dict.fromkeys(("step", "world_steps"), COUNT),
    **dict.fromkeys(("seconds", "transitions_per_second"), NUMBER),
}
BY_SEED = ("learning", "acting", "evaluation")  # parts of a line, with numbers for each seed
LEARNING: dict[str, str | int] = {"reward": 1, "reward_c": 2}
EVALUATION: dict[str, str | int] = dict.fromkeys(("visits", "first_visit", "frequency", "discovery_loss"), 2)
TRACKING: dict[str, str | int] = {"loss": 3, "steps": 3}
RESULT: dict[str, str | int] = {
    **dict.fromkeys(("learner_steps", "world_steps", "episodes", "median_seed"), COUNT),
    "seconds": NUMBER,
    "device": TEXT,
    "discovers": NAMES,
}
META: dict[str, str | int] = {
    **dict.fromkeys(("label", "world", "reward"), TEXT),
    **dict.fromkeys(("num_steps", "num_ahead", "view", "first_episode", "episode_seed"), COUNT),
    **dict.fromkeys(("actions", "events", "extras"), NAMES),
}
CHANNEL: dict[str, str | int] = {"name": TEXT, "kind": TEXT}
OBJECT: dict[str, str | int] = {"name": TEXT, "kind": TEXT, "label": TEXT, "colour": 1}


class Part(dict[str, Any]):
    """A record of a file. To ask for what it has not is an error that names the file."""

    def __init__(self, values: dict[str, Any], source: str):
        super().__init__(values)
        self.source = source

    def __or__(self, other: dict[str, Any]) -> Part:  # type: ignore[override]
        return Part({**self, **other}, self.source)

    def __missing__(self, name: str) -> Any:
        raise NdigoError(f"{self.source} is damaged, or another version's: it has no {name!r}")


def read_json(data: bytes | str, source: str) -> Any:
    """The value; an error in one line where it is no JSON, also where it is nested beyond reading."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        where = "" if line is None else f" from line {line}, column {getattr(error, 'colno', 1)} on"
        raise NdigoError(f"{source} is damaged (it is no JSON{where}); it cannot be read") from None


def check_settings(settings: Any, source: str) -> Part:
    """What config.json and an agent's header hold; the values inside `config` are the business of `Config`."""
    return _part(settings, SETTINGS, source, parts={"config": CONFIG, "world": WORLD})


def check_line(line: Any, source: str) -> Part:
    """A line of metrics: step and clock, `learning` by seed, and every few lines an `evaluation` by seed."""
    checked = _part(line, LINE, source, parts={"learning": LEARNING, "evaluation": EVALUATION})
    checked["step"]  # without its step a line says nothing
    return checked


def check_result(result: Any, source: str) -> Part:
    """A finished row's result."""
    return _part(result, RESULT, source, parts={"evaluation": EVALUATION, "tracking": TRACKING, "files": {}})


def check_meta(meta: Any, source: str) -> Part:
    """What a recording of episodes says of itself."""
    checked = _part(meta, META, source)
    for name, kinds in {"channels": CHANNEL, "objects": OBJECT}.items():
        if not isinstance(checked[name], list):
            raise NdigoError(f"{source} is damaged: {name} is {_shown(checked[name])}, expected a list of records")
        checked[name] = [_part(entry, kinds, f"{source}: {name}") for entry in checked[name]]
    return checked


def columns_of(metric: str) -> str:
    """Which names of its world the columns of a metric have."""
    return "channels" if metric.endswith("_c") else "objects" if metric == "discovery_loss" else "in_view"


def check_sizes(lines: Sequence[Part], world: Mapping[str, Any], source: str) -> None:
    """All arrays of the lines have as many rows, one per seed, and are as wide as their columns have names."""
    seeds = None
    for line in lines:
        for name, value in [*line.get("learning", {}).items(), *line.get("evaluation", {}).items()]:
            if name not in (*EVALUATION, "reward_c") or columns_of(name) not in world:
                continue
            seeds = len(value) if seeds is None else seeds
            width, wanted = len(value[0]) if value else 0, len(world[columns_of(name)])
            # Without truth there is no loss to measure, though objects may have names.
            if len(value) != seeds or (width != wanted and (name != "discovery_loss" or width)):
                found = f"{len(value)} seeds by {width}"
                raise NdigoError(f"{source} is damaged: {name} has {found} numbers, expected {seeds} by {wanted}")


def _part(
    value: Any, kinds: dict[str, str | int], source: str, parts: dict[str, dict[str, str | int]] | None = None
) -> Part:
    if not isinstance(value, dict):
        raise NdigoError(f"{source} is damaged, or no file of ours: {_shown(value)} stands where a record should")
    for name, kind in kinds.items():
        if name in value and not _is_kind(value[name], kind):
            expected = kind if isinstance(kind, str) else f"finite numbers by seed in {kind} axes"
            raise NdigoError(f"{source} is damaged: {name} is {_shown(value[name])}, expected {expected}")
    inside = {
        name: _part(value[name], kinds, f"{source}: {name}") for name, kinds in (parts or {}).items() if name in value
    }
    return Part(value | inside, source)


def _is_kind(value: Any, kind: str | int) -> bool:
    if isinstance(kind, int):
        try:
            array = np.asarray(value, float)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return False
        return array.ndim == kind and bool(np.isfinite(array).all())
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return {
        TEXT: isinstance(value, str),
        COUNT: is_whole and 0 <= value <= LARGEST,
        NUMBER: is_whole or isinstance(value, float),
        NAMES: isinstance(value, list) and all(isinstance(name, str) for name in value),
    }[kind]


def _shown(value: Any) -> str:
    """Short enough for one line."""
    return "a record" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)[:40]
