"""Bad input of every kind ends in one line and an exit code, never in a traceback of ours."""

from __future__ import annotations

import dataclasses
import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from full_disk import files_end_at
from made_up_runs import write_run
from matplotlib.figure import Figure
from refusals import AGENT, refused
from tiny_runs import train_tiny

import ndigo
from ndigo.cli import main
from ndigo.errors import FailedError, NdigoError, explained
from ndigo.report.figures import as_svg, write_figure
from ndigo.report.sheets import as_rich, sheet_of
from ndigo.report.tables import comparison, line_of
from ndigo.storage.run_folder import RunFolder, WriteError, sealed_settings
from ndigo.terminal.console import plain_console
from ndigo.training.cost import device_bytes, refuse_too_large

LONG = "a" * 300


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", LONG],
        ["report", LONG],
        ["view", LONG],
        ["audit", LONG],
        ["export", LONG, "--html", "a.html"],
        ["export", AGENT, "--html", f"{LONG}.html"],
        ["train", "--resume", LONG],
        ["train", "exp1", "--out", LONG],
        ["reproduce", "--list", "--rows", LONG],
        ["discover", "--agents", LONG],
    ],
    ids=lambda words: words[0],
)
def test_a_name_too_long_for_a_file(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "File name too long" in refused(capsys, *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to the superuser")
def test_a_folder_that_may_not_be_entered(tmp_path, capsys):
    (tmp_path / "shut").mkdir(mode=0)
    assert "Permission denied" in refused(capsys, "report", tmp_path / "shut" / "run")


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl"])
def test_a_folder_in_place_of_a_file(name, tmp_path, capsys):
    run = write_run(tmp_path / "run", world="exp1", reward="ndigo-4", seeds=2)
    (run / name).unlink()
    (run / name).mkdir()
    assert f"{name}: Is a directory" in refused(capsys, "report", run)


def test_a_picture_on_a_full_disk_is_whole_or_absent(tmp_path, capsys):
    run = write_run(tmp_path / "run", world="exp1", reward="ndigo-4", seeds=2)
    with files_end_at(1000):
        assert main(["report", str(run), "--out", str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("ndigo: cannot write ")
    assert err.count("\n") == 1
    assert list((tmp_path / "out").iterdir()) == []
    with files_end_at(1000), pytest.raises(WriteError, match="cannot write"):
        write_figure(Figure(), tmp_path / "out" / "a.png")
    assert list((tmp_path / "out").iterdir()) == []


def test_names_that_look_like_markup_are_printed_as_they_are(capsys):
    names = ["[/bold]", "[red]box", ":smile:"]
    settings = {"world": {"in_view": names, "objects": names}, "reward": "[/]"}
    line = line_of("a[/b]c", settings, {"visits": np.ones((1, 3))})
    plain_console().print(comparison([line], lambda name: []))
    out = capsys.readouterr().out
    assert all(name in out for name in [*names, "a[/b]c"])
    plain_console().print(as_rich(sheet_of("[/title]", [line], lambda *_: "")))
    out = capsys.readouterr().out
    assert "[/title]" in out
    assert "a[/b]c" in out


def test_a_run_in_a_folder_that_looks_like_markup_falls_back_to_an_earlier_checkpoint(finished, tmp_path, capsys):
    run = tmp_path / "a[/b]c"
    shutil.copytree(finished.path, run)
    newest = max((run / "checkpoints").iterdir(), key=lambda path: int(path.name.removeprefix("step_")))
    (newest / "state.safetensors").write_bytes(b"")
    again = ndigo.resume(run, trust=["custom_world"])
    assert again.outcome is not None
    assert again.outcome.why == "finished"
    out = capsys.readouterr().out
    assert f"{newest} is damaged" in out.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["train", "exp1", "--seed", "99999999999999999999"], "seed 99999999999999999999: must be at most 4294967295"),
        (["train", "exp1", "--seed", "-1"], "seed -1: must be at least 0"),
        *(
            (["train", "exp1", "--dry-run", f"--{name}", str(10**20)], f"{name.replace('-', '_')} {10**20}: must be at")
            for name in ("belief-size", "num-filters", "num-features", "actors", "seeds", "replay-steps", "window")
        ),
        (["reproduce", "exp1", "--reward", "pe", "--dry-run", "--learner-steps", str(10**20)], "must be at most"),
        (["reproduce", "exp1", "--reward", "pe", "--minutes", "inf"], "--minutes inf: must be above 0, and at most"),
        (["discover", "--minutes", "inf"], "--minutes inf: must be above 0, and at most"),
        (["train", "exp1", "--preset"], "--preset needs a value; see ndigo train --help"),
        (["train", "--config", "--seed", "1"], "--config needs a value; see ndigo train --help"),
        (["train", "exp1", "--minutes", "nan"], "--minutes nan: must be above 0, and at most"),
        (["train", "exp1", "--reward", f"ndigo-{10**20}"], "write ndigo-H with a whole horizon H"),
        (["train", "exp1", "--reward", "ndigo-100000"], "must be a whole number below 1000"),
        (["train", "exp1", "--reward", "ig-100000"], "from 0 to 999"),
        (["train", "exp1", "--replay-steps", "2000000000", "--seeds", "10000"], "lower replay_steps, actors, seeds"),
        (["view", AGENT, "--host", LONG], f"--host {LONG}: "),
        (["view", AGENT, "--host", "...."], "--host ....: "),
        (["train", "..:x"], "'..' is no module's name"),
        (["train", "exp1", "--reward", "..:x"], "'..' is no module's name"),
        (["audit", AGENT, "--out", "a.xyz"], "a figure is .png, .pdf or .svg"),
        (["audit", "exp1", "--out", "a.png"], "--out a.png: an experiment has no model to draw; name a run"),
        (["train", "gymnasium::CartPole-v9"], "unknown Gymnasium environment 'CartPole-v9'; nearest: CartPole-v1, Ca"),
    ],
)
def test_numbers_and_names_beyond_sense_leave_nothing(words, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert says in refused(capsys, *words)
    assert list(tmp_path.iterdir()) == []


def test_what_the_device_cannot_hold_is_refused_before_it_is_asked_for():
    refuse_too_large(jax.ShapeDtypeStruct((device_bytes() // 8,), np.float32))
    with pytest.raises(NdigoError, match=r"take .* GB and this device has .* GB: lower replay_steps"):
        refuse_too_large(jax.ShapeDtypeStruct((device_bytes(),), np.float32))


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (
            jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.\nmore"),
            FailedError,
            "lower",
        ),
        (MemoryError("Unable to allocate 7 TiB"), FailedError, "out of memory: 7 TiB more were needed; lower"),
        (OSError(errno.ENOSPC, "No space left on device", "a/b"), FailedError, "a/b: No space left on device"),
        (OSError(errno.EACCES, "Permission denied", b"a/b"), NdigoError, "a/b: Permission denied"),
    ],
)
def test_what_the_machine_refuses_is_said_in_one_line(error, kind, says):
    shown = explained(error)
    assert type(shown) is kind
    assert says in str(shown)


def test_a_mistake_of_ours_shows_itself(monkeypatch):
    """It is a bug: hiding where it happened would help nobody."""

    def mistaken(args):
        return {}["x"]

    mistaken.__code__ = mistaken.__code__.replace(co_filename=ndigo.__file__)
    monkeypatch.setattr("ndigo.commands.worlds.run", mistaken)
    with pytest.raises(KeyError):
        main(["worlds"])


def test_two_worlds_whose_names_are_paths_get_pictures_in_the_folder(tmp_path, capsys):
    runs = [write_run(tmp_path / str(i), world="exp1", reward="ndigo-4", seeds=2) for i in range(2)]
    settings = RunFolder(runs[1]).settings()
    settings["config"]["world"] = "a/../../b"
    (runs[1] / "config.json").write_bytes(sealed_settings(settings))
    assert main(["report", *map(str, runs), "--out", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"{name}.{kind}" for name in ("curves-a-..-..-b", "curves-exp1") for kind in ("pdf", "png", "svg")
    ]
    assert not (tmp_path / "b.png").exists()


def test_names_with_dollars_and_bytes_of_no_character_are_drawn_as_they_are(tmp_path, monkeypatch, capsys):
    """Two dollars are mathematics to matplotlib, and a byte that is no UTF-8 is no text to a font or a page."""
    monkeypatch.chdir(tmp_path)
    runs = [write_run(Path(name), world="exp1", reward="ndigo-4", seeds=2) for name in ("a$x^$", "b\udcff")]
    assert main(["report", *map(str, runs), "--out", "out", "--html", "out/page.html"]) == 0
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "curves.pdf",
        "curves.png",
        "curves.svg",
        "page.html",
    ]
    assert "a$x^$" in Path("out/page.html").read_text()
    figure = Figure()
    axes = figure.subplots()
    axes.set_yscale("log")
    axes.set_title("a$x^$")
    svg = as_svg(figure)
    assert as_svg(figure) == svg  # drawn again, the axis' own mathematics is still that
    assert "mathdefault" not in "".join(re.findall(r"<text[^>]*>[^<]*", svg))


def test_an_output_that_is_full_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ndigo", "--version"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "ndigo: the output: No space left on device\n"


def test_an_episode_of_no_steps_gets_no_advice_about_its_window(tmp_path):
    from faults import wrong_records

    for steps in (0, -5, 4.5):
        world = dataclasses.replace(wrong_records.RIGHT, num_steps=steps)
        with pytest.raises(NdigoError, match=rf"num_steps is {steps}, expected a whole number of at least 1"):
            train_tiny(tmp_path / "run", world=world)
