"""Help pages say every option there is, everyday ones first; work that takes long says what it is at."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import sys
import threading

import pytest
import tyro
from rich.console import Console

from ndigo.cli import main
from ndigo.commands import COMMANDS
from ndigo.terminal import working
from ndigo.terminal.starting import ERASE, WORD, starting

FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w.-]*")
# As a flag stands on a page: before what it takes, or before a comma.
PRINTED = re.compile(r"^ *(-h|--[\w.-]+)(?:, (--[\w.-]+))?", re.MULTILINE)


def page(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit, match="0"):
        main(words)
    return capsys.readouterr().out


def printed(text: str) -> set[str]:
    return {flag for pair in PRINTED.findall(text) for flag in pair if flag.startswith("--")}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_has_every_option_that_the_parser_takes(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ours = page([name, "--help-all"], capsys)
    theirs = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(theirs):
        tyro.cli(importlib.import_module(f"ndigo.commands.{name}").Arguments, args=["--help"])
    boxes = "\n".join(line.strip("│ ") for line in theirs.getvalue().splitlines())
    taken = {flag for line in boxes.splitlines() if line.startswith("-") for flag in FLAG.findall(line.split("  ")[0])}
    assert printed(ours) - {"--help-all"} == {flag for flag in taken if flag.startswith("--")}
    assert max(map(len, ours.splitlines())) <= 80
    assert "None" not in ours


@pytest.mark.parametrize("columns", ["1", "24", "26", "27"])
def test_a_page_is_shown_in_a_terminal_however_narrow(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    words = page(["worlds", "--help-all"], capsys).split()
    monkeypatch.setenv("COLUMNS", "100")
    assert words == page(["worlds", "--help-all"], capsys).split()


def test_training_shows_its_everyday_options_first_and_the_rest_when_asked(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    short, long = page(["train", "--help"], capsys), page(["train", "--help-all"], capsys)
    assert len(short.splitlines()) <= 40  # a screen
    assert {"--minutes", "--reward", "--resume"} <= printed(short)
    assert not {"--probe-stride", "--lambda"} & printed(short)
    assert long.index("\neveryday\n") < long.index("\nthe model\n") < long.index("\nrhythm\n")
    assert "\nothers\n" not in long  # every option has its group
    (more,) = re.findall(r"All options: (\d+) more", short)
    assert int(more) == len(printed(long) - printed(short))


def test_a_page_shows_the_defaults_of_the_preset_that_is_named(capsys):
    assert re.search(r"--learner-steps N +.*\[11520\]", page(["train", "--preset", "cpu", "--help"], capsys))
    assert re.search(r"--learner-steps N +.*\[32000\]", page(["train", "--preset", "gpu", "--help"], capsys))


@pytest.mark.parametrize(("is_terminal", "shown"), [(True, True), (False, False)])
def test_work_is_told_on_a_terminal_and_nowhere_else(is_terminal, shown, monkeypatch, capsys):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=is_terminal, width=80)
    monkeypatch.setattr(working, "plain_console", lambda stderr: console)
    with working.working("judging episodes", 4) as advance:
        advance(2)
    assert ("judging episodes" in screen.getvalue()) == shown
    assert ("2/4" in screen.getvalue()) == shown
    assert capsys.readouterr().out == ""


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("screen", "shown"), [(Screen(), f"{WORD}{ERASE}"), (io.StringIO(), "")])
def test_a_command_that_loads_for_long_says_so_on_a_terminal_and_takes_it_back(screen, shown, monkeypatch):
    has_waited = threading.Event()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("ndigo.terminal.starting.PATIENCE", 0.0)
    monkeypatch.setattr(screen, "flush", has_waited.set)
    with starting():
        has_waited.wait(10 if shown else 0)  # until the word is on the screen
    assert screen.getvalue() == shown
