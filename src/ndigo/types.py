"""Records that cross folders, with their axes written once.

Axes: T time, K ahead, B batch, N objects, V view, C channels, D belief, A actions.
"""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Int


class Truth(eqx.Module):
    """Where everything is. For evaluation only: no agent, model or reward may read it."""

    agent: Int[Array, " 2"]  # (row, col)
    objects: Int[Array, "N 2"]  # (row, col) of each object, in the experiment's order
    agent_room: Int[Array, ""]  # index into the world's rooms; -1 in a door or corridor
    object_rooms: Int[Array, " N"]
