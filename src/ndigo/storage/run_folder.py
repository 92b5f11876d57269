"""The run folder: the contract between training and everything that looks.

    config.json     the resolved settings, the world's shapes and the versions that ran
    metrics.jsonl   one line per chunk; every few chunks it holds an evaluation, per seed and object
    checkpoints/    step_N/ (see `checkpoint`)
    .lock           held by the process that writes the run (see `lock`)

Files are written to a temporary name, synced and renamed, so a reader never meets half a file.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ndigo.errors import NdigoError


class WriteError(NdigoError):
    """The disk refused; what was there before is still there."""

    exit_code = 1


class RunFolder:
    """Reads and writes one run's files. Nothing here knows what trains."""

    def __init__(self, path: str | Path):
        self.path = Path(path)

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @staticmethod
    def refuse_taken(path: str | Path) -> None:
        """An error where no new run can begin: a run is there, or a file."""
        path = Path(path)
        if (path / "config.json").exists():
            raise NdigoError(f"{path} already holds a run; continue it with --resume {path} or choose another --out")
        if path.exists() and not path.is_dir():
            raise NdigoError(f"{path} is a file; --out must name a folder")

    @staticmethod
    def create(path: str | Path, settings: dict[str, Any]) -> RunFolder:
        """A new run; a folder that already holds one is left alone."""
        RunFolder.refuse_taken(path)
        run = RunFolder(path)
        make_folder(run.path)
        write_whole(run.path / "config.json", json.dumps(settings, indent=1).encode())
        return run

    @staticmethod
    def open(path: str | Path) -> RunFolder:
        run = RunFolder(path)
        if not (run.path / "config.json").exists():
            what = "it has no config.json" if run.path.exists() else "it does not exist"
            raise NdigoError(f"{run.path} is not a run: {what}; name a folder that ndigo train made")
        return run

    def settings(self) -> dict[str, Any]:
        """The resolved settings: `config`, `world`, `reward`, `versions`, `device`."""
        try:
            return json.loads((self.path / "config.json").read_bytes())
        except ValueError as error:
            raise NdigoError(f"{self.path}/config.json is damaged ({error}); the run cannot be read") from None

    def append(self, line: dict[str, Any]) -> None:
        """Adds one line of metrics, on disk when this returns; a disk that is full keeps no part of it."""
        path = self.path / "metrics.jsonl"
        before = path.stat().st_size if path.exists() else 0
        try:
            with open(path, "ab") as file:
                file.write(json.dumps(line).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                os.truncate(path, before)
            raise WriteError(f"cannot write {path}: {error.strerror or error}") from None

    def metrics(self) -> list[dict[str, Any]]:
        """Every whole line; a last line cut short by a kill is skipped."""
        return list(self._lines())

    def evaluations(self) -> list[dict[str, Any]]:
        return [line for line in self._lines() if "evaluation" in line]

    def rewind(self, step: int) -> None:
        """Drops the lines after `step`: a resumed run writes them again."""
        kept = [line for line in self._lines() if line["step"] <= step]
        for name in ("config.json", "metrics.jsonl"):  # what a kill left; no other name is ours to remove
            _temporary(self.path / name).unlink(missing_ok=True)
        write_whole(self.path / "metrics.jsonl", "".join(json.dumps(line) + "\n" for line in kept).encode())

    def _lines(self) -> Iterator[dict[str, Any]]:
        path = self.path / "metrics.jsonl"
        if not path.exists():
            return
        lines = path.read_bytes().split(b"\n")
        for number, text in enumerate(lines, 1):
            if not text:
                continue
            try:
                yield json.loads(text)
            except ValueError:
                if number == len(lines):
                    return
                raise NdigoError(f"{path} line {number} is damaged; remove that line to read the rest") from None


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp")


def write_whole(path: Path, data: bytes) -> None:
    """Writes all of `data` under `path`, or leaves what was there."""
    temporary = _temporary(path)
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise WriteError(f"cannot write {path}: {error.strerror or error}") from None


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot make the folder {path}: {error.strerror or error}") from None


def sync_folder(path: Path) -> None:
    """Makes renames inside a folder survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
