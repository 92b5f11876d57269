"""A file never decides what code runs: what it names as MODULE:NAME is loaded on the user's word alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import pytest
from tiny_runs import change_settings

import ndigo
from ndigo.cli import main
from ndigo.errors import NdigoError
from ndigo.from_module import without_working_folder
from ndigo.interop.finding import find_world
from ndigo.interop.suites import SUITES
from ndigo.scale import local
from ndigo.scale.sweep import SweepRow
from ndigo.storage.agents import load_agent, save_agent

AGENTS = Path(__file__).parent.parent / "results" / "agents"
PLANTED = "from pathlib import Path\nPath('{mark}').touch()\n"


@pytest.fixture
def mark(tmp_path, monkeypatch) -> Iterator[Path]:
    """Is there once planted.py in the working folder has been run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    mark = tmp_path / "was-run"
    (tmp_path / "planted.py").write_text(PLANTED.format(mark=mark) + "from ndigo.worlds import make_world\n")
    with open(tmp_path / "planted.py", "a") as file:
        file.write("world = make_world('fixed_and_noise')\nfrom ndigo.rewards import make_reward\n")
        file.write("reward = make_reward('ndigo-4')\n")
    yield mark
    sys.modules.pop("planted", None)


def planted(path: Path, **names: str) -> Path:
    """A shipped agent whose settings name something else."""
    settings, arrays = load_agent(AGENTS / "exp1-ndigo-4.safetensors")
    settings["config"] |= names
    save_agent(path, arrays, settings)
    return path


def refused(words: list[str], capsys) -> str:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    "names", [{"world": "planted:world"}, {"reward": "planted:reward"}, {"reward": "ideal-planted:reward"}]
)
@pytest.mark.parametrize("command", ["evaluate", "audit", "view", "export"])
def test_an_agents_file_that_names_a_module_is_refused_unless_it_is_trusted(command, names, mark, tmp_path, capsys):
    agent = planted(tmp_path / "agent.safetensors", **names)
    more = {"export": ["--gif", "a.gif"], "view": ["--no-open"]}.get(command, [])
    err = refused([command, str(agent), *more], capsys)
    assert "is named by a file" in err
    assert "add --trust planted (in Python trust=['planted'], or hand over the record)" in err
    assert not mark.exists()


def test_who_plays_beside_an_agent_that_names_a_module_says_so_too(mark, tmp_path, capsys):
    agent = str(planted(tmp_path / "agent.safetensors", world="planted:world"))
    err = refused(["play", "exp1", "--agent", agent], capsys)
    assert "is named by a file" in err
    assert "add --trust planted (" in err
    assert not mark.exists()
    # With the word all is well, but for the terminal that a test does not have.
    err = refused(["play", "planted:world", "--agent", agent, "--trust", "planted"], capsys)
    assert err.startswith("ndigo: play needs a terminal")


def test_a_mistyped_trust_is_told_beside_what_was_meant(mark, tmp_path, capsys):
    agent = planted(tmp_path / "agent.safetensors", world="planted:world")
    assert "; you trust" not in refused(["evaluate", str(agent)], capsys)
    err = refused(["evaluate", str(agent), "--trust", "plnted"], capsys)
    assert err.endswith("or hand over the record); you trust 'plnted', not 'planted'\n")
    assert not mark.exists()


@pytest.mark.parametrize("world", ["os:abort", "code:interact", "sys:exit"])
def test_a_function_of_pythons_own_is_not_called(world, mark, tmp_path, capsys):
    agent = planted(tmp_path / "agent.safetensors", world=world)
    assert "is named by a file" in refused(["evaluate", str(agent), "--trust", "planted"], capsys)


def test_with_the_users_word_it_is_loaded(mark, tmp_path, capsys):
    agent = planted(tmp_path / "agent.safetensors", world="planted:world")
    assert main(["evaluate", str(agent), "--episodes", "2", "--json", "--trust", "planted"]) == 0
    assert json.loads(capsys.readouterr().out)["reward"] == "ndigo-4"
    assert mark.exists()


@pytest.mark.parametrize(
    ("name", "meant"), [("../x", "MODULE"), ("", "MODULE"), ("planted.", "MODULE"), ("planted:world", "'planted'")]
)
def test_trust_in_what_is_no_module_is_refused(name, meant, mark, tmp_path, capsys):
    """It would be of no use, without a word."""
    agent = planted(tmp_path / "agent.safetensors", world="planted:world")
    said = f"trust {name!r}: no module has such a name; where a file says MODULE:NAME, trust {meant}"
    for words in (["evaluate", str(agent)], ["view", str(agent)], ["report", "run"], ["train", "exp1", "--dry-run"]):
        assert refused([*words, "--trust", "planted", "--trust", name], capsys) == f"ndigo: {said}\n"
    with pytest.raises(NdigoError, match=f"^{re.escape(said)}$"):
        ndigo.load(agent, trust=[name])
    apart = (
        "ndigo: trust 'planted,x': each module apart: --trust planted --trust x (in Python trust=['planted', 'x'])\n"
    )
    assert refused(["evaluate", str(agent), "--trust", "planted,x"], capsys) == apart
    assert not mark.exists()


def test_a_text_is_no_list_of_modules(mark, tmp_path):
    """Each part of it would be trusted: 'planted' is in 'not_planted_at_all'."""
    agent = planted(tmp_path / "agent.safetensors", world="planted:world")
    with pytest.raises(NdigoError, match=r"^trust 'not_planted_at_all': expected a list of modules' names"):
        ndigo.load(agent, trust="not_planted_at_all")
    assert not mark.exists()


def test_in_python_the_record_or_the_modules_name_is_the_users_word(mark, tmp_path):
    agent = planted(tmp_path / "agent.safetensors", world="planted:world")
    with pytest.raises(NdigoError, match="is named by a file"):
        ndigo.load(agent)
    ndigo.load(agent, world=ndigo.EXPERIMENTS["exp1"].world)
    assert not mark.exists()
    ndigo.load(agent, trust=["planted"])
    assert mark.exists()


def test_what_lies_in_a_folder_that_is_viewed_is_left_out_and_named(mark, tmp_path, capsys):
    from ndigo.commands.view import find

    planted(tmp_path / "agents" / "one.safetensors", world="planted:world")
    shutil.copy(AGENTS / "exp1-ndigo-4.safetensors", tmp_path / "agents" / "two.safetensors")
    assert [agent.path.name for agent in find(tmp_path / "agents", ())] == ["two.safetensors"]
    err = capsys.readouterr().err
    assert err.startswith(f"{tmp_path}/agents/one.safetensors is left out: world 'planted:world' is named by a file")
    assert not mark.exists()
    assert len(find(tmp_path / "agents", ("planted",))) == 2


@pytest.mark.parametrize("words", [["train", "--resume", "run"], ["evaluate", "run"], ["view", "run", "--no-open"]])
def test_a_run_that_names_a_module_is_refused(words, mark, finished, tmp_path, capsys):
    shutil.copytree(finished.path, tmp_path / "run")
    change_settings(tmp_path / "run", "custom_world:world", "planted:world")
    assert "add --trust planted" in refused(words, capsys)
    assert not mark.exists()


@pytest.mark.parametrize("how", [["-m", "ndigo"], ["-c", "from ndigo.cli import main; main()"]])
def test_a_file_in_the_working_folder_is_not_imported_in_place_of_a_package(how, tmp_path):
    """Nor where no package is: JAX asks for plugins by name."""
    for name in ("numpy", "tyro", "rich", "jax_plugins/planted"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the working folder')")
    result = subprocess.run([sys.executable, *how, "worlds", "exp1"], cwd=tmp_path, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_file_that_names_a_suite_runs_nothing_of_the_working_folder(mark, tmp_path):
    """Where the suite is not installed, any module of its name would do."""
    suite = next((suite for suite in SUITES if find_spec(suite) is None), None)
    if suite is None:
        pytest.skip("all suites are installed")
    (tmp_path / f"{suite}.py").write_text(PLANTED.format(mark=mark) + "registered_envs = registry = dict\n")
    agent = planted(tmp_path / "agent.safetensors", world=f"{suite}::Any-v0")
    result = subprocess.run([sys.executable, "-m", "ndigo", "evaluate", agent.name], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"{suite} is not installed" in result.stderr
    assert not mark.exists()


@pytest.mark.parametrize("world", ["planted::world", "::", "ndigo.interop.suites::x", "os::abort", "navix.py::x"])
def test_a_file_can_name_no_other_suite_than_the_registered_ones(world, mark, tmp_path, capsys):
    agent = planted(tmp_path / "agent.safetensors", world=world)
    assert "unknown suite" in refused(["evaluate", str(agent), "--trust", "planted"], capsys)
    assert not mark.exists()


PIT = "import gymnasium, stream_worlds\ngymnasium.register('Pit-v0', entry_point=stream_worlds.CountingEnv)\n"


@pytest.fixture
def pit(mark, tmp_path) -> Iterator[Path]:
    """planted.py registers an environment, as gymnasium::planted:Pit-v0 asks for it."""
    with open(tmp_path / "planted.py", "a") as file:
        file.write(PIT)
    yield mark
    gymnasium.registry.pop("Pit-v0", None)


@pytest.mark.parametrize("command", ["evaluate", "audit", "view", "export"])
def test_a_module_within_an_id_of_gymnasiums_is_named_by_the_file_too(command, pit, tmp_path, capsys):
    agent = planted(tmp_path / "agent.safetensors", world="gymnasium::planted:Pit-v0")
    more = {"export": ["--gif", "a.gif"], "view": ["--no-open"]}.get(command, [])
    err = refused([command, str(agent), *more], capsys)
    assert err.startswith("ndigo: world 'gymnasium::planted:Pit-v0' is named by a file, and to load it runs the module")
    assert "add --trust planted (" in err
    assert not pit.exists()


def test_a_module_within_an_id_is_loaded_on_the_users_word(pit):
    with pytest.raises(NdigoError, match="you trust 'gymnasium', not 'planted'"):
        find_world("gymnasium::planted:Pit-v0", trust=["gymnasium"])
    assert not pit.exists()
    assert find_world("gymnasium::planted:Pit-v0", trust=["planted"]).num_actions == 3
    assert pit.exists()


def test_a_module_within_an_id_that_is_typed_is_found_in_the_working_folder(pit):
    assert find_world("gymnasium::planted:Pit-v0").name == "gymnasium::planted:Pit-v0"
    assert pit.exists()


@pytest.mark.parametrize("world", ["gymnasium:::Pit-v0", "gymnasium::.planted:Pit-v0", "gymnasium::../planted:x"])
def test_a_module_within_an_id_must_have_a_modules_name(world, pit):
    for trust in (None, (), ["planted"]):
        with pytest.raises(NdigoError, match=r"is no module's name; write gymnasium::MODULE:ID$"):
            find_world(world, trust=trust)
    assert not pit.exists()


def test_a_suite_that_raises_is_said_to_be_its_own_mistake(monkeypatch):
    def unreachable(package, id_):
        raise OSError("no route to the data")

    monkeypatch.setitem(sys.modules, "navix", types.ModuleType("navix"))
    monkeypatch.setattr("ndigo.interop.suites.navix.by_name", unreachable)
    with pytest.raises(NdigoError, match=r"^world navix::Any: navix raised OSError: no route to the data$"):
        find_world("navix::Any")


def test_the_process_of_a_row_imports_nothing_from_the_working_folder(tmp_path, monkeypatch):
    for name in ("json", "jax", "optax"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the working folder')")
    monkeypatch.chdir(tmp_path)
    row = SweepRow("row", ndigo.Config(world="nowhere"), tmp_path / "row")
    assert local._start([row], {}).wait(timeout=200) == 2
    assert (row.path / local.LOG).read_text().startswith("ndigo: unknown world or experiment 'nowhere'")


def test_the_working_folder_goes_to_the_end_of_the_path_when_a_module_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}/named")  # the empty part is the working folder
    monkeypatch.setattr(sys, "path", [str(tmp_path), "", "/named", "/installed"])
    without_working_folder()
    assert sys.path == ["/named", "/installed"]
    (tmp_path / "planted.py").write_text("from ndigo.worlds import make_world\nworld = make_world('maze')\n")
    assert find_world("planted:world").name == "maze"
    assert sys.path == ["/named", "/installed", str(tmp_path)]
    sys.modules.pop("planted")


def test_the_working_folder_that_the_user_names_is_searched_last(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ".")
    monkeypatch.setattr(sys, "path", [str(tmp_path), "/installed"])
    without_working_folder()
    assert sys.path == ["/installed", str(tmp_path)]
