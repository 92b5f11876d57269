"""Settings from a file: TOML as a person writes it, or the config.json of a run.

preset = "gpu"       # what the file does not say is the preset's
world = "exp1"
model_rate = 2e-3    # any field of `ndigo.Config`
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from ndigo.config import PRESETS, SETTINGS_LISTED, Config
from ndigo.errors import NdigoError, unknown_name
from ndigo.storage.run_folder import read_whole
from ndigo.storage.seal import BrokenSealError, unseal

# The command line says --lambda, which Python cannot: both names are known.
FIELDS = {field.name.strip("_"): field.name for field in dataclasses.fields(Config)}


class SettingsFile(NamedTuple):
    """What a file says of a run."""

    preset: str | None
    settings: dict[str, Any]


def is_run(path: Path) -> bool:
    """True of a run's folder or config.json, which has every setting."""
    return path.suffix == ".json" or path.is_dir()


def read_settings(path: Path) -> SettingsFile:
    """The settings of a TOML file, or of a run by its config.json or its folder."""
    if is_run(path):
        return SettingsFile(None, _of_run(path / "config.json" if path.is_dir() else path))
    table = read_toml(path)
    if sweep := {"grid", "rows"} & set(table):
        raise NdigoError(f"{path} has {sweep.pop()}, so it is a sweep: ndigo sweep {quote(str(path))}")
    preset = table.pop("preset", None)
    return SettingsFile(checked_preset(preset, path), checked_settings(table, path))


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise NdigoError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise NdigoError(f"{path} is not TOML: it is no text") from None
    except RecursionError:
        raise NdigoError(f"{path} is not TOML: it is nested too deeply") from None
    except ValueError as error:
        place = re.search(r"\(at (line \d+, column \d+|end of document)\)", str(error))
        where = "" if place is None else f": it cannot be read from {place[1]} on"
        raise NdigoError(f"{path} is not TOML{where}") from None


def checked_preset(name: Any, path: Path) -> str | None:
    if name is not None and not (isinstance(name, str) and name in PRESETS):
        raise unknown_name(f"preset in {path}:", name, PRESETS)
    return name


def checked_settings(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The table by the names of `Config`'s fields, which judges the values; an unknown name is one line."""
    for name in table:
        if name.strip("_") not in FIELDS:
            raise unknown_name(f"setting in {path}:", name, FIELDS, SETTINGS_LISTED)
    return {FIELDS[name.strip("_")]: value for name, value in table.items()}


def _of_run(path: Path) -> dict[str, Any]:
    try:
        config = dict(unseal(read_whole(path).removesuffix(b"\n"))[0]["config"])
    except OSError as error:
        raise NdigoError(f"{path} cannot be read: {error.strerror or error}") from None
    except BrokenSealError as error:
        raise NdigoError(f"{path} is not the config.json of a run, or damaged ({error})") from None
    except (ValueError, KeyError, TypeError):
        raise NdigoError(f"{path} is not the config.json of a run") from None
    # A setting younger than the run has its default, which is what the run did.
    return dataclasses.asdict(Config()) | checked_settings(config, path)
