"""Settings side by side: `--vary model_rate=1e-3,2e-3` as runs that one program trains.

Rates, epsilons, gamma and lambda are numbers that a compiled program takes as they come. Runs that differ in nothing
else are lanes of one program, as seeds are; each keeps a folder of its own, and is a run like any other.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path

from ndigo.config import VARIED, Config
from ndigo.errors import NdigoError, unknown_name
from ndigo.scale.settings_file import FIELDS
from ndigo.scale.sweep import SweepRow, row_name
from ndigo.storage.newest import at_one_step

UNASKED = 4  # rows of a pack
NAMES = {name.strip("_"): name for name in VARIED}


def varied(words: Sequence[str], config: Config) -> dict[str, Config]:
    """By name, the settings of every combination; a word is NAME=VALUE,VALUE,...

    >>> list(varied(["gamma=0.9,0.99"], Config()))
    ['gamma-0.9', 'gamma-0.99']
    """
    axes: dict[str, list[float]] = {}
    for word in words:
        name, _, values = word.partition("=")
        field = NAMES.get(name.strip("-_").replace("-", "_"))
        if field is None:
            known = name.strip("-_").replace("-", "_") in FIELDS
            what = "setting that can be varied (a sweep varies any)" if known else "setting that can be varied"
            raise unknown_name(what, name, NAMES)
        if field in axes:
            raise NdigoError(f"--vary {word}: {name} is varied twice")
        axes[field] = [_number(value, word) for value in values.split(",")]
        if len(set(axes[field])) < len(axes[field]):
            raise NdigoError(f"--vary {word}: has a value twice")
    points = [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]
    names = [row_name({field.strip("_"): value for field, value in point.items()}) for point in points]
    made = [dataclasses.replace(config, **point) for point in points]  # type: ignore[arg-type]
    return dict(zip(names, made, strict=True))


def _number(text: str, word: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise NdigoError(f"--vary {word}: {text!r} is no number; write NAME=VALUE,VALUE") from None


def packs(rows: Sequence[SweepRow], asked: int | None, places: int) -> list[list[SweepRow]]:
    """The rows of a sweep, those together that one program can train from the step they are at.

    Of a pack there are as many as `asked`; where nobody asks, up to 4, and never so many that one of the engine's
    `places` has nothing to train. 4 of 10 seeds each are the 40 lanes that a GPU trains best (docs/scale.md).
    """
    most = asked or max(1, min(UNASKED, len(rows) // max(1, places)))
    default = {name: getattr(Config(), name) for name in VARIED}
    by_path, alike = {row.path: row for row in rows}, dict[Config, list[Path]]()
    for row in rows:
        alike.setdefault(dataclasses.replace(row.config, **default), []).append(row.path)
    groups = [[by_path[path] for path in group] for paths in alike.values() for group in at_one_step(paths)]
    return [group[i : i + most] for group in groups for i in range(0, len(group), most)]
