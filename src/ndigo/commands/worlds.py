"""`ndigo worlds`: what worlds there are, and a picture of each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import jax
import tyro
from rich import box
from rich.table import Table

from ndigo.errors import NdigoError
from ndigo.gate import check_world, is_own
from ndigo.interop.finding import find_world
from ndigo.paper.experiments import EXPERIMENTS, Experiment
from ndigo.terminal.console import plain_console
from ndigo.terminal.options import Switch, check_seed, within
from ndigo.worlds import Object, World
from ndigo.worlds.render import AGENT_LABEL, legend, render_ansi


@dataclass(frozen=True)
class Arguments:
    """List the worlds, or draw one at the start of an episode."""

    name: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[WORLD]")] = None
    """A world (maze) or an experiment (exp5) to draw; none lists them all."""
    view: int = 5
    """Side of the agent's view, odd."""
    seed: int = 0
    """Where the objects are drawn."""
    json: Switch = False
    """Print the list as JSON, and nothing else."""


def run(args: Arguments) -> None:
    within("--view", args.view, 1, 99)
    check_seed(args.seed)
    console = plain_console()
    if args.json and args.name is not None:
        raise NdigoError(f"--json lists the worlds; leave out {args.name}, or --json")
    if args.json:
        print(json.dumps([_about(experiment, args.view) for experiment in EXPERIMENTS.values()], indent=1))
        return
    if args.name is None:
        console.print(_listing(args.view))
        return
    world = find_world(args.name, view=args.view)
    if is_own(args.name):
        check_world(world)
    if world.truth is None or world.grid is None:
        raise NdigoError(f"world {world.name!r} has no map to draw; only those made by grid_world have one")
    print(drawing(world, args.seed, colour=console.is_terminal and not console.no_color))


def drawing(world: World, seed: int, colour: bool) -> str:
    """The world at o_0, with the names of what is in it."""
    assert world.truth is not None
    assert world.grid is not None
    truth = world.truth(world.reset(jax.random.key(seed)))
    objects = zip(legend(world), world.grid.objects, strict=True)
    names = [f"{entry.label} {_described(o)}" for entry, o in objects]
    return "\n".join([render_ansi(world, truth, colour=colour), "", ", ".join([f"{AGENT_LABEL} agent", *names])])


def _listing(view: int) -> Table:
    table = Table("experiment", "world", "size", "rooms", "objects", "channels", box=box.SIMPLE_HEAD, pad_edge=False)
    table.columns[1].no_wrap = True
    for experiment in EXPERIMENTS.values():
        world = find_world(experiment.name, view=view)
        size, num_rooms, objects = "-", "-", ", ".join(world.objects)
        if (grid := world.grid) is not None:
            rows, cols = grid.layout.shape
            size, num_rooms = f"{rows}x{cols}", f"{len(grid.layout.rooms)}"
            objects = ", ".join(_described(o) for o in grid.objects)
        table.add_row(experiment.name, world.name, size, num_rooms, objects, f"{len(world.channels)}")
    return table


def _about(experiment: Experiment, view: int) -> dict[str, Any]:
    world = find_world(experiment.name, view=view)
    about = {"experiment": experiment.name, "world": world.name, "channels": [c.name for c in world.channels]}
    about |= {"objects": list(world.objects), "actions": list(world.actions), "steps": world.num_steps}
    if (grid := world.grid) is not None:
        about |= {"size": list(grid.layout.shape), "rooms": len(grid.layout.rooms)}
        about["objects"] = [{"name": o.name, "kind": o.kind} for o in grid.objects]
    return about


def _described(o: Object) -> str:
    """The name, with the kind where the name does not tell it."""
    kind = o.kind.replace("_", " ")
    return o.name if kind in o.name or o.name in kind else f"{o.name} ({kind})"
