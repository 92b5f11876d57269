"""Command lines at random: every command, every option, and values that nobody means."""

from __future__ import annotations

import dataclasses
import importlib
import random
import shutil
from pathlib import Path

import pytest
from made_up_rows import make_up
from made_up_runs import write_run

from faults.fuzz import IS_WHOLE, Fuzz, nothing_written_beside, skip_the_work
from ndigo.commands import COMMANDS
from ndigo.paper.experiments import Row
from ndigo.storage.episodes import save_episodes

LINES = 2000 if IS_WHOLE else 40
ROOT = Path(__file__).parent.parent.parent
AGENT = ROOT / "results/agents/exp1-ndigo-4.safetensors"

NUMBERS = [
    "0",
    "-1",
    "1",
    "2",
    "7",
    "100",
    "4294967296",
    str(10**20),
    "9" * 5000,
    f"-{10**30}",
    "1e5",
    "0x10",
    "\uff11",
]
FRACTIONS = ["0.5", "nan", "inf", "-inf", "-0.0", "1e308", "1e-308", "1_0", ".", "1e"]
NAMES = ["exp1", "exp5", "exp9", "maze", "ndigo-4", "ndigo-0", "ndigo-", "ig-99999999999", "ideal-icm", "cpu", "paper"]
MODULES = ["own:world", "own:missing", "own:number", "own:broken", "sys:exit", "math:pi", "..:x", ":", "a:b:c", "no:no"]
TEXTS = [
    "",
    " ",
    "a" * 300,
    "a/" * 3000,
    "[/bold]",
    ":smile:",
    "\x1b[31m",
    "a\nb",
    "%s{}",
    "$x^$",
    "\U0001f642",
    "\udcff",
    "--",
    "=",
]
PATHS = ["agent.safetensors", "run", "episodes.npz", "rows", "empty", "folder", "loop", "missing/a", "run/config.json"]
PATHS += ["settings.toml", "sweep.toml"]
OUTPUTS = [
    "out",
    "out.png",
    "out.html",
    "out.npz",
    "out.gif",
    "out.json",
    "folder",
    "empty",
    "empty/x.html",
    "new/a.pdf",
]
NEARLY_RIGHT = [
    ["train", "exp1", "--dry-run"],
    ["train", "--resume", "run"],
    ["evaluate", "agent.safetensors", "--episodes", "2"],
    ["export", "episodes.npz", "--html", "out.html"],
    ["view", "agent.safetensors", "--no-open", "--port", "0"],
    ["report", "run"],
    ["report", "--paper", "--rows", "rows"],
    ["reproduce", "exp1", "--reward", "pe", "--dry-run"],
    ["audit", "exp1"],
    ["worlds", "exp1"],
    ["walk", "exp1"],
    ["bench", "--seeds", "1"],
    ["discover"],
    ["train", "--config", "settings.toml", "--dry-run"],
    ["sweep", "sweep.toml"],
    ["sweep", "status", "sweep.toml"],
]
# What a command writes to is only ever named inside the working folder, whatever else is made up.
WRITES = {"out", "html", "video", "gif", "figure", "episodes_file", "json", "docs", "rows", "runs"}


def options_of(command: str) -> list[str]:
    """The fields that are options."""
    module = importlib.import_module(f"ndigo.commands.{command}")
    fields = [field.name for field in dataclasses.fields(module.Arguments)]
    if command == "train":
        fields += [field.name for field in dataclasses.fields(module.Settings)]
    return fields


def value(rng: random.Random, option: str) -> str:
    if option in WRITES:
        return rng.choice([*OUTPUTS, *(text for text in TEXTS if "/" not in text)])
    kinds = [NUMBERS, FRACTIONS, NAMES, MODULES, TEXTS, PATHS]
    return rng.choice(rng.choice(kinds))


def command_line(rng: random.Random) -> list[str]:
    """A command, up to two names and up to four options, now and then with a word lost, doubled or broken."""
    command = rng.choice([*COMMANDS])
    words = [command, *(rng.choice([*NAMES, *MODULES, *PATHS, *TEXTS]) for _ in range(rng.randrange(3)))]
    if rng.random() < 0.5:
        words = rng.choice(NEARLY_RIGHT)
    for _ in range(rng.randrange(5)):
        option = rng.choice(options_of(words[0]))
        flag = f"--{option.strip('_').replace('_', '-')}"
        words = [*words, flag, value(rng, option)] if rng.random() < 0.9 else [*words, f"{flag}={value(rng, option)}"]
    if rng.random() < 0.2:
        at = rng.randrange(len(words))
        word = words[at]
        words = [*words[:at], *rng.choice([[], [word, word], [word[:-1]], [f"{word}\u202e"]]), *words[at + 1 :]]
    return words


@pytest.fixture
def here(tmp_path, monkeypatch, recorded):
    """A working folder with one of each to name."""
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy(AGENT, folder / "agent.safetensors")
    write_run(folder / "run", world="exp1", reward="ndigo-4", seeds=2)
    make_up(folder / "rows", Row("exp1", "pe"))
    save_episodes(folder / "episodes.npz", recorded)
    (folder / "folder").mkdir()
    (folder / "settings.toml").write_text('preset = "cpu"\nworld = "exp1"\n')
    (folder / "sweep.toml").write_text('preset = "cpu"\nworld = "exp1"\nout = "rows"\n[grid]\nseed = [0, 1]\n')
    (folder / "empty").touch()
    (folder / "loop").symlink_to("loop")
    (folder / "own.py").write_text("from faults.wrong_records import RIGHT as world\nnumber = 3\ndef broken(): 1 / 0\n")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    skip_the_work(monkeypatch, recorded)
    return folder


def test_every_command_line_ends_in_a_line_or_does_its_work(here, capsys):
    fuzz = Fuzz(capsys)
    with nothing_written_beside(here, ROOT):
        for seed in range(LINES):
            fuzz.run(command_line(random.Random(seed)), f"(seed {seed})")
    fuzz.tell("command lines")
    assert fuzz.wrong == [], "\n\n".join(fuzz.wrong)
