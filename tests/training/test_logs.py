"""TensorBoard and Weights & Biases get the numbers of metrics.jsonl."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny_runs import train_tiny

from ndigo.errors import NdigoError
from ndigo.training.logs import open_logs, refuse_closed_logs, scalars

WORLD = {"channels": ["walls", "ball"], "in_view": ["ball"], "objects": ["ball"]}


def test_scalars_are_means_over_seeds_named_by_channel_and_object():
    line = {
        "world_steps": 800,
        "transitions_per_second": 5,
        "learning": {"reward": [1.0, 3.0], "reward_c": [[1.0, 2.0], [3.0, 6.0]], "discovery_loss": [[4.0], [2.0]]},
        "evaluation": {"visits": [[10.0], [30.0]]},
    }
    assert scalars(line, WORLD) == {
        "world_steps": 800.0,
        "transitions_per_second": 5.0,
        "learning/reward": 2.0,
        "learning/reward_c/walls": 2.0,
        "learning/reward_c/ball": 4.0,
        "learning/discovery_loss/ball": 3.0,
        "evaluation/visits/ball": 20.0,
    }


def events(folder: Path) -> dict[tuple[str, int], float]:
    """(name, step) -> value, read from the event files record by record: length, crc, protobuf, crc."""
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    found = {}
    for path in folder.glob("events.*"):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            event = event_pb2.Event.FromString(data[12 : 12 + length])
            found |= {(v.tag, event.step): v.simple_value for v in event.summary.value}
            data = data[16 + length :]
    return found


def test_tensorboard_events_can_be_read_back(tmp_path):
    run = train_tiny(tmp_path / "run", logs=["tensorboard"])
    found = events(run.path / "tensorboard")
    for line in run.metrics():
        expected = np.mean(line["learning"]["model_loss"])
        assert found["learning/model_loss", line["step"]] == pytest.approx(expected)
        if "evaluation" in line:
            assert found["evaluation/visits/light", line["step"]] == np.float32(np.mean(line["evaluation"]["visits"]))


class Error(Exception):
    """As `wandb.Error`."""


class UsageError(Error):
    """As `wandb.UsageError`."""


def stand_in(monkeypatch: pytest.MonkeyPatch, **functions: Callable[..., Any]) -> None:
    """A module with wandb's interface in its place: the package is not among the tests' requirements."""
    module = ModuleType("wandb")
    vars(module).update(Error=Error, UsageError=UsageError, **functions)
    monkeypatch.setitem(sys.modules, "wandb", module)


def raising(error: Exception) -> Callable[..., Any]:
    def function(**options):
        raise error

    return function


def test_wandb_gets_every_line_and_is_closed(tmp_path, monkeypatch):
    said: list = []
    run = SimpleNamespace(log=lambda named, step: said.append((step, named)), finish=lambda: said.append("finished"))
    stand_in(monkeypatch, login=lambda: said.append("login"), init=lambda **options: said.append(options) or run)
    trained = train_tiny(tmp_path / "run", logs=["wandb"])
    login, options, *lines, last = said
    assert login == "login"
    assert (options["project"], options["name"], options["dir"]) == ("ndigo", "run", str(tmp_path / "run"))
    assert options["config"]["config"]["batch"] == 4
    assert [step for step, _ in lines] == [line["step"] for line in trained.metrics()]
    assert last == "finished"


def test_a_log_that_is_unknown_or_not_installed_is_one_line_and_leaves_no_run(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)  # as if it were not installed
    with pytest.raises(NdigoError, match=r"^--log wandb needs wandb: pip install 'ndigo\[wandb\]', or in a checkout"):
        train_tiny(tmp_path / "run", logs=["wandb"])
    with pytest.raises(
        NdigoError, match=r"^unknown log 'tensorbord'; nearest: tensorboard; known: tensorboard, wandb$"
    ):
        train_tiny(tmp_path / "run", logs=["tensorbord"])
    assert not (tmp_path / "run").exists()


def test_wandb_without_a_login_is_one_line_and_leaves_no_run(tmp_path, monkeypatch):
    error = UsageError("No API key configured. Use `wandb login` to log in.")
    stand_in(monkeypatch, login=raising(error), init=raising(error))
    told = "--log wandb: No API key configured. Use `wandb login` to log in; WANDB_MODE=offline needs no login and "
    with pytest.raises(NdigoError, match=f"^{re.escape(told)}keeps the numbers in RUN/wandb$"):
        train_tiny(tmp_path / "run", logs=["wandb"])
    assert not (tmp_path / "run").exists()


def test_wandb_offline_needs_no_login(monkeypatch):
    stand_in(monkeypatch, login=raising(UsageError("No API key configured.")))
    monkeypatch.setenv("WANDB_MODE", "offline")
    refuse_closed_logs(["wandb"])


@pytest.mark.parametrize(
    ("error", "exit_code"), [(UsageError("No API key configured."), 2), (Error("no answer within 90 s"), 1)]
)
def test_a_run_that_goes_on_without_wandb_is_told_in_one_line(error, exit_code, tmp_path, monkeypatch):
    stand_in(monkeypatch, init=raising(error))
    with (
        pytest.raises(NdigoError, match=f"^--log wandb: {str(error).rstrip('.')}") as told,
        open_logs(["wandb"], tmp_path, {}, 4)[0],
    ):
        pass
    assert told.value.exit_code == exit_code
