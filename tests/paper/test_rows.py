"""Rows' folders: thinned without picking, whole or absent, refused when damaged."""

import errno
import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from full_disk import files_end_at
from made_up_rows import contents, make_up

from ndigo.errors import NdigoError
from ndigo.paper.experiments import Row
from ndigo.paper.plan import SHIPS_AGENT, all_rows, load_rows
from ndigo.paper.rows import load_row, save_row, sealed_result, thin
from ndigo.storage.run_folder import WriteError, sealed_settings
from ndigo.storage.seal import seal

ROW = Row("exp1", "pe")


def test_thinned_metrics_keep_every_evaluation_and_the_mean_of_all_updates():
    lines = [{"step": 10 * i, "learning": {"reward_c": [[i, 2.0 * i]]}} for i in range(1, 7)]
    for i in (1, 5):  # after the second and the sixth line
        lines[i]["evaluation"] = {"visits": [[100.123456 + i]]}
    thinned = thin(lines)
    assert [line["step"] for line in thinned] == [20, 60]
    assert [line["learning"]["reward_c"] for line in thinned] == [[[1.5, 3.0]], [[4.5, 9.0]]]
    assert thinned[0]["evaluation"]["visits"] == [[101.12]]  # five digits


def test_a_folder_comes_back_and_all_of_them_with_their_agents_fit_into_14_megabytes(tmp_path):
    folder = make_up(tmp_path, ROW, lambda metric, name: 7.0 if (metric, name) == ("visits", "noise") else None)
    np.testing.assert_allclose(np.mean(folder.result["evaluation"]["visits"], axis=0), [0.0, 7.0])
    assert folder.agent is None
    # The largest row of the recipe: 25 evaluations of 10 seeds and 5 objects, every number different.
    rng = np.random.default_rng(0)
    made = contents(Row("exp5", "icm"))
    sizes = {"model_loss": (10,), "model_loss_c": (10, 6), "reward": (10,), "reward_c": (10, 6), "reward_loss": (10,)}
    sizes |= {"agent_loss": (10,), "discovery_loss": (10, 5), "gradients": (10, 4)}
    made["lines"] = [
        {
            "step": i,
            "learning": {name: rng.normal(size=size).tolist() for name, size in sizes.items()},
            "evaluation": {name: rng.normal(size=(10, 5)).tolist() for name in ("a", "b", "c", "d")},
        }
        for i in range(25)
    ]
    made["result"]["tracking"] = {
        "loss": rng.normal(size=(10, 5, 64)).tolist(),
        "steps": rng.integers(0, 999, (10, 5, 64)).tolist(),
    }
    path = save_row(tmp_path / "large", **made).path
    size = sum(file.stat().st_size for file in path.iterdir())
    assert size < 100_000
    # Parameters of an agent in two bytes each.
    megabytes = {"exp3": 1.21, "exp5": 1.44}
    agents = [
        1.28 if row.reward == "icm" else megabytes.get(row.experiment, 1.15) for row in all_rows() if row in SHIPS_AGENT
    ]
    assert len(agents) == 8
    assert sum(agents) < 10
    assert len(all_rows()) * size / 1e6 < 4


def test_a_full_disk_leaves_the_cell_that_was_there(tmp_path):
    folder = make_up(tmp_path, ROW)
    before = {file.name: file.read_bytes() for file in folder.path.iterdir()}
    with files_end_at(600), pytest.raises(WriteError):
        make_up(tmp_path, ROW, lambda metric, name: 9.0)
    assert {file.name: file.read_bytes() for file in folder.path.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == [ROW.name]


def test_a_row_whose_folder_cannot_get_its_name_leaves_the_one_that_was_there(tmp_path, monkeypatch):
    folder = make_up(tmp_path, ROW)
    before = {file.name: file.read_bytes() for file in folder.path.iterdir()}
    replace = os.replace

    def refused(source, target):
        if Path(target) == folder.path and ".old." not in str(source):
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(WriteError, match="No space left"):
        make_up(tmp_path, ROW, lambda metric, name: 9.0)
    assert {file.name: file.read_bytes() for file in folder.path.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == [ROW.name]


@pytest.mark.parametrize(
    ("name", "spoil", "says"),
    [
        ("result.json", lambda data: data[:100], "is damaged"),
        ("metrics.jsonl.gz", lambda data: data[:-20], "is damaged"),
        ("metrics.jsonl.gz", lambda data: data[:30] + b"####" + data[34:], "is damaged"),
        ("result.json", lambda data: data.replace(b"7.0", b"8.0"), "result.json: it does not match its sha256"),
        (
            "result.json",
            lambda data: seal(b'{"format": "ndigo-row", "version": 9}'),
            "is of format ndigo-row 9, not ndigo-row 1",
        ),
        ("result.json", lambda data: seal(b'{"version": 1}'), "another version's: it has no 'format'"),
        ("config.json", lambda data: data + b"\n", "config.json is not the file that result.json was written with"),
        ("metrics.jsonl.gz", lambda data: data[:4] + b"1" + data[5:], "metrics.jsonl.gz is not the file that"),
        ("config.json", None, "is no row, or damaged"),
    ],
)
def test_damage_is_one_line(tmp_path, name, spoil, says):
    path = make_up(tmp_path, ROW, lambda metric, name: 7.0).path / name
    path.unlink() if spoil is None else path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(NdigoError, match=says) as error:
        load_row(tmp_path / ROW.name)
    assert "\n" not in str(error.value)


def test_metrics_that_would_fill_the_memory_are_not_unpacked(tmp_path, monkeypatch):
    """Their digests are right: whoever made them up sealed them, too."""
    row = make_up(tmp_path, ROW, lambda metric, name: 7.0)
    bomb = gzip.compress(b" " * 10**6)
    (row.path / "metrics.jsonl.gz").write_bytes(bomb)
    files = {"config.json": (row.path / "config.json").read_bytes(), "metrics.jsonl.gz": bomb}
    (row.path / "result.json").write_bytes(sealed_result(row.result, files))
    monkeypatch.setattr("ndigo.storage.episodes.ALWAYS_UNPACKED", 0)
    with pytest.raises(NdigoError, match=r"is damaged \(its files do not hold what a row's do\)"):
        load_row(row.path)


def test_a_row_whose_objects_are_not_its_experiments_is_one_line(tmp_path):
    """It is sealed as it should be, and its tables would look for objects that it has not."""
    row = make_up(tmp_path, ROW, lambda metric, name: 7.0)
    settings = row.settings | {"world": row.settings["world"] | {"objects": ["fixed", "noised"]}}
    files = {"config.json": sealed_settings(settings)}
    files["metrics.jsonl.gz"] = (row.path / "metrics.jsonl.gz").read_bytes()
    (row.path / "config.json").write_bytes(files["config.json"])
    (row.path / "result.json").write_bytes(sealed_result(row.result, files))
    says = r"exp1-pe is not of exp1: objects is \['fixed', 'noised'\], expected \['fixed', 'noise'\]"
    with pytest.raises(NdigoError, match=says):
        load_rows(tmp_path)
