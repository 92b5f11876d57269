"""The folder of a row: what a finished run comes to, small enough to ship.

    config.json        the run's own: settings, world, versions, device
    result.json        steps, seconds, and the final greedy evaluation, per seed; the digests of the files beside it
    metrics.jsonl.gz   learning curves, thinned (`thin`)
    agent.safetensors  the median seed's agent, where it is kept

A folder is written under a temporary name and renamed: it is whole or absent. A shipped row's agent lies in a folder
beside all rows', under the row's name: results/rows/exp1-icm, results/agents/exp1-icm.safetensors.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ndigo.errors import NdigoError
from ndigo.storage.episodes import most_unpacked
from ndigo.storage.in_place import put_in_place
from ndigo.storage.records import Part, check_line, check_result, check_settings, check_sizes, read_json
from ndigo.storage.run_folder import WriteError, make_folder, read_whole, sealed_settings, write_whole
from ndigo.storage.seal import BrokenSealError, seal, unseal

FORMAT, VERSION = "ndigo-row", 1
AGENT = "agent.safetensors"
SEALED = ("config.json", "metrics.jsonl.gz")  # whose digests result.json has
DIGITS = 5  # that count, of every number in the thinned metrics


@dataclass(frozen=True)
class RowFolder:
    """What a row's folder holds."""

    path: Path
    settings: dict[str, Any]  # config.json
    result: dict[str, Any]  # result.json
    metrics: list[dict[str, Any]]  # one line per evaluation

    @property
    def agent(self) -> Path | None:
        places = self.path / AGENT, shipped_agent(self.path)
        return next((path for path in places if path.exists()), None)


def thin(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for each evaluation, the evaluation untouched, `learning` the mean over the lines since the one before.

    Each line of a run is itself a mean over as many updates as the others, so the means are over all updates and
    nothing is picked. What the clock says is the last line's.
    """
    thinned, since = [], []
    for line in lines:
        since.append(line["learning"])
        if "evaluation" in line:
            names = since[0]
            learning = {name: np.mean([each[name] for each in since], axis=0).tolist() for name in names}
            thinned.append(line | {"learning": learning})
            since = []
    return _rounded(thinned)


def save_row(
    path: Path,
    settings: dict[str, Any],
    result: dict[str, Any],
    lines: Sequence[dict[str, Any]],
    save_agent: Callable[[Path], object] | None = None,
) -> RowFolder:
    """Writes the folder, in place of one that was there; `save_agent` writes the agent to the path it is given."""
    with _made_whole(path) as temporary:
        text = "".join(json.dumps(line) + "\n" for line in thin(lines))
        files = {"config.json": sealed_settings(settings), "metrics.jsonl.gz": gzip.compress(text.encode(), mtime=0)}
        for name, data in files.items():
            write_whole(temporary / name, data)
        write_whole(temporary / "result.json", sealed_result(result, files))
        if save_agent is not None:
            save_agent(temporary / AGENT)
    return load_row(path)


def shipped_agent(path: Path) -> Path:
    """Where the agent of the row that is shipped as `path` lies."""
    return path.absolute().parent.parent / "agents" / f"{path.name}.safetensors"


def ship_row(source: Path, path: Path) -> None:
    """The row in its place among the shipped ones, whole or not at all; its agent first, beside them."""
    with _made_whole(path) as temporary:
        if (source / AGENT).exists():
            make_folder(shipped_agent(path).parent)
            write_whole(shipped_agent(path), (source / AGENT).read_bytes())
        shutil.copytree(source, temporary, ignore=shutil.ignore_patterns(AGENT), dirs_exist_ok=True)


def is_row(path: Path) -> bool:
    return (path / "result.json").exists()


def load_row(path: Path) -> RowFolder:
    """The folder's contents; what is no such folder, or damaged, is one line."""
    try:
        result = check_result(_unsealed(path / "result.json"), str(path / "result.json"))
        if (result["format"], result["version"]) != (FORMAT, VERSION):
            raise NdigoError(f"{path} is of format {result['format']} {result['version']}, not {FORMAT} {VERSION}")
        for name in SEALED:
            if result["files"][name] != hashlib.sha256(read_whole(path / name)).hexdigest():
                raise NdigoError(f"row {path} is damaged ({name} is not the file that result.json was written with)")
        settings = check_settings(_unsealed(path / "config.json"), str(path / "config.json"))
        text = _unpacked(read_whole(path / "metrics.jsonl.gz")).decode()
        source = str(path / "metrics.jsonl.gz")
        metrics = [check_line(read_json(line, source), source) for line in text.splitlines()]
    except OSError as error:
        name = Path(error.filename or path).name
        raise NdigoError(f"{path} is no row, or damaged ({name}: {error.strerror or error})") from None
    except NdigoError:
        raise
    except BrokenSealError as error:
        raise NdigoError(f"row {path} is damaged ({error})") from None
    except (ValueError, KeyError, EOFError, zlib.error):
        raise NdigoError(f"row {path} is damaged (its files do not hold what a row's do)") from None
    if not metrics:
        raise NdigoError(f"row {path} is damaged: it has no line of metrics")
    final = Part({"evaluation": result["evaluation"]}, str(path))
    check_sizes([*metrics, final], settings["world"], f"row {path}")
    return RowFolder(path, settings, result, [*metrics])


def sealed_result(result: dict[str, Any], files: Mapping[str, bytes]) -> bytes:
    """The text of result.json."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    whole = {"format": FORMAT, "version": VERSION} | _rounded(result) | {"files": digests}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in whole.items())
    return seal(f"{{\n{rows}\n}}".encode()) + b"\n"


def _unpacked(data: bytes) -> bytes:
    """The text of a gzip; ValueError where it was made to fill the memory."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        text = file.read(most_unpacked(data) + 1)
    if len(text) > most_unpacked(data):
        raise ValueError(f"{len(data):,} bytes unpack to more than {most_unpacked(data):,}")
    return text


def _unsealed(path: Path) -> dict[str, Any]:
    try:
        return unseal(read_whole(path).removesuffix(b"\n"))[0]
    except BrokenSealError as error:
        raise BrokenSealError(f"{path.name}: {error}") from None


@contextlib.contextmanager
def _made_whole(path: Path) -> Iterator[Path]:
    """An empty folder to fill, which then has the row's name; on an error what was there stays."""
    temporary = path.with_name(f".{path.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    make_folder(temporary)
    try:
        yield temporary
        put_in_place(temporary, path)
    except OSError as error:
        raise WriteError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _rounded(x: Any) -> Any:
    if isinstance(x, float):
        return float(f"{x:.{DIGITS}g}")
    if isinstance(x, dict):
        return {name: _rounded(value) for name, value in x.items()}
    return [_rounded(value) for value in x] if isinstance(x, list | tuple) else x
