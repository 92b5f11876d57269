"""One bit flipped in each kind of file: it is named, or it changes nothing.

`make faults` runs all of it; `make test` a share.
"""

from __future__ import annotations

import os
import random
import shutil
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up_rows import make_up

from ndigo.curiosity import saving
from ndigo.errors import NdigoError
from ndigo.fast import programs
from ndigo.fast.programs import kept
from ndigo.frames import bits
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.references import FOLDER, reference_lines
from ndigo.paper.rows import load_row
from ndigo.scale.settings_file import read_settings
from ndigo.storage import checkpoint, milestones
from ndigo.storage.agents import load_agent
from ndigo.storage.episodes import load_episodes, save_episodes
from ndigo.storage.run_folder import RunFolder

IS_WHOLE = os.environ.get("NDIGO_FAULTS") == "all"
FLIPS = 40 if IS_WHOLE else 8  # of each kind of file
PROGRAM = "kept program"


@pytest.fixture(scope="module")
def kinds(finished, recorded, tmp_path_factory) -> dict[str, tuple[Path, Callable[[], Any]]]:
    """Each kind of file, and what reads it."""
    root = tmp_path_factory.mktemp("files")
    shutil.copytree(finished.path, root / "run")
    run, step = RunFolder(root / "run"), root / "run" / "checkpoints" / "step_20"
    mark = checkpoint.fingerprint(run.settings()["config"])
    agent = finished.export_agent(root / "agent.safetensors")
    row = make_up(root, Row("exp1", "pe"), lambda metric, name: 7.0).path
    save_episodes(root / "episodes.npz", recorded)
    references = root / "references" / "exp1.json"
    shutil.copytree(str(FOLDER), references.parent)

    milestones.keep(root / "run", 100, {".learner.params.weight": np.ones((1, 9), np.float32)}, run.settings())
    small = {"reward": "pe", "num_envs": 2, "config": {}}
    tree, frame = {"weight": np.arange(40.0, dtype=np.float32)}, bits(["thing"], 2)
    saved = saving.save(root / "curiosity", small, 5, tree, [], np.ones((2, *frame.shape), np.uint8))

    def read_curiosity() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the one before is used, and the damaged one is named
            try:
                return saving.load(saved.parent, small, tree, frame)
            except UserWarning as warning:
                raise NdigoError(str(warning)) from None

    def read_row() -> Any:
        found = load_row(row)
        return found.settings, found.result, found.metrics

    def read_state() -> Any:
        return checkpoint.load(step, mark)

    def read_references() -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ndigo.paper.references.FOLDER", references.parent)
            return [vars(line) for line in reference_lines(EXPERIMENTS["exp1"])]

    return {
        "config.json of a run": (run.path / "config.json", run.settings),
        "config.json for --config": (run.path / "config.json", lambda: read_settings(run.path)),
        "metrics.jsonl": (run.path / "metrics.jsonl", run.metrics),
        "manifest.json": (step / "manifest.json", read_state),
        "state.safetensors": (step / "state.safetensors", read_state),
        "milestone": (milestones.path_of(run.path, 100), lambda: milestones.load(run.path, 100)),
        "curiosity.json": (saved.parent / "curiosity.json", read_curiosity),
        "manifest.json of a curiosity": (saved / "manifest.json", read_curiosity),
        "state.safetensors of a curiosity": (saved / "state.safetensors", read_curiosity),
        "agent.safetensors": (agent, lambda: load_agent(agent)),
        "result.json": (row / "result.json", read_row),
        "config.json of a row": (row / "config.json", read_row),
        "metrics.jsonl.gz": (row / "metrics.jsonl.gz", read_row),
        "reference agents": (references, read_references),
        "episodes.npz": (root / "episodes.npz", lambda: dict(vars(load_episodes(root / "episodes.npz")))),
    }


def is_equal(one: Any, other: Any) -> bool:
    return jax.tree.structure(one) == jax.tree.structure(other) and all(
        np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def flipped(data: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(data)
    damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def tell(capsys: pytest.CaptureFixture[str], name: str, count: Counter[str]) -> None:
    with capsys.disabled():
        if IS_WHOLE:
            print(f"\nflips in {name}: {dict(count)}")


@pytest.mark.parametrize(
    "name",
    [
        *("config.json of a run", "metrics.jsonl", "manifest.json", "state.safetensors", "agent.safetensors"),
        *("config.json for --config", "milestone", "curiosity.json"),
        *("manifest.json of a curiosity", "state.safetensors of a curiosity"),
        *("result.json", "config.json of a row", "metrics.jsonl.gz", "reference agents", "episodes.npz"),
    ],
)
def test_a_flipped_bit_is_named_or_changes_nothing(name, kinds, capsys):
    rng, count = random.Random(name), Counter[str]()
    path, read = kinds[name]
    whole, expected = path.read_bytes(), read()
    for _ in range(FLIPS):
        path.write_bytes(flipped(whole, rng))
        try:
            count["without effect" if is_equal(read(), expected) else "silent"] += 1
        except NdigoError as error:
            is_named = path.name in str(error) or path.parent.name in str(error)
            count["named" if is_named else "not named"] += 1
    path.write_bytes(whole)
    tell(capsys, name, count)
    # A zip holds dates and attributes that nobody reads.
    assert count["named"] == FLIPS - (count["without effect"] if name == "episodes.npz" else 0)


def test_a_flipped_bit_in_a_kept_program_has_it_made_anew(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(programs, "by_source", lambda: tmp_path)
    traced, count, rng = [0], Counter[str](), random.Random(PROGRAM)

    def double(x: jax.Array) -> jax.Array:
        traced[0] += 1
        return 2 * x

    def run() -> int:
        return int(kept("double", double, "settings")(jnp.int32(21)))

    assert run() == 42
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for _ in range(FLIPS):
        before = traced[0]
        path.write_bytes(flipped(whole, rng))
        assert run() == 42
        count["made anew" if traced[0] > before else "run as it was"] += 1
    tell(capsys, PROGRAM, count)
    assert count == {"made anew": FLIPS}
