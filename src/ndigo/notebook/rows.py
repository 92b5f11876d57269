"""A run's metrics as flat rows, one per line of metrics and seed, and as a pandas table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndigo.errors import NdigoError
from ndigo.storage.records import columns_of

CLOCK = ("step", "world_steps", "seconds")


def metric_rows(lines: Sequence[Mapping[str, Any]], world: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`step`, `seed` and every number of `learning` and `evaluation`; of a list, each by its name: `visits fixed`.

    Of a number that both have, `reward` is the learner's and `evaluation reward` the other.
    None stands where a line has no such number, as without an evaluation.
    """
    rows = [
        {name: line[name] for name in CLOCK if name in line} | {"seed": seed} | _numbers(line, world, seed)
        for line in lines
        for seed in range(_num_seeds(line))
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in columns} for row in rows]


def dataframe(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The rows as a `pandas.DataFrame`."""
    try:
        import pandas  # pyright: ignore[reportMissingImports, reportMissingModuleSource]
    except ImportError:
        raise NdigoError("run.dataframe() needs pandas: pip install pandas; run.rows() needs nothing") from None
    return pandas.DataFrame(list(rows))


def _num_seeds(line: Mapping[str, Any]) -> int:
    return max((len(value) for part in _parts(line) for value in part.values()), default=0)


def _parts(line: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [line[name] for name in ("learning", "evaluation") if name in line]


def _numbers(line: Mapping[str, Any], world: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Every number of a seed, with the name of what it is of where it is one of several."""
    found: dict[str, float] = {}
    learned = line.get("learning", {})
    for part in _parts(line):
        for metric, by_seed in part.items():
            value = by_seed[seed]
            column = metric if part is learned or metric not in learned else f"evaluation {metric}"
            if not isinstance(value, list):
                found[column] = value
                continue
            for name, x in zip(_names(metric, len(value), world), value, strict=True):
                found[f"{column} {name}"] = x
    return found


def _names(metric: str, count: int, world: Mapping[str, Any]) -> Sequence[str]:
    names = world.get(columns_of(metric), ())
    return names if len(names) == count else [str(i) for i in range(count)]
