"""What a uniform random walker sees, exactly: its Markov chain, in float64 and without sampling.

The state is the agent's cell; each step it takes one of five actions. An object at a known cell
blocks it (`fixed`); white noise lies uniformly in its room less the agent's cell and does not.
With p_t the distribution over cells and s(x) the chance that o_t shows the object from x,

    visit count = sum_t p_t . s                                      t = 0 .. T-1
    first visit = sum_t P(not seen in o_0 .. o_t)                    (T when never seen)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import astuple, dataclass

import numpy as np
from reference.maps import Cell, Map
from reference.simulator import MOVES, moved


@dataclass(frozen=True)
class Seen:
    count: float
    first: float
    chance: float  # to see it at all


def meets_fixed(map: Map, cells: Collection[Cell], num_steps: int = 400) -> Seen:
    """The walker and an object fixed at one of `cells`, each as likely."""
    seen = [astuple(_walk(map, {cell}, _shows(map, cell), num_steps)) for cell in cells]
    return Seen(*np.mean(seen, axis=0).tolist())


def meets_noise(map: Map, room: str, num_steps: int = 400) -> Seen:
    """The walker and white noise in `room`."""
    shown = np.array([noise_in_view(map, room, agent) for agent in sorted(map.free)])
    return _walk(map, set(), shown, num_steps)


def noise_in_view(map: Map, room: str, agent: Cell) -> float:
    """The chance that white noise in `room` is in the agent's view."""
    cells = set(map.rooms[room]) - {agent}
    return len(cells & map.in_view(agent)) / len(cells)


def _shows(map: Map, cell: Cell) -> np.ndarray:
    # In view is mutual: the object sees the agents that see it.
    return np.array([agent in map.in_view(cell) for agent in sorted(map.free)], float)


def _walk(map: Map, blocked: set[Cell], shown: np.ndarray, num_steps: int) -> Seen:
    number = {cell: i for i, cell in enumerate(sorted(map.free))}
    targets = np.array(
        [
            [number[n] if (n := moved(cell, move)) in map.free - blocked else number[cell] for move in MOVES]
            for cell in number
        ]
    )
    anywhere = np.zeros(len(number))
    anywhere[number[map.start]] = 1.0
    unseen = anywhere.copy()  # the same walkers, less those that have seen the object
    count = first = 0.0
    for _ in range(num_steps):
        count += float(anywhere @ shown)
        unseen = unseen * (1 - shown)
        first += float(unseen.sum())
        anywhere, unseen = _spread(anywhere, targets), _spread(unseen, targets)
    return Seen(count, first, 1 - float(unseen.sum()))


def _spread(p: np.ndarray, targets: np.ndarray) -> np.ndarray:
    shares = np.repeat(p / targets.shape[1], targets.shape[1])
    return np.bincount(targets.ravel(), weights=shares, minlength=len(p))
