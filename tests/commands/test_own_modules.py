"""Code of the user's own that raises: its own frames, and a line that says whose it is."""

from __future__ import annotations

import jax
import pytest

from ndigo.cli import main
from ndigo.errors import UserCodeError, explained

MODULES = {
    "raises": ("raise RuntimeError('nothing here')", "raised RuntimeError: nothing here"),
    "broken": ("def world(:", "raised SyntaxError: "),
    "leaves": ("import sys\nsys.exit(3)", "called sys.exit(3)"),
    "endless": ("def world():\n    return world()", "raised RecursionError"),
    "lost": ("def world():\n    return {}['door']", "raised KeyError: 'door'"),
    "absent": (
        "import no_such_module",
        "there is no module 'no_such_module', which 'absent' imports",
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_ones_own_that_raises_shows_its_own_frames_and_says_whose_it_is(
    name, tmp_path, monkeypatch, capsys
):
    code, says = MODULES[name]
    (tmp_path / f"own_{name}.py").write_text(code + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["train", f"own_{name}:world", "--out", "run"]) == 2
    *frames, last = capsys.readouterr().err.splitlines()
    assert last.startswith(f"ndigo: world 'own_{name}:world'")
    assert says.replace("'absent'", "'own_absent'") in last
    assert not (tmp_path / "run").exists()
    files = [line for line in frames if line.lstrip().startswith("File ")]
    assert all(f"own_{name}.py" in line for line in files)
    if name not in ("absent",):
        assert frames[0] == "Your code, most recent call last:"
        assert files


def test_a_reward_of_ones_own_that_fails_later_says_whose_it_is(tmp_path, capsys):
    """At the gate, a reward is paid as in training; what it does beyond that is caught at the front door."""
    error: Exception = KeyError("door")
    try:
        raise error
    except KeyError as caught:
        shown = explained(caught)
    assert isinstance(shown, UserCodeError)  # this file is nobody's package
    assert str(shown) == "your code raised KeyError: 'door'"


def test_a_device_that_ones_own_code_asks_for_is_no_fault_of_a_variable(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    with pytest.raises(RuntimeError) as caught:
        jax.devices("tardis")
    shown = explained(caught.value)
    assert str(shown).startswith("your code raised RuntimeError: ")
