"""The uniform random walker: the floor that every agent is compared with (the paper's Random)."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ndigo.agent import random_walker
from ndigo.evaluation.visits import Visits, in_view, visits
from ndigo.types import Truth
from ndigo.worlds import World
from ndigo.worlds.rollout import rollout


class Walk(eqx.Module):
    """One episode's frames o_0 ... o_{T-1}: where everything was, and what was in view.

    After the last frame of an episode that ends by itself the truth stays as it is, and nothing is in view.
    """

    truth: Truth | None  # each field with a leading T; None where the world has no truth
    is_visible: Bool[Array, "T N"]
    num_frames: Int[Array, ""]  # of the episode


def random_walk(world: World, key: Array, longest: int = 1) -> Walk:
    """One episode of actions drawn uniformly, each repeated for up to `longest` steps."""

    def is_last(state: Any) -> Any:
        return jnp.bool_(False) if world.ends is None else jnp.bool_(world.ends(state)[0])

    played = rollout(world, random_walker(world, longest), key, is_last)
    episode = jax.tree.map(lambda x_t: x_t[: world.num_steps], played)
    is_over = jnp.cumsum(episode.notes_t) - episode.notes_t > 0  # it stays in its last state
    return Walk(
        truth=episode.truth_t,
        is_visible=in_view(world.frame, episode.o_t) & ~is_over[:, None],
        num_frames=(~is_over).sum(),
    )


def visits_of_walks(world: World, key: Array, num: int, longest: int = 1) -> Visits:
    """The statistics of `num` walks, on the host; each field with a leading episode axis."""
    count = jax.jit(jax.vmap(lambda key: visits(random_walk(world, key, longest).is_visible)))
    return jax.device_get(count(jax.random.split(key, num)))
