"""The record every contender fills in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# Plays every copy for a while from a seed, blocks until done, and returns how many steps it took.
Run = Callable[[int], int]


@dataclass(frozen=True)
class Contender:
    title: str
    shows: str  # what a step computes for the agent to see
    moves: str  # what else changes in a step
    resets: str  # what of resetting is in the timing
    start: Callable[[int], Run]  # number of copies -> run
    requirements: tuple[str, ...] = ()  # none: runs in this project's own environment
    copies: tuple[int, ...] | None = None  # the only counts it makes sense at; None: every count
