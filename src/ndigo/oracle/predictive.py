"""Open-loop prediction: the exact p(o_{t+k} | h_t, a_t, ..., a_{t+k-1}), k = 1 ... K.

Blind, the agent does not know where it will be: an unseen object may block it. So x_{t+k} has a
distribution, and one table per object is carried,

    J_i[x, y] = p(x_{t+k} = x, y^i_{t+k} = y | h_t, a_t, ..., a_{t+k-1}).

A step from x towards the cell g, which belongs to at most one object's room, say that of j:

    J_j   splits exactly: the mass on y = g stays at x and is bumped, the rest goes to g
    J_i   of another object splits by the chance p(y^j = g | x) = J_j[x, g] / p(x)

The second line takes y^i and y^j as independent given x. `exactness.exact_horizon` says up to which k
that is so: it needs an agent that could have been held up by i, then by j, then come back to see i
(k >= 12 in every world of the paper, whose rewards need k <= 11).

The cells that K actions can lead to lie in a box: at most (v+1)(h+1) cells for v vertical and h
horizontal moves, v + h <= K. So J has M = floor(K/2 + 1) floor((K+1)/2 + 1) rows: 42 for K = 11.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ndigo.oracle.filter import Belief, Tables, cell_in_view
from ndigo.worlds import ACTIONS


class Box(eqx.Module):
    """The cells that the actions may lead to, row by row."""

    cells: Int[Array, " M"]  # flat; beyond the box's last row, cells that no mass ever reaches
    width: Int[Array, ""]


class Joint(eqx.Module):
    """p(x, y^i) for every object, over the agent's cell in the box and the object's states."""

    objects: tuple[Float[Array, "M D S"], ...]

    @property
    def agent(self) -> Float[Array, " M"]:
        """p(x), the same from every object's table."""
        return self.objects[0].sum(axis=(1, 2))


class Nats(eqx.Module):
    """-ln p of a frame, whole and channel by channel.

    `frame` is the joint -ln p(o). `channels` are the marginals -ln p(o^c), what the best model with
    independent channels pays; they add up to `frame` when the agent's future cell is certain, and to
    no less than it on average otherwise. `wall_cells` is what the walls cost if their V*V cells are
    independent too, each given its marginal.
    """

    frame: Float[Array, "*T"]
    channels: Float[Array, "*T C"]
    wall_cells: Float[Array, "*T"]

    def by_chain(self) -> Float[Array, "*T C"]:
        """Adds up to `frame`: each object's marginal, and for the walls what the objects do not tell of the frame."""
        objects = self.channels[..., 1:]
        return jnp.concatenate([(self.frame - objects.sum(axis=-1))[..., None], objects], axis=-1)

    def by_cell(self) -> Float[Array, "*T C"]:
        """What the best model pays whose likelihood takes the walls' cells, too, for independent."""
        return jnp.concatenate([self.wall_cells[..., None], self.channels[..., 1:]], axis=-1)

    def by_channel(self) -> Float[Array, "*T C"]:
        """What the best model with independent channels pays."""
        return self.channels


def start(tables: Tables, b_t: Belief, a: Int[Array, " K"]) -> tuple[Box, Joint]:
    """The box of the actions a_t ... a_{t+K-1} and, in it, what is known at time t."""
    K = a.shape[0]
    num_rows = (K // 2 + 1) * ((K + 1) // 2 + 1)
    up, right, left = ((a == ACTIONS.index(name)).sum() for name in ("up", "right", "left"))
    width = right + left + 1
    m = jnp.arange(num_rows)
    cells = b_t.agent + (m // width - up) * tables.stride + m % width - left
    box = Box(cells=jnp.clip(cells, 0, len(tables.walk) - 1), width=width)
    is_here = m == up * width + left
    return box, Joint(objects=tuple(is_here[:, None, None] * f for f in b_t.objects))


def advance(tables: Tables, box: Box, joint: Joint, a_t: Int[Array, ""]) -> Joint:
    """The tables one blind step later."""
    target = jnp.asarray(tables.walk)[box.cells, a_t]
    p_x = joint.agent
    hits = [m.here(target) * m.is_blocking for m in tables.motions]  # [M, 1, S]
    p_hit = [
        (J * hit).sum(axis=(1, 2)) / jnp.where(p_x > 0, p_x, 1) for J, hit in zip(joint.objects, hits, strict=True)
    ]
    p_blocked = jnp.stack(p_hit).sum(axis=0)

    # Row m moves to row m + shift, so row m receives from row m - shift.
    shift = jnp.stack([jnp.zeros_like(box.width), -box.width, box.width, 1, -1])[a_t]
    is_moving = (target != box.cells)[:, None, None]
    source = jnp.arange(len(box.cells)) - shift
    is_inside = ((source >= 0) & (source < len(box.cells)))[:, None, None]
    source = jnp.clip(source, 0, len(box.cells) - 1)

    moved = []
    for motion, J, hit, p in zip(tables.motions, joint.objects, hits, p_hit, strict=True):
        bumped = J * hit
        held = J * (p_blocked - p)[:, None, None]  # by another object
        going = J - bumped - held
        arriving = jnp.where(is_inside, (going * is_moving)[source], 0)
        moved.append(motion.move(held + going * ~is_moving + arriving, bumped, box.cells))
    return Joint(objects=tuple(moved))


def nats(tables: Tables, box: Box, joint: Joint, agent: Int[Array, ""], seen: Int[Array, " N"]) -> Nats:
    """What the frame costs that was seen from cell `agent` with the objects at view positions `seen`."""
    p_x = joint.agent
    has_walls = jnp.asarray(tables.wall_pattern)[box.cells] == jnp.asarray(tables.wall_pattern)[agent]
    per_row = []  # p(x, o^i) for each object
    for i, (motion, J) in enumerate(zip(tables.motions, joint.objects, strict=True)):
        is_there = motion.here(cell_in_view(tables, box.cells, seen[i]))
        is_hidden = 1 - jnp.asarray(tables.in_view[i])[box.cells][:, None]
        per_row.append((J * jnp.where(seen[i] < len(tables.offsets), is_there, is_hidden)).sum(axis=(1, 2)))
    given_x = jnp.stack(per_row) / jnp.where(p_x > 0, p_x, 1)
    channels = jnp.stack([(p_x * has_walls).sum(), *(p.sum() for p in per_row)])
    is_as_seen = jnp.asarray(tables.walls)[box.cells] == jnp.asarray(tables.walls)[agent]  # [M, VV]
    return Nats(
        frame=-jnp.log((p_x * has_walls * given_x.prod(axis=0)).sum()),
        channels=-jnp.log(channels),
        wall_cells=-jnp.log(jnp.where(is_as_seen, p_x[:, None], 0).sum(axis=0)).sum(),
    )


def views(tables: Tables, box: Box, joint: Joint) -> Float[Array, "N VV+1"]:
    """Each object's marginal distribution over the view's cells in reading order, then "absent"."""
    per_object = []
    for motion, J in zip(tables.motions, joint.objects, strict=True):
        in_view = motion.here(box.cells[:, None] + jnp.asarray(tables.offsets))[:, :, 0]  # [M, VV, S]
        p_view = jnp.einsum("mvs,ms->v", in_view, J.sum(axis=1), precision="highest")
        per_object.append(jnp.append(p_view, jnp.maximum(J.sum() - p_view.sum(), 0)))
    return jnp.stack(per_object)


def predict_views(tables: Tables, b_t: Belief, a: Int[Array, " K"]) -> Float[Array, "N VV+1"]:
    """Where each object will be seen, if at all, K steps ahead under the given actions."""
    box, joint = start(tables, b_t, a)
    joint = jax.lax.scan(lambda joint, a_t: (advance(tables, box, joint, a_t), None), joint, a)[0]
    return views(tables, box, joint)


def predict_nats(
    tables: Tables, b_t: Belief, a: Int[Array, " K"], agent: Int[Array, " K"], seen: Int[Array, "K N"]
) -> Nats:
    """L_{t+k|t} for k = 1 ... K: what the K frames after t cost, predicted from h_t and the actions alone."""
    box, joint = start(tables, b_t, a)

    def body(joint: Joint, x: tuple[Array, Array, Array]) -> tuple[Joint, Nats]:
        joint = advance(tables, box, joint, x[0])
        return joint, nats(tables, box, joint, *x[1:])

    return jax.lax.scan(body, joint, (a, agent, seen))[1]
