"""`ndigo export`: a trained agent's episodes as a page, a film, a figure or a file of numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from ndigo.api import load_trained
from ndigo.errors import NdigoError
from ndigo.report.figures import check_figure
from ndigo.report.numbers import how_many
from ndigo.storage.episodes import Recording, load_episodes, save_episodes, some_episodes
from ndigo.storage.run_folder import check_output
from ndigo.terminal.options import Trust, check_seed, within
from ndigo.terminal.working import working
from ndigo.watching.appearance import appearance_of
from ndigo.watching.movies import film_of, find_ffmpeg, write_gif, write_video
from ndigo.watching.recording import record_numbered
from ndigo.watching.snapshots import check_map, check_steps, write_snapshots

VIDEO_SCALE = 2  # a video is watched on a whole screen, a GIF inside a page


@dataclass(frozen=True)
class Arguments:
    """Record what a trained agent does, sees and believes, and write it as pages, films, figures and numbers."""

    path: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN|AGENT|EPISODES")]
    """A run's folder, an agent's file, or episodes recorded before (.npz)."""
    html: Path | None = None
    """One self-contained page that plays the episodes in any browser."""
    video: Path | None = None
    """A film of the first episode (.mp4)."""
    gif: Path | None = None
    """The same, small, as an animated GIF."""
    figure: tuple[Path, ...] = ()
    """The world and the belief at chosen steps (.png, .pdf or .svg, or several)."""
    episodes_file: Path | None = None
    """All that was recorded, as NumPy arrays (.npz; docs/files.md)."""
    episode: int = 0
    """The first episode; films and figures show this one."""
    episodes: int = 3
    """How many episodes the page and the file of episodes get."""
    seed: int = 0
    """Same seed, same episodes."""
    agent: int = 0
    """Which of a run's agents: 0 is the one of its first seed."""
    label: str | None = None
    """What the agent is called; without it, its reward and seed."""
    steps: tuple[int, ...] = ()
    """Steps of the figure; without them the first, the first that shows each object, and the last."""
    until: int | None = None
    """The last step of a film, where the episode does not end before; without it the episode's."""
    fps: float | None = None
    """Steps per second of a film; without it 12 in a GIF and 20 in a video."""
    trust: Trust = ()
    """A module of yours that may be run to find a world or reward that the file names; repeat it for another."""


def run(args: Arguments) -> None:
    _check(args)
    episodes = _recorded(args)
    num_steps = episodes.length(0)
    check_steps(args.steps, num_steps)
    if args.until is not None and episodes.lengths is None:  # else nobody knows it before, and the film ends there
        within("--until", args.until, 1, num_steps)
    if args.episodes_file is not None:
        save_episodes(args.episodes_file, episodes)
        _say(args.episodes_file, how_many(len(episodes.keys), "episode"))
    for path in args.figure:
        with working(f"drawing {path.name}"):
            write_snapshots(path, episodes, 0, args.steps)
        _say(path, "figure")
    for path, write, scale, fps in (
        (args.gif, write_gif, 1, args.fps or 12),
        (args.video, write_video, VIDEO_SCALE, args.fps or 20),
    ):
        if path is not None:
            film = film_of(episodes, 0, scale=scale, until=args.until)
            with working(path.name, len(film)) as advance:
                write(path, film, fps, advance)
            ends = f", to the end of the episode at step {num_steps}" if (args.until or 0) > num_steps else ""
            _say(path, f"{how_many(len(film), 'frame')}{ends}, {film.size[0]} x {film.size[1]}")
    if args.html is not None:
        from ndigo.viewer.page import export_html  # with what it needs of the extra `viewer`

        with working(f"packing {args.html.name}"):
            export_html([episodes], args.html)
        _say(args.html, f"page with {how_many(len(episodes.keys), 'episode')}")


def _check(args: Arguments) -> None:
    """Everything that can be refused before the work begins."""
    outputs = [path for path in (args.html, args.video, args.gif, *args.figure, args.episodes_file) if path is not None]
    if not outputs:
        raise NdigoError("name at least one output: --html, --video, --gif, --figure or --episodes-file")
    for option, path, suffix in (
        ("--html", args.html, ".html"),
        ("--video", args.video, ".mp4"),
        ("--gif", args.gif, ".gif"),
        ("--episodes-file", args.episodes_file, ".npz"),
    ):
        if path is not None and path.suffix.lower() != suffix:
            raise NdigoError(f"{option} {path}: the name must end in {suffix}")
    for path in args.figure:
        check_figure(path)
    for path in outputs:
        check_output(path)
    within("--episode", args.episode, 0, 1_000_000)
    within("--episodes", args.episodes, 1, 1000)
    if args.until is not None and args.until < 1:
        raise NdigoError(f"--until {args.until}: must be at least 1")
    check_seed(args.seed)
    if args.fps is not None:
        within("--fps", args.fps, 0.5, 60)
    if args.video is not None:
        find_ffmpeg()


def _recorded(args: Arguments) -> Recording:
    """The episodes asked for: read where they are recorded already, else played now."""
    if args.path.suffix == ".npz":
        episodes = load_episodes(args.path)
        if args.seed or args.agent:
            raise NdigoError(f"{args.path} is recorded already: --seed and --agent choose what to record")
        if args.episode >= len(episodes.keys):
            raise NdigoError(f"--episode {args.episode}: {args.path} has episodes 0 to {len(episodes.keys) - 1}")
        for path in args.figure:
            check_map(path, episodes.meta["world"], episodes.seen is None)
        episodes = some_episodes(episodes, args.episode, args.episodes)
        return replace(episodes, meta=episodes.meta | ({"label": args.label} if args.label else {}))
    # Films and figures show one episode.
    count = args.episodes if args.html or args.episodes_file else 1
    trained = load_trained(args.path, trust=args.trust)
    within("--agent", args.agent, 0, trained.num_seeds - 1)
    agent = trained.agent(args.agent, args.label)
    for path in args.figure:
        check_map(path, agent.about["world"], appearance_of(agent).painter is None)
    with working("recording (compiling first)", count) as advance:
        return record_numbered(agent, args.seed, args.episode, count, advance)


def _say(path: Path, what: str) -> None:
    print(f"{path}: {what}, {path.stat().st_size / 1e6:.2f} MB", flush=True)
