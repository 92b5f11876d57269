"""What one page plays: a session for each agent shown, all on the same episode, with every frame to go back to."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ndigo.agents.agent import Agent
from ndigo.errors import NdigoError, unknown_name
from ndigo.storage.episodes import as_sent, pack_array
from ndigo.watching.recording import episode_key, meta
from ndigo.watching.session import Session

LAST_EPISODE = 2**31 - 1
MOST_PANES = 2
MOST_AGENTS = 8  # kept ready: an agent's weights, and its programs


@dataclass(frozen=True)
class Performer:
    """An agent that can be watched. `agent(seed, world)` loads it, and raises where its file is damaged.

    `agent(seed, world, step)` loads it as it was after one of `steps`.
    """

    label: str
    seeds: tuple[str, ...]  # a label for each
    worlds: tuple[str, ...]  # those it fits, its own first
    agent: Callable[..., Agent]
    steps: tuple[int, ...] = ()  # learner steps at which its first seed can be watched, the last its newest


@dataclass(frozen=True, eq=False)
class Company:
    """All agents that can be watched, and what a page shows at first."""

    performers: tuple[Performer, ...]
    titles: dict[str, str]  # of the worlds
    seed: int = 0  # of the episodes
    first_episode: int = 0
    compare: bool = False  # begin with two agents

    def catalogue(self) -> dict[str, Any]:
        """What a page has to know to offer the choice."""
        return {
            "agents": [
                {
                    "id": str(i),
                    "label": p.label,
                    "seeds": list(p.seeds),
                    "worlds": list(p.worlds),
                    "steps": list(p.steps),
                }
                for i, p in enumerate(self.performers)
            ],
            "worlds": [{"name": name, "title": title} for name, title in self.titles.items()],
            "first_episode": self.first_episode,
            "last_episode": LAST_EPISODE,
            "compare": self.compare,
        }

    @cached_property
    def agent(self) -> Callable[..., Agent]:
        """The agent of that number and seed in a world, and perhaps at a step; the latest are kept."""
        return lru_cache(MOST_AGENTS)(lambda number, *what: self.performers[number].agent(*what))


class Stage:
    """The sessions of one page. All methods take their time: call them off the event loop."""

    def __init__(self, company: Company):
        self.company = company
        self._frames: list[list[Session]] = []  # the sessions as they stood at each frame, newest last

    def answer(self, message: Any) -> dict[str, Any]:
        """The reply to a page's message; `NdigoError` where it asks for what cannot be."""
        if not isinstance(message, dict):
            raise NdigoError("a message must be an object")
        kind = message.get("type")
        if kind == "open":
            return {"type": "opened", "panes": self._open(message)}
        if not self._frames:
            raise NdigoError("no episode is open")
        if kind == "step":
            action = message.get("action")
            self._step(None if action is None else _whole("action", action))
        elif kind == "drop":
            row, col = _cell(message.get("cell"))
            self._drop(_whole("object", message.get("object")), row, col)
        elif kind == "rewind":
            self._rewind(_whole("t", message.get("t")))
        else:
            raise unknown_name("message", kind, ("open", "step", "drop", "rewind"))
        return {"type": "frames", "frames": [packed(session.frame()) for session in self._frames[-1]]}

    def _open(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        panes, world, moves = message.get("panes"), message.get("world"), message.get("moves") or []
        if not isinstance(panes, list) or not 1 <= len(panes) <= MOST_PANES or not isinstance(moves, list):
            raise NdigoError(f"a page shows 1 to {MOST_PANES} agents")
        episode = _whole("episode", message.get("episode"), LAST_EPISODE)
        key = episode_key(self.company.seed, episode)
        agents = [self._find(pane, world) for pane in panes]
        self._frames = [[Session(agent, key) for agent in agents]]
        for move in moves:  # what was done before a connection was lost
            if not isinstance(move, dict):
                raise NdigoError("a move must be an object")
            if "drop" in move:
                index, row, col = move["drop"]
                self._drop(_whole("object", index), _whole("row", row), _whole("column", col))
            else:
                self._step(None if move.get("action") is None else _whole("action", move["action"]))
        return [
            {
                "meta": meta(session.agent),
                "walls": pack_array(session.look.walls.astype(np.uint8)),
                "frame": packed(session.frame()),
            }
            for session in self._frames[-1]
        ]

    def _find(self, pane: Any, world: Any) -> Agent:
        if not isinstance(pane, dict):
            raise NdigoError("a pane must be an object")
        performers = self.company.performers
        index = str(pane.get("agent"))
        if not index.isdecimal() or int(index) >= len(performers):
            raise NdigoError(f"there is no agent {index!r}")
        performer = performers[int(index)]
        if world not in performer.worlds:
            raise unknown_name(f"world for {performer.label}", world, performer.worlds)
        seed = _whole("seed", pane.get("seed", 0), len(performer.seeds) - 1)
        step = pane.get("step")
        if step is None or (performer.steps and step == performer.steps[-1]):
            return self.company.agent(int(index), seed, world)
        if step not in performer.steps:
            raise NdigoError(f"{performer.label} has no checkpoint of step {step!r}")
        return self.company.agent(int(index), 0, world, step)

    def _step(self, action: int | None) -> None:
        sessions = self._copies()
        going_on = [session for session in sessions if not session.is_over]
        for session in going_on or sessions:  # one whose episode has ended waits for the other
            session.step(action)
        self._frames.append(sessions)

    def _drop(self, index: int, row: int, col: int) -> None:
        sessions = self._copies()
        for session in sessions:  # all of them or, where one cannot, none
            session.drop(index, row, col)
        self._frames[-1] = sessions

    def _rewind(self, t: int) -> None:
        if t >= len(self._frames):
            raise NdigoError(f"frame {t} is not there yet; the newest is {len(self._frames) - 1}")
        del self._frames[t + 1 :]

    def _copies(self) -> list[Session]:
        """The newest sessions, to go on with: a session never changes what it holds, only what it holds on to."""
        return [copy.copy(session) for session in self._frames[-1]]


def packed(frame: dict[str, Any]) -> dict[str, Any]:
    """A session's frame as JSON, in the types of a recording."""
    return {name: pack_array(as_sent(name, x)) if isinstance(x, np.ndarray) else _plain(x) for name, x in frame.items()}


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def _whole(name: str, value: Any, most: int = LAST_EPISODE) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise NdigoError(f"{name} {value!r}: must be a whole number from 0 to {most}")
    return value


def _cell(value: Any) -> Sequence[int]:
    if not isinstance(value, list) or len(value) != 2:
        raise NdigoError("a cell is a row and a column")
    return _whole("row", value[0]), _whole("column", value[1])
