"""The run folder: the contract between training and everything that looks.

    config.json     the resolved settings, the world's shapes and the versions that ran, sealed (see `seal`)
    metrics.jsonl   one line per chunk, a chain of seals; every few chunks with an evaluation, per seed and object
    checkpoints/    step_N/ (see `checkpoint`); there from the beginning, so that one that is gone was lost
    .lock           held by the process that writes the run (see `lock`)

Files are written to a temporary name, synced and renamed, so a reader never meets half a file.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

from ndigo.errors import NdigoError
from ndigo.storage.records import Part, check_line, check_settings, check_sizes
from ndigo.storage.seal import TAIL, seal, unseal


class WriteError(NdigoError):
    """The disk refused; what was there before is still there."""

    exit_code = 1


class RunFolder:
    """Reads and writes one run's files. Nothing here knows what trains."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._end: tuple[int, str] | None = None  # of the metrics: their size and the last line's digest

    @property
    def name(self) -> str:
        """The folder's own, also of one that is called `.` or `..`."""
        return os.path.basename(os.path.abspath(self.path))

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @staticmethod
    def refuse_taken(path: str | Path) -> None:
        """An error where no new run can begin: a run is there, or a file."""
        path = Path(path)
        if (path / "config.json").exists():
            again = f"--resume {quote(str(path))}"
            raise NdigoError(f"{path} already holds a run; continue it with {again} or choose another --out")
        if path.exists() and not path.is_dir():
            raise NdigoError(f"{path} is a file; --out must name a folder")

    @staticmethod
    def create(path: str | Path, settings: dict[str, Any]) -> RunFolder:
        """A new run; a folder that already holds one is left alone."""
        RunFolder.refuse_taken(path)
        run = RunFolder(path)
        make_folder(run.checkpoints)
        write_whole(run.path / "config.json", sealed_settings(settings))
        return run

    @staticmethod
    def open(path: str | Path) -> RunFolder:
        run = RunFolder(path)
        if not (run.path / "config.json").exists():
            what = "it has no config.json" if run.path.exists() else "it does not exist"
            raise NdigoError(f"{run.path} is not a run: {what}; name a folder that ndigo train made")
        if (run.path / "result.json").exists() and not run.checkpoints.exists():
            row = f"{run.path} is a finished row, not a run: it keeps no networks"
            raise NdigoError(f"{row}; ndigo report --paper reports on all rows, results/agents has agents")
        return run

    def settings(self) -> dict[str, Any]:
        """The resolved settings: `config`, `world`, `reward`, `versions`, `device`."""
        path = self.path / "config.json"
        try:
            settings, _ = unseal(read_whole(path).removesuffix(b"\n"))
        except ValueError as error:
            raise NdigoError(f"{path} is damaged ({error}); the run cannot be read") from None
        return check_settings(settings, str(path))

    def append(self, line: dict[str, Any]) -> None:
        """Adds one line of metrics, on disk when this returns; a disk that is full keeps no part of it."""
        path = self.path / "metrics.jsonl"
        size = path.stat().st_size if path.exists() else 0
        if self._end is None or self._end[0] != size:
            self._end = size, ([""] + [digest for _, _, digest in self._lines()])[-1]
        text = seal(json.dumps(line).encode(), self._end[1])
        try:
            with open(path, "ab") as file:
                file.write(text + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                os.truncate(path, size)
            raise WriteError(f"cannot write {path}: {error.strerror or error}") from None
        self._end = size + len(text) + 1, unseal(text, self._end[1])[1]

    def metrics(self) -> list[dict[str, Any]]:
        """Every whole line; a last line cut short by a kill is skipped."""
        lines = [line for _, line, _ in self._lines()]
        if (self.path / "config.json").exists():
            check_sizes(lines, self.settings().get("world", {}), f"{self.path}/metrics.jsonl")
        return [*lines]

    def evaluations(self) -> list[dict[str, Any]]:
        return [line for line in self.metrics() if "evaluation" in line]

    def rewind(self, step: int) -> None:
        """Drops the lines after `step`: a resumed run writes them again."""
        left = [text + b"\n" for text, line, _ in self._lines() if line["step"] <= step]
        for name in ("config.json", "metrics.jsonl"):  # what a kill left; no other name is ours to remove
            _temporary(self.path / name).unlink(missing_ok=True)
        write_whole(self.path / "metrics.jsonl", b"".join(left))

    def _lines(self) -> Iterator[tuple[bytes, Part, str]]:
        """(text, line, digest) of each."""
        path = self.path / "metrics.jsonl"
        if not path.exists():
            return
        *whole, cut_short = read_whole(path).split(b"\n")
        digest = ""
        # A line that was cut short has no seal; one with bytes after its seal was not.
        lines = [*whole, cut_short] if TAIL.search(cut_short) else whole
        for number, text in enumerate(lines, 1):
            try:
                line, digest = unseal(text, digest)
            except ValueError as error:
                raise NdigoError(f"{path} is damaged in line {number}: {error}, or a line before it is gone") from None
            yield text, check_line(line, f"{path} line {number}"), digest


def named_path(path: str | Path) -> Path:
    """What a user named; an error where that is empty, which Python takes for the current folder."""
    if path == "":
        raise NdigoError("the path is empty: name a file or a folder")
    return Path(path)


def runs_in(path: Path) -> list[Path]:
    """A run, or the runs in a folder that were begun side by side."""
    inside = _inside(path)
    return [path] if (path / "config.json").exists() or not inside else inside


def agents_in(folder: Path) -> list[Path]:
    """The agents' files and runs that lie in a folder, sorted by name."""
    return sorted({*folder.glob("*.safetensors"), *_inside(folder)})


def _inside(folder: Path) -> list[Path]:
    """The runs right in a folder, sorted by name."""
    return sorted(config.parent for config in folder.glob("*/config.json"))


def sealed_settings(settings: dict[str, Any]) -> bytes:
    """The text of config.json."""
    return seal(json.dumps(settings, indent=1).encode()) + b"\n"


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp")


def read_whole(path: Path) -> bytes:
    """All of a file; an OSError for a pipe or a device, which may never come to an end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is no file", str(path))
    return path.read_bytes()


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


def check_output(path: Path) -> None:
    """Before the work: an error where the file that a user named could not be written after it.

    One rule for all that writes: a folder that is missing is made, and one that cannot be made is refused.
    """
    if path.is_dir():
        raise NdigoError(f"{path} is a folder; an output is a file")
    nearest = next(folder for folder in path.absolute().parents if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        why = "may not be written to" if nearest.is_dir() else "is no folder"
        raise WriteError(f"cannot write {path}: {nearest} {why}")


def make_folder(path: Path) -> None:
    """With those that it lies in."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot make the folder {path}: {error.strerror or error}") from None


def sync_folder(path: Path) -> None:
    """Makes renames inside a folder survive a power cut, where the file system can: some network disks cannot."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)
