"""One of each from outside, at once: a world, a kind of object, a reward, a predictor. Every command takes them."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_runs import FLAGS

from ndigo.cli import main
from ndigo.model import PREDICTORS
from ndigo.storage.episodes import load_episodes

WORLD, REWARD = "extending.patrol:world", "extending.e3b:reward"
TRUST = ["--trust", "extending.patrol", "--trust", "extending.e3b"]


@pytest.fixture(scope="module")
def linear():
    """Registered for these tests alone: others run over the registry."""
    yield importlib.import_module("extending.linear")
    del PREDICTORS["linear"]


@pytest.fixture(scope="module")
def run(linear, tmp_path_factory):
    """Trained once by the ordinary command, for the others to look at."""
    out = str(tmp_path_factory.mktemp("walk") / "run")
    words = ["--reward", REWARD, "--predictor", "linear", "--out", out, "--learner-steps", "8"]
    assert main(["train", WORLD, *FLAGS, *words]) == 0
    return out


def test_the_predictor_predicts_what_a_loop_over_steps_and_streams_does(linear):
    rng = np.random.default_rng(0)
    T, B, K, D, A = 3, 2, 4, 5, 3
    predictor = PREDICTORS["linear"](jax.random.key(0), D=D, A=A, K=K, num_hidden=1, num_outputs=6)
    b_t, a_kt = rng.normal(size=(T, B, D)), rng.integers(A, size=(K, T, B))
    logits = predictor.ahead(jnp.asarray(b_t, jnp.float32), jnp.asarray(a_kt), lambda logits, _: logits, None)
    for t in range(T):
        for i in range(B):
            h = b_t[t, i]
            for k in range(K):
                h = h @ np.asarray(predictor.by_action[a_kt[k, t, i]], float)
                np.testing.assert_allclose(logits[k, t, i], h @ np.asarray(predictor.decoder, float), rtol=1e-4)


def said(capsys, *words: str) -> str:
    assert main([*words]) == 0, words
    return capsys.readouterr().out


def test_every_command_takes_them(run, tmp_path, monkeypatch, capsys):
    """But `play` and `view`, which stay until they are told to end, `bench`, and those that are for experiments."""
    monkeypatch.chdir(tmp_path)
    lines = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["learning"]["model_loss"] < lines[0]["learning"]["model_loss"]  # the predictor learns
    assert "patrolling" in said(capsys, "worlds", WORLD)
    assert "guard" in said(capsys, "evaluate", run, "--episodes", "3", *TRUST)
    assert "guard" in said(capsys, "report", run, *TRUST)
    said(capsys, "export", run, "--episodes-file", "run.npz", *TRUST)
    episodes = load_episodes(Path("run.npz"))
    assert episodes.meta["objects"][0]["kind"] == "patrolling"
    assert (episodes.reward[:, :-1] > 0).all()  # E3B pays every step
    assert episodes.ahead.any()
    assert "guard" in said(capsys, "audit", run, "--reward", "ndigo-1", "--episodes", "2", *TRUST)
