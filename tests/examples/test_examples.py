"""The examples are short, and run."""

import runpy
from pathlib import Path

import pytest
from tiny_runs import EXAMPLES, FLAGS, TINY, WORLD

import ndigo
from ndigo.cli import main
from ndigo.storage.run_folder import RunFolder

LONGEST = {"custom_world.py": 40, "custom_reward.py": 30, "ndigo_in_one_file.py": 401}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short(path):
    assert len(path.read_text().splitlines()) < LONGEST.get(path.name, 60)


@pytest.mark.parametrize("name", ["custom_world", "custom_reward"])
def test_an_example_runs_as_a_script(name, tmp_path, monkeypatch, capsys):
    """With the cpu preset made tiny: what is tested is the script, not what the agent learns."""
    monkeypatch.chdir(tmp_path)
    tiny = {**TINY, "rounds_per_chunk": 10}  # one chunk is a whole tiny run
    monkeypatch.setitem(ndigo.PRESETS, "cpu", ndigo.Config(**{k: v for k, v in tiny.items() if k != "preset"}))
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    last = capsys.readouterr().out.splitlines()[-1]
    run = Path(last.split()[0])
    assert RunFolder.open(run).evaluations()


def test_a_reward_of_ones_own_is_named_on_the_command_line(tmp_path, capsys):
    words = ["--reward", "custom_reward:reward", "--out", str(tmp_path / "run"), "--minutes", "0.00001"]
    assert main(["train", WORLD, *FLAGS, *words]) == 0
    assert (tmp_path / "run" / "checkpoints" / "step_4").exists()
