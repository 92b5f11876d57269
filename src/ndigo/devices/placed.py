"""How a run's arrays lie on the mesh, and in what order they are saved: the same on every mesh.

A replay that is split into parts lies as [S, rounds, rows of a round, ...], its last axis over `data`. A round's rows
stand in the order of the actors, however many parts these are in; so the saved ring [S, rows, ...] is any mesh's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from ndigo.agent import Ring
from ndigo.devices.mesh import BY_ACTOR, BY_BLOCK, BY_SEED, over_devices, parts_of
from ndigo.storage.checkpoint import named_arrays, named_leaves
from ndigo.storage.parts import Share, piece_key

RING, CROWD = ".rows.windows", ".crowd"  # how the names of a state's arrays begin


@dataclass(frozen=True)
class Placed:
    """A mesh, or None for one device; and how many rows one part adds to its replay in a round."""

    mesh: Mesh | None
    block: int

    @property
    def is_split(self) -> bool:
        return parts_of(self.mesh).num > 1

    @property
    def rows(self) -> Any:
        """Where the replay lies."""
        return Ring(windows=BY_BLOCK, num_added=BY_SEED) if self.is_split else BY_SEED  # type: ignore[arg-type]

    def __call__(self, function: Callable[..., Any], takes: Any, gives: Any) -> Callable[..., Any]:
        """`over_devices` of a function of one device, which is handed its part of the replay as a ring of its own."""

        def on_device(*args: Any) -> Any:
            return _with_rows(self._as_blocks, function(*_with_rows(self._as_ring, args)))

        return over_devices(self.mesh, on_device if self.is_split else function, takes, gives)

    def _as_ring(self, ring: Ring) -> Ring:
        windows = jax.tree.map(lambda x: lax.collapse(x, 1, 3), ring.windows)
        return Ring(windows=windows, num_added=ring.num_added // parts_of(self.mesh).num)

    def _as_blocks(self, ring: Ring) -> Ring:
        windows = jax.tree.map(lambda x: x.reshape(in_blocks(x.shape, self.block)), ring.windows)
        return Ring(windows=windows, num_added=ring.num_added * parts_of(self.mesh).num)

    def to_save(self, state: Any) -> dict[str, np.ndarray] | Share:
        """Copies of the state's arrays as they are saved; of several processes, what this one's devices hold."""
        if jax.process_count() == 1:
            return {name: x.reshape(self._saved(name, x.shape)) for name, x in named_arrays(state).items()}
        named = named_leaves(state)
        pieces = {
            piece_key(name, [axis.start or 0 for axis in shard.index]): np.array(shard.data, order="C")
            for name, leaf in named.items()
            for shard in leaf.addressable_shards
            if shard.replica_id == 0
        }
        shapes = {name: (leaf.shape, self._saved(name, leaf.shape)) for name, leaf in named.items()}
        return Share(jax.process_index(), jax.process_count(), pieces, shapes)

    def as_it_lies(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Saved arrays in the shapes that they have on this mesh."""
        if not self.is_split:
            return arrays
        block = self.block * parts_of(self.mesh).num
        return {
            name: x.reshape(in_blocks(x.shape, block)) if name.startswith(RING) else x for name, x in arrays.items()
        }

    def put(self, name: str, array: np.ndarray) -> jax.Array:
        """An array onto the devices: each gets its own share and no more."""
        if self.mesh is None:
            return jax.device_put(array, may_alias=False)
        there = NamedSharding(self.mesh, self._spec(name))
        return jax.make_array_from_callback(array.shape, there, lambda index: array[index])

    def _saved(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (shape[0], shape[1] * shape[2], *shape[3:]) if self.is_split and name.startswith(RING) else shape

    def _spec(self, name: str) -> P:
        if name.startswith(RING) and self.is_split:
            return BY_BLOCK
        return BY_ACTOR if name.startswith(CROWD) else BY_SEED


def in_blocks(shape: tuple[int, ...], block: int) -> tuple[int, ...]:
    """[S, rows, ...] as [S, rounds, rows of a round, ...]."""
    return (shape[0], shape[1] // block, block, *shape[2:])


def _with_rows(change: Callable[[Ring], Ring], tree: Any) -> Any:
    return jax.tree.map(lambda x: change(x) if isinstance(x, Ring) else x, tree, is_leaf=lambda x: isinstance(x, Ring))
