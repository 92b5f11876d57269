"""`ndigo export`: what is asked for is written, and what cannot be is refused before the work begins."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ndigo.api import load
from ndigo.cli import main
from ndigo.errors import install
from ndigo.storage.episodes import load_episodes, save_episodes
from ndigo.watching.movies import film_of
from ndigo.watching.panels import world_panel
from ndigo.watching.recording import episode_key, record

ROOT = Path(__file__).parents[2]
AGENT = str(ROOT / "results/agents/exp1-ndigo-4.safetensors")


@pytest.fixture
def in_folder(tmp_path, monkeypatch, recorded):
    """An empty folder to write to, beside it a file of two recorded episodes."""
    save_episodes(tmp_path / "two.npz", recorded)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    return tmp_path / "out"


def test_every_output_is_written_and_named(in_folder, capsys):
    words = ["--gif", "a.gif", "--video", "a.mp4", "--figure", "a.png", "b.pdf", "--episodes-file", "sub/a.npz"]
    assert main(["export", "../two.npz", *words, "--until", "2", "--steps", "0", "9", "--label", "mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [re.sub(r"\d\.\d\d", "x", line) for line in lines] == [
        "sub/a.npz: 2 episodes, x MB",
        "a.png: figure, x MB",
        "b.pdf: figure, x MB",
        "a.gif: 3 frames, 1014 x 526, x MB",
        "a.mp4: 3 frames, 2028 x 1050, x MB",
    ]
    written = sorted(str(path.relative_to(in_folder)) for path in in_folder.rglob("*") if path.is_file())
    assert written == ["a.gif", "a.mp4", "a.png", "b.pdf", "sub/a.npz"]
    assert load_episodes(in_folder / "sub/a.npz").meta["label"] == "mine"


def test_an_agent_is_recorded_from_the_episode_asked_for(in_folder, capsys):
    recorded = record(load(AGENT), [episode_key(seed=0, episode=i) for i in range(2)])
    assert main(["export", AGENT, "--episode", "1", "--episodes", "1", "--episodes-file", "a.npz"]) == 0
    episodes = load_episodes(in_folder / "a.npz")
    assert episodes.keys.tolist() == recorded.keys[1:].tolist()
    np.testing.assert_array_equal(episodes.o[0], recorded.o[1])
    assert (episodes.meta["first_episode"], episodes.meta["episode_seed"]) == (1, 0)
    capsys.readouterr()
    # What is recorded can be exported again, from any of its episodes on.
    assert main(["export", "../two.npz", "--episode", "1", "--episodes-file", "b.npz"]) == 0
    assert load_episodes(in_folder / "b.npz").keys.tolist() == episodes.keys.tolist()


def test_films_and_figures_of_an_episode_that_ended_by_itself_reach_to_its_end(in_folder, recorded, capsys):
    save_episodes(in_folder / "short.npz", replace(recorded, lengths=np.array([4, 400], np.int32)))
    assert main(["export", "short.npz", "--gif", "a.gif"]) == 0
    assert capsys.readouterr().out.startswith("a.gif: 5 frames, ")
    assert main(["export", "short.npz", "--gif", "b.gif", "--html", "b.html", "--until", "5"]) == 0
    film, page = capsys.readouterr().out.splitlines()
    assert film.startswith("b.gif: 5 frames, to the end of the episode at step 4, ")
    assert page.startswith("b.html: page with 2 episodes, ")
    assert main(["export", "short.npz", "--gif", "c.gif", "--until", "3"]) == 0
    assert capsys.readouterr().out.startswith("c.gif: 4 frames, 1014 x ")


def test_a_page_is_one_file(in_folder, capsys):
    assert main(["export", "../two.npz", "--html", "page.html"]) == 0
    assert capsys.readouterr().out.startswith("page.html: page with 2 episodes, 0.")
    assert (in_folder / "page.html").read_text().lower().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["two.npz"], "name at least one output: --html, --video, --gif, --figure or --episodes-file"),
        (["two.npz", "--gif", "a.png"], "--gif a.png: the name must end in .gif"),
        (["two.npz", "--html", "a"], "--html a: the name must end in .html"),
        (["two.npz", "--figure", "a.jpg"], "a.jpg: a figure is .png, .pdf or .svg"),
        (["two.npz", "--figure", "a.png", "--steps", "401"], "--steps 401: the episode has steps 0 to 400"),
        (["two.npz", "--gif", "a.gif", "--until", "401"], "--until 401: must be from 1 to 400"),
        (["two.npz", "--gif", "a.gif", "--until", "0"], "--until 0: must be at least 1"),
        (["two.npz", "--gif", "a.gif", "--episode", "2"], "--episode 2: ../two.npz has episodes 0 to 1"),
        (["two.npz", "--gif", "a.gif", "--seed", "1"], "../two.npz is recorded already"),
        (["two.npz", "--gif", "a.gif", "--episodes", "0"], "--episodes 0: must be from 1 to 1000"),
        (["two.npz", "--gif", "a.gif", "--fps", "0"], "--fps 0.0: must be from 0.5 to 60"),
        (["nowhere.npz", "--gif", "a.gif"], "cannot read ../nowhere.npz: No such file"),
        (["nowhere", "--gif", "a.gif"], "../nowhere does not exist; name a run's folder or an agent's file"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(words, message, in_folder, capsys):
    assert main(["export", f"../{words[0]}", *words[1:]]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"ndigo: {message}")
    assert err.count("\n") == 1
    assert list(in_folder.iterdir()) == []


@pytest.mark.parametrize("output", ["--html=new/deep/a.html", "--gif=new/deep/a.gif", "--figure=new/deep/a.png"])
def test_a_missing_folder_is_made_and_one_that_cannot_be_is_refused_before_the_work(output, in_folder, capsys):
    words = ["export", "../two.npz", output, *(["--until", "2"] if "gif" in output else [])]
    (in_folder / "new").write_text("a file")
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.endswith(f"{in_folder / 'new'} is no folder\n")
    (in_folder / "new").unlink()
    assert main(words) == 0
    assert [path.stem for path in (in_folder / "new" / "deep").iterdir()] == ["a"]


def test_an_agent_that_is_not_there_is_one_line(in_folder, capsys):
    assert main(["export", AGENT, "--gif", "a.gif", "--agent", "1"]) == 2
    assert capsys.readouterr().err == "ndigo: --agent 1: must be from 0 to 0\n"
    assert list(in_folder.iterdir()) == []


def test_without_the_videos_package_one_line_says_how_to_get_it(in_folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert main(["export", "../two.npz", "--video", "a.mp4"]) == 2
    assert capsys.readouterr().err == f"ndigo: a video needs the package imageio-ffmpeg: {install('video')}\n"


@pytest.mark.parametrize(
    ("page", "picture"), [("README.md", "docs/pictures/maze.gif"), ("docs/index.md", "docs/pictures/discovery.gif")]
)
def test_a_pages_film_is_what_its_command_records(page, picture):
    """Episode 0 of seed 0 of the shipped agent: the world in the picture is the world recorded here."""
    words = re.search(r"`(ndigo export\s[^`]*\.gif[^`]*)`", (ROOT / page).read_text())
    assert words is not None
    command = shlex.split(words[1])
    assert command == ["ndigo", "export", command[2], "--gif", picture, "--until", "110"]
    recorded = record(load(ROOT / command[2]), [episode_key(seed=0, episode=0)])
    path = ROOT / picture
    assert path.stat().st_size < 1_000_000
    film = film_of(recorded, 0, until=110)
    x, y = film.panels[0].at
    cell = len(np.asarray(film.panels[0].draw(0))) // len(recorded.walls)
    with Image.open(path) as gif:
        assert getattr(gif, "n_frames", 1) == 111
        for t in (0, 30, 110):
            gif.seek(t)
            panel = world_panel(recorded, 0, t, cell)
            shown = np.asarray(gif.convert("RGB"))[y : y + len(panel), x : x + panel.shape[1]]
            is_other = abs(shown.astype(int) - panel).max(axis=-1) > 30  # not by the film's few colours alone
            assert is_other.mean() < 1e-3  # a cell is 2e-3 of it
