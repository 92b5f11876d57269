"""PPO in one jit, after PureJaxRL, with pay for curiosity beside the task's reward.

The value has two heads. The task's return ends where the task does; the pay's goes on in the next episode (RND), so
that to reach the goal costs nobody the pay that would have come after it:

    delta_task = r_t + gamma (1 - terminal) V_task(o_last) - V_task(o_t)       traces end with every episode
    delta_pay  = w (n_t - mean n) + gamma V_pay(o_{t+1}) - V_pay(o_t)          n_t in nats, over all episodes
    A          = A_task + A_pay                                                normalised in each minibatch

The mean is that of the rollout: in a stream without end a constant changes no advantage. Else the value would have to
follow the hundred nats per step that a new world model pays PE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ndigo.curiosity import PureCuriosity
from ndigo.frames import Tiles
from ndigo.worlds import World


class Settings(NamedTuple):
    num_envs: int = 1024
    num_steps: int = 128  # of a rollout
    epochs: int = 4  # 0: no update at all
    minibatches: int = 8
    rate: float = 5e-4
    gamma: float = 0.99
    lambda_: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    weight: float = 0.01  # of a nat, where the task pays 1
    hidden: int = 256
    embedding: int = 16  # numbers for each kind of tile
    pays_within: bool = False  # True: step by step, inside the scan over steps, which a GPU takes longer for


class Carry(NamedTuple):
    """All of a run, between rollouts."""

    network: Any
    moments: Any  # Adam's
    curiosity: Any  # its weights, optimiser and replay; None where nothing pays
    flights: Any  # what its streams carry
    state: Any  # of the worlds [N]
    o_t: Any  # what they show
    t: Int[Array, " N"]  # steps of their episodes so far; the first ones begin as if some were taken
    got: Bool[Array, "N E"]  # events that happened in their episodes


class Steps(NamedTuple):
    """A rollout, [T, N, ...]."""

    o_t: Any
    a_t: Int[Array, "T N"]
    o_last: Any  # the frame that the action led to
    o_tp1: Any  # the same, or the first of the next episode
    r_t: Float[Array, "T N"]  # the task's
    nats: Float[Array, "T N"]
    is_last: Bool[Array, "T N"]
    is_terminal: Bool[Array, "T N"]
    got: Bool[Array, "T N E"]


def looked_at(world: World, o_t: Any) -> Array:
    """The frame as the network reads it: kinds of tiles by number, or bits in a row."""
    if isinstance(world.frame, Tiles):
        return world.frame.class_of(o_t).astype(jnp.uint8)
    return o_t.reshape(*o_t.shape[:-3], -1)


def init_network(key: Array, world: World, settings: Settings) -> dict[str, Any]:
    keys, frame = jax.random.split(key, 5), world.frame
    size = frame.num_cells * settings.embedding if isinstance(frame, Tiles) else frame.spec.size

    def layer(key: Array, num_in: int, num_out: int, gain: float) -> tuple[Array, Array]:
        return jax.nn.initializers.orthogonal(gain)(key, (num_in, num_out)), jnp.zeros(num_out)

    network: dict[str, Any] = {
        "first": layer(keys[1], size, settings.hidden, 2**0.5),
        "second": layer(keys[2], settings.hidden, settings.hidden, 2**0.5),
        "policy": layer(keys[3], settings.hidden, world.num_actions, 0.01),
        "value": layer(keys[4], settings.hidden, 2, 1.0),
    }
    if isinstance(frame, Tiles):
        network["rows"] = jax.random.normal(keys[0], (frame.num_classes, settings.embedding))
    return network


def act(network: dict[str, Any], x: Array) -> tuple[Float[Array, "... A"], Float[Array, "... 2"]]:
    """Log-probabilities of the actions, and the values of the task and of the pay."""

    def dense(name: str, x: Array) -> Array:
        return x @ network[name][0] + network[name][1]

    if "rows" in network:  # a product with ones, whose gradient is one too
        x = jax.nn.one_hot(x, len(network["rows"])) @ network["rows"]
        x = x.reshape(*x.shape[:-2], -1)
    x = jax.nn.relu(dense("second", jax.nn.relu(dense("first", x.astype(jnp.float32)))))
    return jax.nn.log_softmax(dense("policy", x)), dense("value", x)


def advantages(
    settings: Settings, steps: Steps, v: Float[Array, "T N 2"], v_last: Array, v_tp1: Array
) -> Float[Array, "T N 2"]:
    """Of the task and of the pay, by the equations above."""
    task = steps.r_t + settings.gamma * ~steps.is_terminal * v_last[..., 0] - v[..., 0]
    pay = settings.weight * (steps.nats - steps.nats.mean()) + settings.gamma * v_tp1[..., 1] - v[..., 1]
    goes_on = jnp.stack([~steps.is_last, jnp.ones_like(steps.is_last)], -1)

    def back(A: Array, x: tuple[Array, Array]) -> tuple[Array, Array]:
        A = x[0] + settings.gamma * settings.lambda_ * x[1] * A
        return A, A

    return lax.scan(back, jnp.zeros_like(v[0]), (jnp.stack([task, pay], -1), goes_on), reverse=True)[1]


def loss(network: Any, settings: Settings, x: Array, a_t: Array, log_p: Array, A: Array, target: Array) -> Array:
    log_ps, v = act(network, x)
    ratio = jnp.exp(jnp.take_along_axis(log_ps, a_t[:, None], -1)[:, 0] - log_p)
    A = (A - A.mean()) / (A.std() + 1e-8)
    gain = jnp.minimum(ratio * A, jnp.clip(ratio, 1 - settings.clip, 1 + settings.clip) * A)
    entropy = -(jnp.exp(log_ps) * log_ps).sum(-1)
    return (0.25 * ((v - target) ** 2).sum(-1) - gain - settings.entropy * entropy).mean()


def make_adam(settings: Settings) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(0.5), optax.adam(settings.rate, eps=1e-5))


def update(key: Array, settings: Settings, world: World, network: Any, moments: Any, steps: Steps) -> tuple[Any, Any]:
    """Some epochs of minibatches of the rollout."""
    x = looked_at(world, steps.o_t)
    (log_ps, v), v_last = act(network, x), act(network, looked_at(world, steps.o_last))[1]
    v_end = act(network, looked_at(world, jax.tree.map(lambda o: o[-1:], steps.o_tp1)))[1]
    A = advantages(settings, steps, v, v_last, jnp.concatenate([v[1:], v_end]))
    log_p = jnp.take_along_axis(log_ps, steps.a_t[..., None], -1)[..., 0]
    whole = x, steps.a_t, log_p, A.sum(-1), A + v
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), whole)
    adam, size = make_adam(settings), steps.a_t.size

    def minibatch(carry: Any, rows: Array) -> tuple[Any, None]:
        network, moments = carry
        grads = jax.grad(loss)(network, settings, *jax.tree.map(lambda leaf: leaf[rows], flat))
        changes, moments = adam.update(grads, moments)
        return (optax.apply_updates(network, changes), moments), None

    def epoch(carry: Any, key: Array) -> tuple[Any, None]:
        rows = jax.random.permutation(key, size).reshape(settings.minibatches, -1)
        return lax.scan(minibatch, carry, rows)

    return lax.scan(epoch, (network, moments), jax.random.split(key, settings.epochs))[0]


def begin(key: Array, world: World, curiosity: PureCuriosity | None, settings: Settings) -> Carry:
    N, keys = settings.num_envs, jax.random.split(key, 4)
    state = jax.vmap(world.reset)(jax.random.split(keys[0], N))
    o_t, network = jax.vmap(world.observe)(state), init_network(keys[1], world, settings)
    own = flights = None
    if curiosity is not None:
        own, is_first = curiosity.init(keys[2], N), jnp.ones(N, bool)
        flights, _, _ = curiosity.pay(own.params, curiosity.start(N), jnp.zeros(N, jnp.int32), o_t, is_first)
    return Carry(
        network=network,
        moments=make_adam(settings).init(network),
        curiosity=own,
        flights=flights,
        state=state,
        o_t=o_t,
        t=jax.random.randint(keys[3], (N,), 0, world.num_steps),  # else all episodes would be cut in one step
        got=jnp.zeros((N, len(world.events)), bool),
    )


def make_play(
    world: World, curiosity: PureCuriosity | None, N: int, carry: Carry, key_starts: Array
) -> Callable[[Carry, Array], tuple[Carry, Steps]]:
    """One step of all worlds. One that ends begins anew, in one of N states that were drawn for this rollout."""
    starts = jax.vmap(world.reset)(jax.random.split(key_starts, N))
    ends = world.ends or (lambda _: (jnp.bool_(False), jnp.bool_(False)))
    r_of = world.task_reward or (lambda _: jnp.float32(0))
    happens = world.happens or (lambda _: jnp.zeros(0, bool))

    def chosen(is_new: Array, new: Any, old: Any) -> Any:
        return jax.tree.map(lambda x, y: jnp.where(is_new.reshape(-1, *(1,) * (x.ndim - 1)), x, y), new, old)

    def play(carry: Carry, key: Array) -> tuple[Carry, Steps]:
        key_act, key_start, key_step = jax.random.split(key, 3)
        a_t = jax.random.categorical(key_act, act(carry.network, looked_at(world, carry.o_t))[0])
        moved = jax.vmap(world.step)(jax.random.split(key_step, N), carry.state, a_t)
        o_last, got = jax.vmap(world.observe)(moved), carry.got | jax.vmap(happens)(moved)
        is_last, is_terminal = jax.vmap(ends)(moved)
        is_last = is_last | (carry.t + 1 >= world.num_steps)
        start = jax.tree.map(lambda x: x[jax.random.randint(key_start, (N,), 0, N)], starts)
        state = chosen(is_last, start, moved)
        o_tp1 = chosen(is_last, jax.vmap(world.observe)(start), o_last)
        flights, nats = carry.flights, jnp.zeros(N)
        if curiosity is not None:  # the weights from before `learn` pay
            flights, nats, _ = curiosity.pay(carry.curiosity.params, flights, a_t, o_tp1, is_last, o_last)
        after = carry._replace(
            flights=flights,
            state=state,
            o_t=o_tp1,
            t=jnp.where(is_last, 0, carry.t + 1),
            got=got & ~is_last[:, None],
        )
        steps = Steps(
            o_t=carry.o_t,
            a_t=a_t,
            o_last=o_last,
            o_tp1=o_tp1,
            r_t=jax.vmap(r_of)(moved),
            nats=nats,
            is_last=is_last,
            is_terminal=is_terminal,
            got=got,
        )
        return after, steps

    return play


def rollout(
    key: Array, carry: Carry, world: World, curiosity: PureCuriosity | None, settings: Settings
) -> tuple[Carry, dict[str, Array]]:
    """One rollout and what is learned of it; numbers of the episodes that ended in it, and nats per step."""
    keys = jax.random.split(key, 4)
    play = make_play(world, curiosity if settings.pays_within else None, settings.num_envs, carry, keys[0])
    carry, steps = lax.scan(play, carry, jax.random.split(keys[1], settings.num_steps))
    stream = steps.a_t, steps.o_tp1, steps.is_last, steps.o_last
    if curiosity is not None and not settings.pays_within:
        flights, nats, _ = curiosity.pay_rollout(carry.curiosity.params, carry.flights, *stream)
        carry, steps = carry._replace(flights=flights), steps._replace(nats=nats)
    numbers = {
        "episodes": steps.is_last.sum(),
        "solved": (steps.is_last & (steps.r_t > 0)).sum(),
        **{name: (steps.is_last & steps.got[..., i]).sum() for i, name in enumerate(world.events)},
        "nats": steps.nats.mean(),
    }
    if settings.epochs:
        network, moments = update(keys[2], settings, world, carry.network, carry.moments, steps)
        carry = carry._replace(network=network, moments=moments)
    if curiosity is not None:
        own, learned = curiosity.learn(keys[3], carry.curiosity, *stream)
        carry = carry._replace(curiosity=own)
        numbers["model_loss"] = learned.model_loss_c.sum(-1).mean() if learned else jnp.float32(0)
    return carry, numbers
