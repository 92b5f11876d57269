"""What the README, the guides and CONTRIBUTING print is true: their commands and snippets run as printed."""

import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from person import Person
from tiny_runs import TINY

import ndigo
import ndigo.commands
from ndigo.cli import main
from ndigo.commands import COMMANDS

ROOT = Path(__file__).parent.parent
GUIDES = ("train", "watch", "reproduce", "worlds", "files")
PAGES = [(ROOT / name).read_text() for name in ("README.md", *(f"docs/{guide}.md" for guide in GUIDES))]
BLOCKS = [block for page in PAGES for block in re.findall(r"^```(\w+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)]
SHELL = list(dict.fromkeys(line for language, text in BLOCKS if language == "sh" for line in text.splitlines()))
NDIGO = [line for line in SHELL if line.startswith("ndigo ")]
RUNS = [line for line in NDIGO if "runs/first" in line]
PYTHON = [text for language, text in BLOCKS if language == "python"]


def test_every_block_is_of_a_kind_that_is_checked():
    assert {language for language, _ in BLOCKS} == {"sh", "python", "text", "bibtex"}
    assert NDIGO
    assert PYTHON


def test_every_command_that_is_not_ndigos_is_run_by_ci():
    """As printed, or shortened by a variable of make, and not for ever; `make view` stays until it is told to end."""
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    in_ci = [line.split(" MINUTES=")[0].removeprefix("timeout 900 ") for line in lines]
    assert [line for line in SHELL if line not in NDIGO and line not in (*in_ci, "make view")] == []


def test_make_view_is_ndigo_view_in_the_environment_that_make_builds():
    recipe = (ROOT / "Makefile").read_text().split("\nview: .venv/ready\n")[1].split("\n")[0]
    assert recipe.startswith("\t$(BIN)/ndigo view")


def test_the_citation_is_that_of_the_citation_file():
    (entry,) = (text for language, text in BLOCKS if language == "bibtex")
    entry = entry.replace(r"{\'e}", "é")
    preferred = (ROOT / "CITATION.cff").read_text().split("preferred-citation:")[1]
    named = re.findall(r"family-names: (.*)\n +given-names: (.*)\n", preferred)
    assert " and ".join(f"{family}, {given}" for family, given in named) in entry
    for field in ("title", "year", "journal"):
        (value,) = re.findall(rf"^ +{field}: (.*)$", preferred, re.MULTILINE)
        assert f"{{{value}}}" in entry


@pytest.fixture
def tiny_runs(monkeypatch):
    """A run that is trained or timed is made tiny, which is all that is changed."""
    tiny = ndigo.Config(**{name: value for name, value in TINY.items() if name != "preset"})
    for preset in ("cpu", "gpu"):
        monkeypatch.setitem(ndigo.PRESETS, preset, tiny)
    for module in ("ndigo.commands.train", "ndigo.api"):
        monkeypatch.setattr(f"{module}.default_preset", lambda: "cpu")


@pytest.mark.slow
def test_a_run_is_trained_evaluated_reported_and_resumed_as_printed(tiny_runs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for line in RUNS:
        assert main(shlex.split(line)[1:]) == 0
        assert "runs/first" in capsys.readouterr().out


STAYING = ("ndigo play", "ndigo view")  # until they are told to end


@pytest.mark.parametrize("line", [line for line in NDIGO if not line.startswith(STAYING) and line not in RUNS])
def test_ndigo_commands_run_as_printed(line, tiny_runs, capsys):
    assert main(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("line", [line for line in NDIGO if line.startswith("ndigo play")])
def test_play_runs_as_printed(line):
    with Person(*shlex.split(line)[1:]) as person:
        person.wait_for("step 0 of 400")
        person.press("q")
        assert person.leave()[0] == 0


@pytest.mark.parametrize("line", [line for line in NDIGO if line.startswith("ndigo view")])
def test_view_runs_as_printed_and_ctrl_c_ends_it(line):
    command = [sys.executable, "-m", "ndigo", *shlex.split(line)[1:], "--no-open"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split()[0]
    with urllib.request.urlopen(url) as page:
        assert b'data-ndigo="live"' in page.read()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert err in ("", f"port 7685 is taken; using {url.split(':')[2].strip('/')}\n")


@pytest.mark.parametrize("snippet", PYTHON, ids=range(len(PYTHON)))
def test_python_snippets_run_as_printed(snippet, tiny_runs, tmp_path, monkeypatch, capsys):
    (tmp_path / "results").symlink_to(ROOT / "results")
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {"__name__": "readme"})


def test_the_picture_is_what_the_command_above_it_draws(capsys):
    (picture,) = [text for language, text in BLOCKS if language == "text"]
    assert main(["worlds", "exp1"]) == 0
    assert capsys.readouterr().out == picture


def test_the_readme_is_read_in_a_minute_or_four():
    assert len(PAGES[0].split()) <= 900


def test_the_command_that_contributing_adds_works(tmp_path, monkeypatch, capsys):
    (source,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "count.py").write_text(source)
    monkeypatch.setattr(ndigo.commands, "__path__", [*ndigo.commands.__path__, str(tmp_path)])
    monkeypatch.setitem(COMMANDS, "count", "count the free cells of a world")
    assert main(["count", "exp1", "--times", "2"]) == 0
    assert capsys.readouterr().out == f"{2 * 225}\n"
    assert main(["count", "exp1", "--times", "0"]) == 2


def test_every_link_to_a_file_leads_somewhere():
    links = re.findall(r"\]\((?!http)([^)#]+)", PAGES[0])
    assert [link for link in links if not (ROOT / link).exists()] == []
