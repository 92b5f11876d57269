"""Episodes of the reference simulator, recorded with every random word and action that made them.

A uniform walker rarely leaves the first rooms. So every other episode is a chaser's: it walks
shortest paths to one object after another and bumps into them, with a random action now and then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from reference.maps import Cell, Map, distances
from reference.simulator import MOVES, SIMULATORS, Simulator, moved

NUM_EPISODES, NUM_STEPS = 12, 400
RANDOM_SHARE = 0.1  # of a chaser's actions
CHASE_STEPS = 200  # for one object; the maze's last is about 100 away


@dataclass(frozen=True)
class Episodes:
    """B episodes of T steps; what is seen has T + 1 frames."""

    reset_words: np.ndarray  # [B, W0]
    step_words: np.ndarray  # [B, T, W]
    actions: np.ndarray  # [B, T]
    agent: np.ndarray  # [B, T+1, 2]
    objects: np.ndarray  # [B, T+1, N, 2]
    observations: np.ndarray  # [B, T+1, V, V, C]


@cache
def recorded(experiment: str, view: int = 5, num_episodes: int = NUM_EPISODES) -> Episodes:
    """Episodes of one experiment: walkers' with even numbers, chasers' with odd ones."""
    simulator = SIMULATORS[experiment]()
    simulator.view = view
    # Each object is the first prey of some chaser.
    prey = [i // 2 % len(simulator.things) if i % 2 else None for i in range(num_episodes)]
    episodes = [_record(simulator, np.random.default_rng(i), first) for i, first in enumerate(prey)]
    return Episodes(*(np.stack(parts) for parts in zip(*episodes, strict=True)))


def _record(simulator: Simulator, rng: np.random.Generator, first_prey: int | None) -> tuple[np.ndarray, ...]:
    reset_words = rng.integers(2**32, size=simulator.num_reset_words, dtype=np.uint32)
    step_words = rng.integers(2**32, size=(NUM_STEPS, simulator.num_step_words), dtype=np.uint32)
    actions = rng.integers(len(MOVES), size=NUM_STEPS)
    is_random = rng.random(NUM_STEPS) < (1.0 if first_prey is None else RANDOM_SHARE)
    prey = [first_prey, *rng.integers(len(simulator.things), size=NUM_STEPS // CHASE_STEPS)]
    way = _Way(simulator.map)

    simulator.reset(reset_words.tolist())
    frames = [_frame(simulator)]
    for t in range(NUM_STEPS):
        if not is_random[t]:
            actions[t] = way.action(simulator, simulator.things[prey[t // CHASE_STEPS]].cell)
        simulator.step(step_words[t].tolist(), int(actions[t]))
        frames.append(_frame(simulator))
    return reset_words, step_words, actions, *(np.array(part) for part in zip(*frames, strict=True))


def _frame(simulator: Simulator) -> tuple[Cell, list[Cell], np.ndarray]:
    return simulator.agent, [thing.cell for thing in simulator.things], simulator.observe()


class _Way:
    """Shortest paths on one map around the fixed objects; whoever follows one bumps into its goal."""

    def __init__(self, map: Map):
        self.steps_to = cache(lambda goal, obstacles: distances(map.free - obstacles, goal))

    def action(self, simulator: Simulator, goal: Cell) -> int:
        obstacles = frozenset(t.cell for t in simulator.things if t.kind == "fixed") - {goal}
        steps = self.steps_to(goal, obstacles)
        return min(range(len(MOVES)), key=lambda a: steps.get(moved(simulator.agent, MOVES[a]), len(steps)))
