"""`ndigo view`: a local page that shows the agent's mind beside the world, live."""

from __future__ import annotations

import dataclasses
import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import tyro

import ndigo
from ndigo.agents.agent import Agent
from ndigo.api import load_trained
from ndigo.errors import NdigoError, unknown_name
from ndigo.interop.finding import find_world
from ndigo.naming import config_of
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.rewards import IntrinsicReward, make_reward
from ndigo.storage import checkpoint, milestones
from ndigo.storage.agents import load_agent
from ndigo.storage.episodes import Recording, load_episodes
from ndigo.storage.run_folder import RunFolder, agents_in
from ndigo.terminal.console import plain_console
from ndigo.terminal.options import Trust, check_seed, within
from ndigo.training.trained import Trained, from_milestone
from ndigo.viewer.page import pack
from ndigo.viewer.stage import LAST_EPISODE, Company, Performer
from ndigo.watching.recording import record_numbered
from ndigo.worlds import World

RECORDED = 3  # episodes of a world that cannot be played live
CHECKOUTS = (Path(), Path(ndigo.__file__).parents[2])  # where our agents may lie: here, or beside the sources


@dataclass(frozen=True)
class Arguments:
    """Watch agents on a local page: the world as it is, and as they believe it to be."""

    paths: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN|AGENT ...")] = ()
    """Runs, agents' files, or a folder of them to choose from; recordings (episodes.npz) are played as they are.
    Without any, the agents of this checkout: NDIGO beside prediction error."""
    experiment: str | None = None
    """The world to begin in (exp2), if the agent fits it; its own without this."""
    episode: int = 0
    """The episode to begin with."""
    seed: int = 0
    """Same seed, same episodes."""
    host: str = "127.0.0.1"
    """Where to listen: this machine alone, unless you name another of its addresses."""
    port: int = 7685
    """Where to listen; a free one where it is taken."""
    open: bool = True
    """Open the page in a browser."""
    trust: Trust = ()
    """A module of yours that may be run to find a world or reward that the file names; repeat it for another."""


def run(args: Arguments) -> None:
    from ndigo.viewer.server import bind, make_app, serve  # the web's packages are an extra

    within("--episode", args.episode, 0, LAST_EPISODE)
    check_seed(args.seed)
    within("--port", args.port, 0, 65535)
    if not args.paths:
        args = dataclasses.replace(args, paths=opening_scene())
    is_recorded = [path.suffix == ".npz" for path in args.paths]
    if any(is_recorded) and not all(is_recorded):
        raise NdigoError("recordings and agents cannot be watched together; name the ones or the others")
    agents = [] if all(is_recorded) else find_all(args)
    episodes = [load_episodes(path) for path in args.paths] if not agents else recorded_first(args, agents)
    recording = pack(episodes) if episodes else None
    company = None if episodes else gather(args, agents)
    listener = bind(args.host, args.port)
    port = listener.getsockname()[1]
    app = make_app(company, recording, args.host, port)
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(args.host, args.host)
    url = f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"
    names = [path.stem if path.is_file() else RunFolder(path).name for path in args.paths]
    print(f"{url} shows {', '.join(names)} (Ctrl-C ends it)", flush=True)
    if args.open and has_screen():
        webbrowser.open(url)
    serve(app, listener)


def recorded_first(args: Arguments, agents: Sequence[Found]) -> list[Recording]:
    """Of agents whose worlds the host steps: no page can step those, so some episodes are recorded and played."""
    hosted = [found for found in agents if found.world.host is not None]
    if not hosted:
        return []
    if len(hosted) < len(agents):
        raise NdigoError(f"{hosted[0].path} can only be recorded ({hosted[0].world_name}): name it without the others")
    if args.experiment is not None:
        raise NdigoError(f"--experiment {args.experiment}: {hosted[0].path} lives in {hosted[0].world_name} alone")
    with plain_console(stderr=True).status(f"recording {RECORDED} episodes"):
        return [record_numbered(x.agent(0, x.world_name), args.seed, args.episode, RECORDED) for x in hosted]


def has_screen() -> bool:
    """Without one, Python would open a browser inside the terminal."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def opening_scene() -> tuple[Path, ...]:
    """What is shown where nothing is named: the best of our agents, one that falls for the noise, and all others."""
    folder = next((place / "results/agents" for place in CHECKOUTS if (place / "results/agents").is_dir()), None)
    if folder is None:
        raise NdigoError("no agents lie in results/agents here: name a run's folder, an agent's file or a recording")
    agents = find(folder, ())
    hero = agents[0]
    others = [found for found in agents if found.world_name == hero.world_name and not found.is_ndigo]
    rival = next((found for found in others if found.reward.name == "pe"), others[0] if others else None)
    return (hero.path, *([] if rival is None else [rival.path]), folder)


def find_all(args: Arguments) -> list[Found]:
    """All that the paths name, each once."""
    return list({found.path.resolve(): found for path in args.paths for found in find(path, args.trust)}.values())


def gather(args: Arguments, agents: Sequence[Found]) -> Company:
    """Who can be watched. An agent that is named must load; others in a named folder are loaded when chosen."""
    for path in args.paths:
        for agent in agents:
            if agent.path == path:
                _ = agent.trained
    worlds = {name: experiment.world for name, experiment in EXPERIMENTS.items()}
    titles = {name: f"{name}: {experiment.title}" for name, experiment in EXPERIMENTS.items()}
    performers = []
    for agent in agents:
        own = agent.world_name
        fitting = [name for name, world in worlds.items() if is_like(world, agent.world)]
        names = [own, *(name for name in fitting if worlds[name].name != agent.world.name)]
        if args.experiment in names:
            names = [args.experiment, *(name for name in names if name != args.experiment)]
        titles.setdefault(own, own)
        performers.append(Performer(agent.label, agent.seeds, tuple(names), agent.agent, agent.steps))
    if args.experiment is not None and args.experiment not in performers[0].worlds:
        raise unknown_name(f"experiment for {args.paths[0]}", args.experiment, performers[0].worlds)
    shown = {name for performer in performers for name in performer.worlds}
    titles = {name: title for name, title in titles.items() if name in shown}
    return Company(tuple(performers), titles, args.seed, args.episode, compare=len(args.paths) > 1)


def is_like(world: World, other: World) -> bool:
    """True where an agent of one can live in the other: it sees the same shapes, and the probe names the same cells."""
    shapes = [(w.shape, w.actions, w.map_shape, len(w.objects)) for w in (world, other)]
    return shapes[0] == shapes[1]


@dataclass(frozen=True)
class Found:
    """A run or an agent's file; its networks are loaded when they are asked for."""

    path: Path
    label: str
    world_name: str
    seeds: tuple[str, ...]
    world: World
    reward: IntrinsicReward

    @cached_property
    def trained(self) -> Trained:
        return load_trained(self.path, world=self.world, reward=self.reward)

    @property
    def is_ndigo(self) -> bool:
        return self.reward.name.startswith("ndigo")

    @property
    def rank(self) -> tuple[Any, ...]:
        """Which agents of a folder come first: by experiment, NDIGO before others, looking far before near."""
        order = list(EXPERIMENTS)
        place = order.index(self.world_name) if self.world_name in order else len(order)
        return place, self.world_name, not self.is_ndigo, -self.reward.num_ahead, self.label

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Learner steps at which it can be watched; () where it is kept as it is now and no other way."""
        if self.path.is_file() or not (past := milestones.steps(self.path)):
            return ()
        newest = checkpoint.steps(self.path / "checkpoints")[:1]
        return tuple(sorted({*past, *newest}))

    def agent(self, seed: int, world_name: str, step: int | None = None) -> Agent:
        world = self.world if world_name == self.world_name else EXPERIMENTS[world_name].world
        trained = self.trained
        if step is not None:
            trained = from_milestone(RunFolder(self.path), step, trained.config, self.world, self.reward)
        agent = trained.agent(seed)
        about = agent.about | {"world": world_name, "trained_in": self.world_name}
        return dataclasses.replace(agent, world=world, about=about)


def find(path: Path, trust: Sequence[str]) -> list[Found]:
    """The agents at a path: one, or all in a folder of them."""
    if not path.exists():
        raise NdigoError(f"{path} does not exist; name a run's folder, an agent's file or a recording (.npz)")
    if path.is_file() or (path / "config.json").exists():
        return [describe(path, trust)]
    found, left_out = [], {}
    for member in agents_in(path):
        try:
            found.append(describe(member, trust))
        except (NdigoError, OSError) as error:
            left_out[member] = error
    if not found:
        why = next(iter(left_out.values()), "no config.json, no .safetensors")
        raise NdigoError(f"{path} is no run and holds no agent that can be watched: {why}")
    for member, error in left_out.items():
        print(f"{member} is left out: {error}", file=sys.stderr)
    return sorted(found, key=lambda agent: agent.rank)


def describe(path: Path, trust: Sequence[str]) -> Found:
    settings = load_agent(path)[0] if path.is_file() else RunFolder.open(path).settings()
    config = config_of(settings, path)
    numbers = [settings["seed"]] if "seed" in settings else range(config.seeds)
    name = path.stem if path.is_file() else RunFolder(path).name
    label = name if config.reward in name else f"{name}: {config.reward}"
    world, reward = find_world(config.world, trust=trust), make_reward(config.reward, trust=trust)
    return Found(path, label, config.world, tuple(f"seed {n}" for n in numbers), world, reward)
