"""`ndigo play`: a person walks a world, seeing what the agent sees; a trained agent may tell what it would believe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import jax
import numpy as np
import tyro

from ndigo.agents.agent import Agent
from ndigo.api import load_trained
from ndigo.errors import NdigoError
from ndigo.evaluation.visits import in_view
from ndigo.gate import check_world, is_own
from ndigo.interop.finding import find_world
from ndigo.report.numbers import how_many
from ndigo.terminal.console import plain_console
from ndigo.terminal.keyboard import keys
from ndigo.terminal.options import Trust, check_seed, within
from ndigo.terminal.screen import beside, screen
from ndigo.watching.belief_text import belief_ansi
from ndigo.worlds import World
from ndigo.worlds.render import legend, render_ansi

MOVES = {"w": "up", "s": "down", "d": "right", "a": "left", "space": "stay", ".": "stay"}
HELP = "arrows walk    space stay\nr again        m map on/off\nq quit"
LEAST_CHANCE = 1e-9  # a loss of 20 nats and not of infinitely many


@dataclass(frozen=True)
class Arguments:
    """Walk a world with the arrow keys, the agent's view beside the map."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="WORLD")]
    """An experiment (exp1) or a world (maze)."""
    agent: Path | None = None
    """A run's folder or an agent's file: where it would believe each object to be, seeing what you see."""
    blind: bool = False
    """Start with the map hidden: play with what the agent has."""
    view: int = 5
    """Side of the agent's view, odd."""
    steps: int = 400
    """Steps in an episode."""
    seed: int = 0
    """Where the objects are drawn; `r` goes on to the next episode of the same seed."""
    trust: Trust = ()
    """A module of yours that may be run to find a world or reward that the agent names; repeat it for another."""


class Game:
    """One person's episodes in a world, what has been seen of each object in this one, and what an agent believes."""

    def __init__(self, world: World, seed: int, title: str, agent: Agent | None = None):
        assert world.truth is not None
        self.world, self.title, self.agent = world, title, agent
        self.belief: np.ndarray | None = None  # [N, rows, columns]
        self._key = jax.random.key(seed)
        self._reset, self._step = jax.jit(world.reset), jax.jit(world.step)
        truth, observe = world.truth, world.observe
        self._look = jax.jit(lambda state: (truth(state), in_view(world.frame, observe(state)), observe(state)))
        self.restart()

    def restart(self) -> None:
        self.t = 0
        self.count = [0] * len(self.world.objects)
        self.first: list[int | None] = [None] * len(self.world.objects)
        self._memory = None if self.agent is None else self.agent.start()
        self._arrive(self._reset(self._next_key()))

    def act(self, action: str) -> None:
        """Takes the action, unless the episode is over."""
        if not self.is_over:
            self.t += 1
            a_t = self.world.actions.index(action)
            if self._memory is not None:  # the person's action, not the agent's own
                self._memory = self._memory.after(a_t)
            self._arrive(self._step(self._next_key(), self._state, a_t))

    @property
    def is_over(self) -> bool:
        return self.t == self.world.num_steps

    def _next_key(self) -> jax.Array:
        self._key, key = jax.random.split(self._key)
        return key

    def _arrive(self, state) -> None:
        self._state = state
        self.truth, is_visible, o_t = jax.device_get(self._look(state))
        self.is_visible = is_visible.tolist()
        if self.agent is not None and self._memory is not None:
            _, self._memory = self.agent.step(o_t, self._memory)
            self.belief = self.agent.believe(self._memory)
        if self.is_over:
            return  # the last frame has no step of its own: visits count o_0 ... o_{T-1}
        for i, seen in enumerate(self.is_visible):
            self.count[i] += seen
            if seen and self.first[i] is None:
                self.first[i] = self.t

    def loss(self, i: int) -> float | None:
        """-ln of the chance that the agent gives the i-th object's own cell; None without an agent."""
        if self.belief is None:
            return None
        row, col = np.asarray(self.truth.objects[i]).tolist()
        return float(-np.log(max(self.belief[i, row, col], LEAST_CHANCE)))


def run(args: Arguments) -> None:
    within("--view", args.view, 1, 99)
    within("--steps", args.steps, 1, 1_000_000)
    check_seed(args.seed)
    world = find_world(args.name, view=args.view, num_steps=args.steps)
    if is_own(args.name):
        check_world(world)
    if world.truth is None or world.grid is None:
        raise NdigoError(f"world {world.name!r} has no map to draw; play needs one made by grid_world")
    agent = None if args.agent is None else _agent(args.agent, world, args.name, args.trust)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NdigoError("play needs a terminal for its keys and its screen; `ndigo walk` runs without one")
    print(f"{args.name}: compiling ...", flush=True)
    game, is_map_shown = Game(world, args.seed, args.name, agent), not args.blind
    colour = not plain_console().no_color
    with screen() as draw, keys() as next_key:
        while True:
            draw(picture(game, is_map_shown, colour))
            key = next_key()
            if key in ("q", "escape"):
                break
            if key == "r":
                game.restart()
            elif key == "m":
                is_map_shown = not is_map_shown
            elif (action := MOVES.get(key, key)) in world.actions:
                game.act(action)
    print(_summary(game))


def _agent(path: Path, world: World, name: str, trust: Sequence[str]) -> Agent:
    """The agent of that file; an error for one of another world, or one that nobody can ask what it believes."""
    agent = load_trained(path, trust=trust).agent(0)
    if agent.world.name != world.name or agent.world.frame != world.frame:
        was = agent.about.get("world", agent.world.name)
        raise NdigoError(f"--agent {path} was trained in {was} with a view of {agent.world.shape[0]}, not in {name}")
    agent.believe(agent.start())
    return agent


def picture(game: Game, is_map_shown: bool, colour: bool = True) -> str:
    """The whole screen: the map, and beside it the view, the agent's belief, what is in view, and the keys.

    A belief is nothing but its colours, and has them always.
    """
    world = game.world
    view = render_ansi(world, game.truth, show_map=False, colour=colour)
    if game.belief is not None:
        believed = f"it believes\n{belief_ansi(world, game.truth, game.belief)}"
        width = max(2 * world.shape[0], len("you see"))
        blank = " " * (width - 2 * world.shape[0])
        seen = [f"{'you see':<{width}}", *(f"{line}{blank}" for line in view.split("\n"))]
        view = beside("\n".join(seen), believed, width)
    panel = "\n".join(
        [
            f"step {game.t} of {world.num_steps}" + (", over" if game.is_over else ""),
            "",
            view,
            "",
            *_objects(game),
            "",
            HELP,
        ]
    )
    if is_map_shown:
        assert world.map_shape is not None
        panel = beside(render_ansi(world, game.truth, colour=colour), panel, width=2 * world.map_shape[1])
    return f"{game.title}\n{panel}"


def _objects(game: Game) -> list[str]:
    width = max(map(len, game.world.objects))
    losses = [game.loss(i) for i in range(len(game.count))]
    return [
        f"{entry.label:<2} {entry.name:<{width}} {'in view' if is_visible else '':<7} seen {count}"
        + ("" if loss is None else f"{'':{3 - len(str(count))}} {loss:.1f} nats")
        for entry, is_visible, count, loss in zip(legend(game.world), game.is_visible, game.count, losses, strict=True)
    ]


def _summary(game: Game) -> str:
    seen = [
        f"{name} not seen" if first is None else f"{name} in view for {how_many(count, 'step')}, first at {first}"
        for name, count, first in zip(game.world.objects, game.count, game.first, strict=True)
    ]
    return f"{game.title}, {how_many(game.t, 'step')}: {'; '.join(seen)}"
