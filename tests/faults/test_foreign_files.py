"""Files that anybody could have made: agents, runs, rows and recordings with one thing in them changed."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from made_up_rows import make_up
from made_up_runs import write_run

from faults.fuzz import IS_WHOLE, Fuzz, nothing_written_beside, skip_the_work
from ndigo.paper.experiments import Row
from ndigo.storage.agents import load_agent, save_agent
from ndigo.storage.episodes import ARRAYS, save_episodes
from ndigo.storage.run_folder import RunFolder
from ndigo.storage.seal import TAIL_SIZE, seal

FILES = 200 if IS_WHOLE else 20
ROOT = Path(__file__).parent.parent.parent
AGENT = ROOT / "results/agents/exp1-ndigo-4.safetensors"
DEEP = b"[" * 20_000 + b"]" * 20_000
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    2**70,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "exp1",
    "[/b]",
    [],
    [[]],
    {},
    {"a": 1},
]


def changed(rng: random.Random, tree: Any) -> Any:
    """The JSON with one part, at any depth, lost, renamed or replaced by something else."""
    if rng.random() < 0.3 or not isinstance(tree, dict | list) or not tree:
        return rng.choice(VALUES)
    if isinstance(tree, list):
        at = rng.randrange(len(tree))
        return [*tree[:at], *([changed(rng, tree[at])] if rng.random() < 0.8 else []), *tree[at + 1 :]]
    name = rng.choice([*tree])
    rest = {other: part for other, part in tree.items() if other != name}
    if rng.random() < 0.15:
        return rest
    return rest | ({f"{name}x": tree[name]} if rng.random() < 0.1 else {name: changed(rng, tree[name])})


def spoiled(rng: random.Random, data: bytes) -> bytes:
    """A file's bytes as noise, cut short, or as something else."""
    others = [b"", b"null", b"5", b'{"a": [', b"\xff\xfe{}", DEEP, b'{"a": ' + DEEP + b"}", rng.randbytes(200)]
    return rng.choice([*others, data[: rng.randrange(len(data))]])


def sealed(tree: Any, before: str = "") -> bytes:
    """As the library writes it, with a right digest: a seal is no signature."""
    text = json.dumps(tree).encode()
    return seal(text, before) if isinstance(tree, dict) and tree else text


def chained(lines: list[Any]) -> bytes:
    texts, digest = [], ""
    for line in lines:
        texts.append(sealed(line, digest))
        digest = hashlib.sha256(digest.encode() + texts[-1][:-TAIL_SIZE]).hexdigest()
    return b"\n".join([*texts, b""])


def foreign_agent(rng: random.Random, here: Path) -> list[list[str]]:
    path = here / "agent.safetensors"
    settings, arrays = load_agent(AGENT)
    how = rng.randrange(4)
    if how == 0:
        path.write_bytes(spoiled(rng, AGENT.read_bytes()))
    elif how == 1:
        name = rng.choice([*arrays])
        array = arrays.pop(name)
        other = {name: array[..., :0], f"{name}x": array, f"{name}y": array.astype(np.int32)}
        save_agent(path, arrays | dict([rng.choice([*other.items()])]), settings)
    else:
        save_agent(path, arrays, changed(rng, settings))
    return [["evaluate", str(path), "--episodes", "2"], ["view", str(path), "--no-open", "--port", "0"]]


def foreign_run(rng: random.Random, here: Path) -> list[list[str]]:
    run = write_run(here / "run", world="exp1", reward="ndigo-4", seeds=2)
    config, metrics = run / "config.json", run / "metrics.jsonl"
    settings, lines = RunFolder(run).settings(), RunFolder(run).metrics()
    file, how, at = rng.choice([config, metrics]), rng.random(), rng.randrange(len(lines))
    if how < 0.1:
        file.unlink()
        file.mkdir() if how < 0.05 else file.symlink_to(file.name)
    elif how < 0.3:
        file.write_bytes(spoiled(rng, file.read_bytes()))
    elif file == config:
        config.write_bytes(sealed(changed(rng, settings)))
    else:
        metrics.write_bytes(chained([*lines[:at], changed(rng, lines[at]), *lines[at + 1 :]]))
    return [["report", str(run)], ["train", "--resume", str(run)], ["view", str(here), "--no-open", "--port", "0"]]


def foreign_row(rng: random.Random, here: Path) -> list[list[str]]:
    row = make_up(here / "rows", Row("exp1", "pe"))
    parts: list[Any] = [row.settings, row.metrics, row.result]
    if rng.random() < 0.3:
        file = rng.choice([*row.path.iterdir()])
        file.write_bytes(spoiled(rng, file.read_bytes()))
    else:
        at = rng.randrange(3)
        parts[at] = changed(rng, parts[at])
        settings, metrics, result = parts
        lines = metrics if isinstance(metrics, list) else [metrics]
        files = {
            "config.json": sealed(settings),
            "metrics.jsonl.gz": gzip.compress(b"\n".join(json.dumps(line).encode() for line in lines)),
        }
        digests = {"files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}}
        files["result.json"] = sealed(result | digests if isinstance(result, dict) and at < 2 else result)
        for name, data in files.items():
            (row.path / name).write_bytes(data)
    root = str(here / "rows")
    return [["report", "--paper", "--rows", root], ["reproduce", "--list", "--rows", root]]


def foreign_recording(rng: random.Random, here: Path) -> list[list[str]]:
    path = here / "episodes.npz"
    data = path.read_bytes()
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    if rng.random() < 0.3:
        path.write_bytes(spoiled(rng, data))
    else:
        if rng.random() < 0.6:
            meta = json.dumps(changed(rng, json.loads(str(arrays["meta"]))))
            arrays["meta"] = np.array(meta if rng.random() < 0.9 else DEEP.decode())
        else:
            name = rng.choice([*ARRAYS])
            array = arrays[name]
            arrays[name] = rng.choice(
                [array[:1], array.astype(np.float64), array.ravel(), np.array("x"), array[..., None]]
            )
        with path.open("wb") as out:
            np.savez_compressed(out, **arrays)
    return [
        ["view", str(path), "--no-open", "--port", "0"],
        ["export", str(path), "--html", str(here / "a.html"), "--figure", str(here / "a.png")],
    ]


def foreign_settings(rng: random.Random, here: Path) -> list[list[str]]:
    """A sweep, or the settings of one run, in TOML; and the note of a row's job."""
    settings = {"preset": "cpu", "world": "exp1", "batch": 4, "model_rate": 1e-3, "seeds": 1}
    grid = {"grid": {"seed": [0, 1], "reward": ["pe", "icm"]}, "slurm": {"timeout_min": 9}, "ray": {"num_cpus": 1}}
    is_sweep, path = rng.random() < 0.6, here / "settings.toml"
    table = changed(rng, settings | (grid if is_sweep else {}))
    text = toml(table if isinstance(table, dict) else {"preset": table}).encode()
    path.write_bytes(text if rng.random() < 0.8 else spoiled(rng, text))
    note = {"state": "running", "engine": "ray", "since": 5.0, "why": "", "host": "here", "pid": 7}
    row = here / "runs" / "settings" / "pe-seed-0"
    row.mkdir(parents=True)
    data = json.dumps(changed(rng, note)).encode()
    (row / "job.json").write_bytes(data if rng.random() < 0.8 else spoiled(rng, data))
    if is_sweep:
        return [["sweep", "status", str(path)], ["sweep", str(path), "--dry-run"]]
    return [["train", "--config", str(path), "--dry-run"]]


def toml(table: dict[str, Any]) -> str:
    """Names and values are written in TOML as in JSON, but for tables; what TOML has not (null) is its own mistake."""
    tables = {name: part for name, part in table.items() if isinstance(part, dict)}
    lines = [f"{json.dumps(name)} = {json.dumps(part)}" for name, part in table.items() if name not in tables]
    inner = [f"[{json.dumps(name)}]\n{toml(part)}" for name, part in tables.items()]
    return "\n".join([*lines, *inner])


def test_every_foreign_file_is_read_or_refused_in_a_line(tmp_path, monkeypatch, recorded, capsys):
    skip_the_work(monkeypatch, recorded)
    fuzz = Fuzz(capsys)
    with nothing_written_beside(tmp_path, ROOT):
        for seed in range(FILES):
            rng = random.Random(seed)
            here = tmp_path / "here"
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            monkeypatch.chdir(here)
            save_episodes(here / "episodes.npz", recorded)
            make = rng.choice([foreign_agent, foreign_run, foreign_row, foreign_recording, foreign_settings])
            for words in make(rng, here):
                fuzz.run(words, f"(seed {seed}, {make.__name__})")
    fuzz.tell(f"{FILES} foreign files")
    assert fuzz.wrong == [], "\n\n".join(fuzz.wrong)


def test_the_files_are_right_before_they_are_changed(tmp_path, monkeypatch, recorded, capsys):
    """Else all that is shown is that wrong files are refused."""
    monkeypatch.chdir(tmp_path)
    skip_the_work(monkeypatch, recorded)
    monkeypatch.setattr("faults.test_foreign_files.spoiled", lambda rng, data: data)
    monkeypatch.setattr("faults.test_foreign_files.changed", lambda rng, tree: tree)
    save_episodes(tmp_path / "episodes.npz", recorded)
    fuzz = Fuzz(capsys)
    for make in (foreign_run, foreign_row, foreign_settings):
        for words in make(random.Random(0), tmp_path):
            fuzz.run(words)
    assert fuzz.count == {"exit 0": 6}
