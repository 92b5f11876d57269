"""A sweep: rows of settings from one TOML file, and where the run of each lies.

    preset = "gpu"
    world = "exp1"
    learner_steps = 3_200

    [grid]                             # every combination
    reward = ["ndigo-4", "pe"]
    seed = [0, 1]

    [[rows]]                           # or a list; with both, each of the list with each of the grid
    model_rate = 1e-3

    [slurm]                            # what a row takes of an engine, in the engine's own words
    timeout_min = 240

What stands before the tables is common to all rows; `rows = "paper"` are those that `ndigo reproduce --all` makes. A
row is named by what the grid and the list say of it, so that its folder stays its own when the sweep grows.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ndigo.config import Config, preset
from ndigo.errors import NdigoError, unknown_name
from ndigo.scale.settings_file import FIELDS, checked_preset, checked_settings, read_toml
from ndigo.storage.run_folder import RunFolder

MOST_ROWS = 10_000
MOVE_AWAY = "move that folder away, or give the sweep another out"  # where a row's folder holds a run of other settings
ENGINE_TABLES = ("ray", "slurm")
MOST_IN_PACK = 1000


@dataclass(frozen=True)
class SweepRow:
    """One run of a sweep."""

    name: str
    config: Config
    path: Path
    given: frozenset[str] = frozenset()
    """Settings that the file says; the others are the preset's, of which a world may change `SETTLED`."""


@dataclass(frozen=True)
class Sweep:
    """What a file asks for."""

    file: Path
    out: Path
    rows: tuple[SweepRow, ...]
    takes: dict[str, dict[str, Any]]  # by engine
    pack: int | None = None  # rows that one program may train, where they differ in what can vary (`vary`)


def read_sweep(file: Path, out: Path | None = None) -> Sweep:
    """The sweep of a file; every mistake in it is one line, and nothing is written."""
    table = read_toml(file)
    takes = {engine: _table(table.pop(engine, {}), engine, file) for engine in ENGINE_TABLES}
    said = table.pop("out", f"runs/{file.stem}")
    if not isinstance(said, str) or not said or not said.isprintable():
        raise NdigoError(f"{file}: out = {said!r} must be text, the folder of the rows")
    out = out or Path(said)
    pack = table.pop("pack", None)
    if pack is not None and (type(pack) is not int or not 1 <= pack <= MOST_IN_PACK):
        raise NdigoError(f"{file}: pack = {pack!r} must be a whole number of rows, from 1 to {MOST_IN_PACK}")
    grid, listed = _table(table.pop("grid", {}), "grid", file), _listed(table.pop("rows", [{}]), file)
    base = checked_preset(table.pop("preset", None), file)
    if base is None:
        # JAX could be asked what it finds here, but the machine that reads the file need not be the one that trains.
        raise NdigoError(f'{file} names no preset; write preset = "gpu" or "cpu" above its tables')
    _refuse_stray(table, file)
    common = checked_settings(table, file)
    rows: dict[str, SweepRow] = {}
    twins: dict[Config, str] = {}
    for own in _combinations(grid, listed, file):
        try:
            config = preset(base, **common | own)
        except NdigoError as error:
            raise NdigoError(f"{file}{f', row {row_name(own)}' if own else ''}: {error}") from None
        name = row_name(own or {"world": config.world, "reward": config.reward})
        if name in rows:
            raise NdigoError(f"{file} has two rows {name}; rows must differ in what the grid or the list says of them")
        if (twin := twins.setdefault(config, name)) != name:
            raise NdigoError(f"{file}: rows {twin} and {name} are the same run; rows must differ in a setting")
        rows[name] = SweepRow(name, config, (out / name).absolute(), frozenset(common | own))
    return Sweep(file, out, tuple(rows.values()), takes, pack)


def row_name(own: dict[str, Any]) -> str:
    """World and reward by their values, then name and value of each other setting.

    >>> row_name({"batch": 32, "reward": "ndigo-4", "model_rate": 0.001})
    'ndigo-4-batch-32-model-rate-0.001'
    """
    parts = [str(own[name]) for name in ("world", "reward") if name in own]
    parts += [f"{name}-{_number(value)}" for name, value in own.items() if name not in ("world", "reward")]
    return re.sub(r"[^\w.]+|_", "-", "-".join(parts).replace("e+", "e")).strip("-.")  # 1e+38 is not 1e-38


def _number(value: Any) -> str:
    """A minus sign in words: as a dash it would be lost between the dashes of a name."""
    return f"minus{-value}" if isinstance(value, int | float) and value < 0 else str(value)


def refuse_other_settings(path: Path, config: Config, advice: str, but: Collection[str] = ()) -> None:
    """An error where the folder holds a run of other settings `but` for these; `advice` says what to do about it."""
    if not (path / "config.json").exists():
        return
    # A setting younger than the run has its default, which is what the run did.
    there = dataclasses.asdict(Config()) | RunFolder(path).settings()["config"]
    for name, value in dataclasses.asdict(config).items():
        if (found := there.get(name)) != value and name not in but:
            raise NdigoError(f"{path} was begun with {name} {found}, now it is {value}: {advice}")


def _combinations(grid: dict[str, Any], listed: list[dict[str, Any]], file: Path) -> list[dict[str, Any]]:
    """What is a row's own: each of the list with each of the grid."""
    axes = []
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise NdigoError(f"{file}: {name} = {values!r} in [grid] must be a list of values")
        axes.append([checked_settings({name: value}, file) for value in values])
    rows = [checked_settings(own, file) for own in listed]
    for name in {name for own in rows for name in own} & {name for axis in axes for name in axis[0]}:
        raise NdigoError(f"{file}: {name} stands in [grid] and in [[rows]]; it can vary in one of them")
    num_rows = len(rows) * math.prod(map(len, axes))
    if num_rows > MOST_ROWS:
        raise NdigoError(f"{file} has {num_rows:,} rows; at most {MOST_ROWS:,} can be looked after")
    points = [dict(pair for part in point for pair in part.items()) for point in itertools.product(*axes)]
    return [own | point for own in rows for point in points]


def _refuse_stray(common: dict[str, Any], file: Path) -> None:
    """An error for a table that no file has, and for values of a grid that stand before the tables."""
    for name, value in common.items():
        if isinstance(value, dict | list) and name.strip("_") in FIELDS:
            raise NdigoError(f"{file}: {name} = {value!r} must be one value; a list of them stands under [grid]")
        if isinstance(value, dict | list):
            raise unknown_name(f"table in {file}:", name, ("grid", "rows", *ENGINE_TABLES))


def _listed(rows: Any, file: Path) -> list[dict[str, Any]]:
    if rows == "paper":
        from ndigo.paper.plan import all_rows

        return [{"world": row.experiment, "reward": row.reward} for row in all_rows()]
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise NdigoError(f'{file}: rows must be a list of tables, each under [[rows]], or rows = "paper"')
    return rows


def _table(value: Any, name: str, file: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NdigoError(f"{file}: {name} = {value!r} must be a table, under [{name}]")
    return value
