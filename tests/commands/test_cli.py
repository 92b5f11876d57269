"""The front door: what it loads, what it says, how it ends."""

import ast
import dataclasses
import importlib
import inspect
import os
import re
import signal
import subprocess
import sys

import pytest
from person import Person

from ndigo import __version__
from ndigo.cli import main
from ndigo.commands import COMMANDS
from ndigo.errors import StoppedNow


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["wolds"]])
def test_help_and_unknown_commands_load_nothing_heavy(words):
    code = (
        f"import sys; from ndigo.cli import main; main({words}); "
        "sys.exit(','.join({'jax', 'numpy', 'tyro', 'rich'} & set(sys.modules)) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_command(words, capsys):
    assert main(words) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out and summary in out for name, summary in COMMANDS.items())


def test_the_list_of_commands_fits_80_columns(capsys):
    assert main([]) == 0
    assert max(map(len, capsys.readouterr().out.split("\n"))) <= 80


def test_version_is_the_packages(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ndigo {__version__}\n"


def test_an_unknown_command_gets_one_line_with_the_nearest(capsys):
    assert main(["wolds"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ndigo: unknown command 'wolds'; nearest: worlds; known: ")


@pytest.mark.parametrize(("columns", "width"), [(60, 60), (0, 80)])  # 0: as in a container, it does not say
def test_on_a_terminal_a_long_line_is_broken_between_words(columns, width):
    with Person("wolds", columns=columns) as person:
        code, text = person.leave()
    lines = text.strip().split("\r\n")
    assert code == 2
    assert len(lines) > 1
    assert width - 20 < max(map(len, lines)) <= width
    words = " ".join(lines).split()
    assert {f"{name}," for name in sorted(COMMANDS)[:-1]} <= {*words}  # no name is cut


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_an_unknown_option_in_one_line(name, capsys):
    assert main([name, "--hepl", "3"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert re.match(r"ndigo: unknown option '--hepl'; nearest: --help; (known: --|ndigo \w+ --help-all lists all)", err)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_a_frozen_dataclass_and_a_function_with_documented_options(name):
    command = importlib.import_module(f"ndigo.commands.{name}")
    assert callable(command.run)
    assert command.Arguments.__dataclass_params__.frozen
    (body,) = ast.parse(inspect.getsource(command.Arguments)).body
    assert isinstance(body, ast.ClassDef)
    assert ast.get_docstring(body)
    # The string under a field is its help text.
    documented = {
        above.target.id
        for above, below in zip(body.body, body.body[1:], strict=False)
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    }
    assert documented == {field.name for field in dataclasses.fields(command.Arguments)}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_page(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    assert f"usage: ndigo {name}" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--help"], ["worlds"]])  # by print, and by rich, which would leave with 1
def test_a_reader_that_goes_away_ends_it_quietly(words):
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "ndigo", *words]
    result = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert result.stderr == ""
    assert result.returncode == 141


@pytest.mark.parametrize("variable", ["JAX_PLATFORMS=rocm", "JAX_ENABLE_X64=perhaps"])
def test_a_device_or_a_setting_that_jax_does_not_take_is_one_line(variable):
    name, _, value = variable.partition("=")
    command = [sys.executable, "-m", "ndigo", "worlds", "exp1"]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, name: value})
    assert result.returncode == 2
    assert result.stderr.startswith(f"ndigo: JAX cannot begin with {variable}: unset that, or give what")
    assert result.stderr.count("\n") == 1


def test_a_closed_stream_is_as_one_that_nobody_reads(tmp_path):
    """And no file gets its number, on which the system's libraries write, here or in a process that this one starts."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os\n"
        "def end():\n"
        "    inherited = [os.get_inheritable(number) for number in range(3)]\n"
        "    open('ended', 'w').write(str(inherited))\n"
        "atexit.register(end)"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = f"{sys.executable} -m ndigo worlds <&- >&- 2>&-"
    result = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert result.returncode == 0
    assert result.stderr == ""
    assert (tmp_path / "ended").read_text() == str([True, True, True])


@pytest.mark.parametrize(
    ("stop", "code"), [(KeyboardInterrupt(), 130), (StoppedNow(signal.SIGINT), 130), (StoppedNow(signal.SIGTERM), 143)]
)
def test_an_interrupt_ends_it_quietly_with_the_code_of_its_signal(stop, code, monkeypatch, capsys):
    def interrupted(args):
        raise stop

    monkeypatch.setattr("ndigo.commands.worlds.run", interrupted)
    assert main(["worlds"]) == code
    assert capsys.readouterr() == ("", "")


FAIL_WITH_WORK_LEFT = """
import jax, jax.numpy as jnp
from ndigo.commands import worlds

def run(args):
    x = jnp.zeros((100, 100))
    jax.jit(lambda x: jax.lax.fori_loop(0, 10**9, lambda i, x: jnp.tanh(x @ x), x))(x)  # for hours
    print("begun")
    raise ZeroDivisionError("of ours")

worlds.run = run
import sys
from ndigo.cli import main
sys.argv = ["ndigo", "worlds"]
sys.exit(main())
"""


def test_a_command_that_fails_does_not_wait_for_the_device():
    command = [sys.executable, "-c", FAIL_WITH_WORK_LEFT]
    result = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert result.returncode == 1
    assert result.stdout == "begun\n"
    assert result.stderr.endswith("ZeroDivisionError: of ours\n")


def test_a_terminal_without_unicode_gets_question_marks_and_no_traceback():
    command = [sys.executable, "-m", "ndigo", "worlds", "exp1"]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("?") == 5 * 5 - 1  # the lit cells around the agent
