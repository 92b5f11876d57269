"""An experiment is data: a world, the rewards its table compares, and what its curve averages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jax

from ndigo.worlds import World, make_world


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    question: str  # what the paper asks with it
    world_name: str
    rewards: tuple[str, ...]  # the agents it compares, in the paper's order
    discovers: tuple[str, ...]  # the objects whose discovery loss the paper's curve averages

    @cached_property
    def world(self) -> World:
        """Built when first asked for, and kept."""
        # The first to ask may be a function that JAX is tracing; its tracers must not be kept.
        with jax.ensure_compile_time_eval():
            return make_world(self.world_name)
