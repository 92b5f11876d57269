"""Files that are no files of ours, or ours and damaged: one line that names the file and its first wrong part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_up_runs import write_run
from refusals import AGENT, refused

from ndigo.cli import main
from ndigo.storage.agents import load_agent, save_agent
from ndigo.storage.run_folder import RunFolder
from ndigo.storage.seal import seal, unseal


@pytest.fixture
def agent(tmp_path):
    """Writes the shipped agent with other settings, as anybody could."""
    settings, arrays = load_agent(AGENT)

    def write(name: str = "agent.safetensors", **changes: object) -> Path:
        save_agent(tmp_path / name, arrays, {**settings, **changes})
        return tmp_path / name

    write.config = settings["config"]  # type: ignore[attr-defined]
    return write


DEEP = "[" * 20_000 + "]" * 20_000


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"config": {"world": 5}}, "config is damaged: world is 5, expected text"),
        ({"config": {"reward": None}}, "config is damaged: reward is None, expected text"),
        ({"config": {"belief_size": 128.5}}, "belief_size 128.5: must be a whole number"),
        ({"config": []}, "config is damaged, or no file of ours: a list stands where a record should"),
        ({"world": "exp1"}, "world is damaged, or no file of ours: 'exp1' stands where a record should"),
        ({"world": {"name": "x"}}, "world is damaged, or another version's: it has no '"),
        ({"reward": None}, "reward is None, expected text"),
        ({"learner_step": "32000"}, "learner_step is '32000', expected a whole number"),
        ({"config": {"learner_steps": None}}, "config is damaged: learner_steps is None, expected a whole number"),
    ],
)
def test_an_agent_whose_settings_are_no_settings(changes, says, agent, capsys):
    if isinstance(changes.get("config"), dict):
        changes = {"config": agent.config | changes["config"]}
    assert says in refused(capsys, "evaluate", agent(**changes), "--episodes", "2")


def test_an_agent_that_calls_the_objects_by_others_names_is_refused(agent, capsys):
    """Else the numbers of one would stand in the table under the name of the other."""
    world = load_agent(AGENT)[0]["world"]
    says = "is not of world fixed_and_noise: its objects are ['noise', 'fixed'], expected ['fixed', 'noise']"
    assert says in refused(capsys, "evaluate", agent(world=world | {"objects": ["noise", "fixed"]}))


@pytest.mark.parametrize("text", ["5", "[]", "null", '"run"', DEEP, "{", '{"config": 3}', '{"config": {}}'])
def test_settings_that_are_no_record(text, tmp_path, capsys):
    run = write_run(tmp_path / "run", world="exp1", reward="ndigo-4", seeds=2)
    (run / "config.json").write_text(text)
    assert "config.json" in refused(capsys, "report", run)
    assert "config.json" in refused(capsys, "train", "--resume", run)


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "[]",
        "{}",
        DEEP,
        '{"step": "x"}',
        '{"step": 10, "learning": 3}',
        '{"step": 10, "evaluation": {"visits": "a"}}',
    ],
)
def test_lines_of_metrics_that_are_no_record(text, tmp_path, capsys):
    run = write_run(tmp_path / "run", world="exp1", reward="ndigo-4", seeds=2)
    first, *_ = (run / "metrics.jsonl").read_bytes().splitlines()
    _, digest = unseal(first)
    whole = seal(text.encode(), digest) if text.startswith('{"') else text.encode()
    (run / "metrics.jsonl").write_bytes(first + b"\n" + whole + b"\n")
    assert "line 2" in refused(capsys, "report", run)


def test_a_line_that_lost_a_metric_names_the_file(tmp_path, capsys):
    run = write_run(tmp_path / "run", world="exp1", reward="ndigo-4", seeds=2)
    lines = RunFolder(run).metrics()
    (run / "metrics.jsonl").unlink()
    for line in lines:
        RunFolder(run).append(json.loads(json.dumps(line).replace('"visits"', '"vis\\u0000ts"')))
    assert "metrics.jsonl line 2: evaluation is damaged, or another version's: it has no 'visits'" in refused(
        capsys, "report", run
    )


def test_one_bad_file_does_not_end_the_view_of_a_folder(agent, tmp_path, monkeypatch, capsys):
    agent("good.safetensors")
    agent("bad.safetensors", config=agent.config | {"world": 5})
    agent("gone.safetensors", config=agent.config | {"world": "nowhere"})
    (tmp_path / "run" / "config.json").mkdir(parents=True)
    served = []
    monkeypatch.setattr("ndigo.viewer.server.serve", lambda app, listener: served.append(listener.close()))
    assert main(["view", str(tmp_path), "--port", "0", "--no-open"]) == 0
    assert len(served) == 1
    left_out = capsys.readouterr().err.splitlines()
    assert [" is left out: " in line for line in left_out] == [True] * 3
