"""NDIGO in one file: the reading edition of the library, top to bottom.

    python examples/ndigo_in_one_file.py        # half a minute: finds the light behind three doors, then rests

An agent walks through a world that it sees only in part, and nobody rewards it. Its world model keeps a belief b_t of
all it has seen, and predicts the frames to come. NDIGO pays it for each frame that made a later one easier to predict:

    r_{t+H-1} = L_{t+H|t-1} - L_{t+H|t},      L_{t+k|t} = -ln p(o_{t+k} | b_t, a_t ... a_{t+k-1})

Noise cancels, since it is as hard to predict after a frame as before it. Worlds are the library's; the rest is here:
networks, world model, reward, agent, probe, the joint update, episodes, replay and the loop. One seed, float32, plain
JAX. `tests/examples/test_ndigo_in_one_file.py` holds loss and gradients equal to the library's.

Axes: T steps of a window, K steps ahead, B windows of a batch, D units of a belief, A actions, N objects.
Names: `o_t` frames, `a_t` actions, `a_tm1` the actions before them, `b_t` beliefs, `h_t` states of the agent's network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from custom_world import world as three_doors
from jax import lax, random

from ndigo import World

Tree = Any  # dicts of arrays


@dataclass(frozen=True)
class Settings:
    """What the paper's appendix lists, made small enough for a laptop."""

    horizon: int = 4  # H of NDIGO-H
    num_ahead: int = 5  # K, at least H + 1
    belief_size: int = 64  # D, of the belief and of the agent's state
    num_filters: int = 8
    num_features: int = 64
    num_hidden: int = 64
    window: int = 100  # T; an episode is a whole number of windows
    batch: int = 16  # B
    actors: int = 16
    updates_per_round: int = 32
    replay_windows: int = 4096
    target_period: int = 100
    model_rate: float = 1e-3
    agent_rate: float = 3e-4
    probe_rate: float = 1e-3
    gamma: float = 0.99
    lambda_: float = 0.97
    longest_stretch: int = 100


# -- networks --------------------------------------------------------------------------------------------------------
def init_linear(key, num_inputs, num_outputs, gain=1.0) -> Tree:
    weight = random.normal(key, (num_inputs, num_outputs)) * gain / num_inputs**0.5
    return {"weight": weight, "bias": jnp.zeros(num_outputs)}


def linear(p, x):
    return x @ p["weight"] + p["bias"]


def init_mlp(key, num_inputs, num_hidden, num_outputs) -> Tree:
    keys = random.split(key)
    hidden = init_linear(keys[0], num_inputs, num_hidden, 2**0.5)
    return {"hidden": hidden, "output": init_linear(keys[1], num_hidden, num_outputs, 0.1)}


def mlp(p, x):
    return linear(p["output"], jax.nn.relu(linear(p["hidden"], x)))


def init_gru(key, size):
    orthogonal = jax.nn.initializers.orthogonal()
    return jnp.concatenate([orthogonal(k, (size, size)) for k in random.split(key, 3)], axis=1)


def gru(weight, x, h):
    """One step; `x` is the input's share of the three gates, [..., 3 D]."""
    x_r, x_u, x_n = jnp.split(x, 3, axis=-1)
    h_r, h_u, h_n = jnp.split(h @ weight, 3, axis=-1)
    r, u = jax.nn.sigmoid(x_r + h_r), jax.nn.sigmoid(x_u + h_u)
    n = jnp.tanh(x_n + r * h_n)
    return u * h + (1 - u) * n


def init_core(key, world: World, s: Settings) -> Tree:
    """The network that makes the belief, and another the agent's state: h_t = GRU(CNN(o_t), a_{t-1}, h_{t-1})."""
    (V, _, C), F, D, A = world.shape, s.num_filters, s.belief_size, world.num_actions
    keys = random.split(key, 6)
    return {
        "conv1": init_linear(keys[0], 9 * C, F, 2**0.5),
        "conv2": init_linear(keys[1], 9 * F, F, 2**0.5),
        "dense": init_linear(keys[2], ((V + 1) // 2) ** 2 * F, s.num_features, 2**0.5),
        "from_features": init_linear(keys[3], s.num_features, 3 * D),
        "from_action": 0.5 * random.normal(keys[4], (A, 3 * D)),
        "gru": init_gru(keys[5], D),
    }


def encode(p, o_t):
    """z_t: 3x3 filters, 3x3 filters with stride 2, a dense layer; all ReLU."""
    x = o_t.reshape(-1, *o_t.shape[-3:]).astype(jnp.float32)
    for layer, stride in ((p["conv1"], 1), (p["conv2"], 2)):
        kernel = layer["weight"].reshape(3, 3, x.shape[-1], -1)
        names, padding = ("NHWC", "HWIO", "NHWC"), [(1, 1), (1, 1)]
        x = lax.conv_general_dilated(x, kernel, (stride, stride), padding, dimension_numbers=names) + layer["bias"]
        x = jax.nn.relu(x)
    return jax.nn.relu(linear(p["dense"], x.reshape(*o_t.shape[:-3], -1)))


def core_step(p, o_t, a_tm1, h_tm1):
    return gru(p["gru"], linear(p["from_features"], encode(p, o_t)) + p["from_action"][a_tm1], h_tm1)


def core_unroll(p, o_t, a_tm1, h):
    """The state after each frame of a window, from the state before its first."""
    x_t = linear(p["from_features"], encode(p, o_t)) + p["from_action"][a_tm1]

    def step(h, x):
        h = gru(p["gru"], x, h)
        return h, h

    return lax.scan(step, h, x_t)[1]


# -- world model -----------------------------------------------------------------------------------------------------
def num_logits(world: World) -> int:
    """A binary channel has one for each cell; an object's has one more, for "out of view"."""
    cells = world.shape[0] ** 2
    return sum(cells + (channel.kind == "one_hot") for channel in world.channels)


def nats(world: World, logits, o_t):
    """-ln p(o_t): every cell of a binary channel on its own, one categorical over cells for an object."""
    cells, start, total = world.shape[0] ** 2, 0, 0.0
    flat = o_t.reshape(*o_t.shape[:-3], cells, -1)
    for c in sorted(range(len(world.channels)), key=lambda c: world.channels[c].kind):  # binary ones first
        if world.channels[c].kind == "binary":
            part = logits[..., start : start + cells]
            total += (jax.nn.softplus(part) - part * flat[..., c]).sum(-1)
            start += cells
        else:
            part = jax.nn.log_softmax(logits[..., start : start + cells + 1])
            is_absent = 1 - flat[..., c].sum(-1, keepdims=True)
            total -= (part * jnp.concatenate([flat[..., c], is_absent.astype(flat.dtype)], axis=-1)).sum(-1)
            start += cells + 1
    return total


def init_model(key, world: World, s: Settings) -> Tree:
    keys = random.split(key, 4)
    return {
        "core": init_core(keys[0], world, s),
        "gru": init_gru(keys[1], s.belief_size),  # rolls the belief forward, reading actions alone
        "from_action": 0.5 * random.normal(keys[2], (world.num_actions, 3 * s.belief_size)),
        "decoder": init_mlp(keys[3], s.belief_size, s.num_hidden, num_logits(world)),
    }


def look(model, world: World, s: Settings, window):
    """Beliefs b_t [T+1, B, D] and the table L_{t+k|t} [T, K, B], 0 where t+k lies beyond the window."""
    b_t = core_unroll(model["core"], window["o_t"], window["a_tm1"], window["belief"])
    T, h, table = len(window["a_t"]), b_t[:-1], []

    def ahead(x_t, k):
        """x_{t+k}, holding the last one beyond the end."""
        return x_t[jnp.minimum(jnp.arange(T) + k, T - 1)]

    for k in range(s.num_ahead):
        h = gru(model["gru"], model["from_action"][ahead(window["a_t"], k)], h)
        loss = nats(world, mlp(model["decoder"], h), ahead(window["o_t"][1:], k))
        table.append(jnp.where((jnp.arange(T) + k < T)[:, None], loss, 0.0))
    return b_t, jnp.stack(table, axis=1)


def model_loss(table):
    """Sum over k of the mean over the steps that have a frame k steps on."""
    T, K, B = table.shape
    return sum(table[:, k].sum() / (max(T - k, 1) * B) for k in range(K))


# -- reward ----------------------------------------------------------------------------------------------------------
def ndigo(table, H: int, start):
    """What frame t revealed about frame t+H, paid at step t+H-1; and at which steps the window holds all it takes."""
    T = len(table)
    before, after = table[: T - H, H], table[1 : T - H + 1, H - 1]  # L_{t+H|t-1} and L_{t+H|t} for t = 1, 2, ...
    r_t = jnp.concatenate([jnp.zeros((H, table.shape[2])), before - after])
    t = jnp.arange(T)[:, None]
    return r_t, (t >= H) | (start + t < H)  # the first H steps of an episode truly earn 0, those of a window may not


# -- agent -----------------------------------------------------------------------------------------------------------
def init_agent(key, world: World, s: Settings) -> Tree:
    keys = random.split(key, 3)
    return {
        "core": init_core(keys[0], world, s),
        "value": init_mlp(keys[1], s.belief_size, s.num_hidden, 1),
        "advantage": init_mlp(keys[2], s.belief_size, s.num_hidden, world.num_actions),
    }


def q_values(agent, h_t):
    advantage = mlp(agent["advantage"], h_t)
    return mlp(agent["value"], h_t) + advantage - advantage.mean(axis=-1, keepdims=True)


def rescale(x):
    """h(x) of R2D2, and below its inverse, both in the form that cancels nothing."""
    return x / (jnp.sqrt(jnp.abs(x) + 1) + 1) + 1e-3 * x


def unscale(x):
    d = 2 * jnp.abs(x) / (1.002 + jnp.sqrt(1.002**2 + 4e-3 * jnp.abs(x)))
    return jnp.sign(x) * d * (d + 2)


def agent_loss(agent, target, s: Settings, window, r_t, is_known):
    """Half the squared distance of q(o_t, a_t) to its Retrace target, over the steps whose reward is known.

    G_t = r_t + gamma (V_{t+1} + c_{t+1} (G_{t+1} - Q_{t+1})),     c = lambda min(1, pi / mu), pi greedy
    """
    frames = (window["o_t"], window["a_tm1"], window["agent_state"])
    q_t = q_values(agent, core_unroll(agent["core"], *frames))
    raw_t = unscale(lax.stop_gradient(q_values(target, core_unroll(target["core"], *frames))))

    def take(q, a):
        return jnp.take_along_axis(q, a[..., None], axis=-1)[..., 0]

    greedy = lax.stop_gradient(q_t).argmax(axis=-1)
    v_t, raw_a = take(raw_t, greedy), take(raw_t[:-1], window["a_t"])
    c_t = s.lambda_ * jnp.minimum(1.0, (greedy[:-1] == window["a_t"]) / window["mu_t"])

    def back(correction, step):
        """One step back: from c_{t+1} (G_{t+1} - Q_{t+1}) to c_t (G_t - Q_t)."""
        r, v_next, c, q = step
        G = r + s.gamma * (v_next + correction)
        return c * (G - q), G

    steps = (lax.stop_gradient(r_t), v_t[1:], c_t, raw_a)
    _, G_t = lax.scan(back, jnp.zeros_like(v_t[0]), steps, reverse=True)
    error = rescale(G_t) - take(q_t[:-1], window["a_t"])
    return 0.5 * jnp.where(is_known, error**2, 0.0).sum() / jnp.maximum(is_known.sum(), 1)


# -- probe -----------------------------------------------------------------------------------------------------------
def init_probe(key, world: World, s: Settings) -> Tree:
    rows, cols = world.map_shape or (0, 0)
    return init_mlp(key, s.belief_size, s.num_hidden, len(world.objects) * rows * cols)


def discovery_loss(probe, b_t, cells):
    """-ln p(true cell) of each object, read off the belief by a probe that may not change it."""
    logits = mlp(probe, lax.stop_gradient(b_t)).reshape(*cells.shape, -1)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), cells[..., None], axis=-1)[..., 0]


def true_cells(world: World, state):
    """row * columns + column of each object: for the probe alone."""
    if world.truth is None or world.map_shape is None:
        return jnp.zeros(0, jnp.int32)
    return world.truth(state).objects @ jnp.array([world.map_shape[1], 1])


# -- the joint update ------------------------------------------------------------------------------------------------
def init_params(key, world: World, s: Settings) -> Tree:
    keys = random.split(key, 3)
    params = {"model": init_model(keys[0], world, s), "agent": init_agent(keys[1], world, s)}
    return params | ({"probe": init_probe(keys[2], world, s)} if world.truth and world.objects else {})


def joint_loss(params, target, world: World, s: Settings, window):
    """The sum of all losses; no term's gradient reaches another's parameters."""
    b_t, table = look(params["model"], world, s, window)
    r_t, is_known = ndigo(lax.stop_gradient(table), s.horizon, window["start"])
    losses = {"model": model_loss(table), "agent": agent_loss(params["agent"], target, s, window, r_t, is_known)}
    if "probe" in params:
        losses["probe"] = discovery_loss(params["probe"], b_t, window["cells"]).sum(axis=-1).mean()
    reward = (r_t * is_known).sum() / jnp.maximum(is_known.sum(), 1)
    return sum(losses.values()), losses | {"reward": reward}


def make_optimiser(params, s: Settings):
    rates = {"model": s.model_rate, "agent": s.agent_rate, "probe": s.probe_rate}
    return optax.partition({name: optax.adam(rates[name]) for name in params}, {name: name for name in params})


# -- episodes --------------------------------------------------------------------------------------------------------
def play(params, world: World, s: Settings, key, epsilon):
    """One episode, cut into windows [W, T, ...].

    Unless a random stretch is under way, one begins with chance epsilon: a single action, n times,
    P(n) = 1 / (n (n + 1)).
    """
    A, D = world.num_actions, s.belief_size

    def step(carry, key):
        state, a_tm1, b_tm1, h_tm1, random_a, left = carry
        key_begin, key_a, key_length, key_world = random.split(key, 4)
        o_t = world.observe(state)
        b_t = core_step(params["model"]["core"], o_t, a_tm1, b_tm1)
        h_t = core_step(params["agent"]["core"], o_t, a_tm1, h_tm1)
        greedy = q_values(params["agent"], h_t).argmax().astype(jnp.int32)
        is_repeat = left > 0
        begins = ~is_repeat & (random.uniform(key_begin) < epsilon)
        n = jnp.minimum(1 / random.uniform(key_length, minval=1e-6), s.longest_stretch).astype(jnp.int32)
        random_a = jnp.where(begins, random.randint(key_a, (), 0, A), random_a)
        left = jnp.where(begins, n, left)
        a_t = jnp.where(left > 0, random_a, greedy)
        mu = jnp.where(a_t == greedy, 1 - epsilon, 0) + epsilon / A
        record = {
            "o_t": o_t,
            "a_tm1": a_tm1,
            "cells": true_cells(world, state),
            "a_t": a_t,
            "mu_t": jnp.where(is_repeat, 1.0, mu),
            "belief": b_tm1,
            "agent_state": h_tm1,
        }
        return (world.step(key_world, state, a_t), a_t, b_t, h_t, random_a, jnp.maximum(left - 1, 0)), record

    key_reset, key_steps = random.split(key)
    first = (world.reset(key_reset), jnp.int32(0), jnp.zeros(D), jnp.zeros(D), jnp.int32(0), jnp.int32(0))
    (state, a_tm1, *_), steps = lax.scan(step, first, random.split(key_steps, world.num_steps))
    last = {"o_t": world.observe(state), "a_tm1": a_tm1, "cells": true_cells(world, state)}  # after the last action
    starts = range(0, world.num_steps, s.window)

    def cut(name, x_t):
        if name in ("belief", "agent_state"):
            return jnp.stack([x_t[i] for i in starts])
        length = s.window
        if name in last:
            x_t, length = jnp.concatenate([x_t, last[name][None]]), length + 1
        return jnp.stack([x_t[i : i + length] for i in starts])

    return {name: cut(name, x_t) for name, x_t in steps.items()} | {"start": jnp.array(list(starts))}


def batch_of(windows):
    """Windows [B, T, ...] with time first, as the losses read them."""
    states = ("belief", "agent_state", "start")
    return {name: x if name in states else jnp.swapaxes(x, 0, 1) for name, x in windows.items()}


# -- the loop --------------------------------------------------------------------------------------------------------
def train(world: World, s: Settings, key, num_rounds: int):
    """Collects a round of episodes, learns from the replay, and so on; the parameters, and each round's numbers."""
    if world.num_steps % s.window:
        raise ValueError(f"an episode of {world.num_steps} steps is no whole number of windows of {s.window}")
    key_init, key_rounds = random.split(key)
    params = init_params(key_init, world, s)
    optimiser = make_optimiser(params, s)
    epsilons = (0.4**8) ** (jnp.arange(s.actors) / max(s.actors - 1, 1))  # from 1 to 0.4^8

    def collect(params, key):
        episodes = jax.vmap(lambda key, epsilon: play(params, world, s, key, epsilon))
        return jax.tree.map(lambda x: lax.collapse(x, 0, 2), episodes(random.split(key, s.actors), epsilons))

    def update(carry, key, replay, size):
        params, target, state, count = carry
        window = batch_of(jax.tree.map(lambda x: x[random.randint(key, (s.batch,), 0, size)], replay))
        gradient, numbers = jax.grad(joint_loss, has_aux=True)(params, target, world, s, window)
        steps, state = optimiser.update(gradient, state)
        params: Tree = optax.apply_updates(params, steps)
        target = optax.periodic_update(params["agent"], target, count + 1, s.target_period)
        return (params, target, state, count + 1), numbers

    @jax.jit
    def one_round(carry, replay, num_added, key):
        key_collect, key_learn = random.split(key)
        windows = collect(carry[0], key_collect)
        num_new, capacity = len(windows["start"]), len(replay["start"])
        where = (num_added + jnp.arange(num_new)) % capacity
        replay = jax.tree.map(lambda ring, new: ring.at[where].set(new), replay, windows)
        size = jnp.minimum(num_added + num_new, capacity)
        keys = random.split(key_learn, s.updates_per_round)
        carry, numbers = lax.scan(lambda carry, key: update(carry, key, replay, size), carry, keys)
        return carry, replay, num_added + num_new, jax.tree.map(jnp.mean, numbers)

    like = jax.eval_shape(collect, params, key)
    replay = jax.tree.map(lambda x: jnp.zeros((s.replay_windows, *x.shape[1:]), x.dtype), like)
    carry, num_added, history = (params, params["agent"], optimiser.init(params), 0), 0, []
    for key_round in random.split(key_rounds, num_rounds):
        carry, replay, num_added, numbers = one_round(carry, replay, num_added, key_round)
        history.append({name: float(x) for name, x in numbers.items()})
    return carry[0], history


if __name__ == "__main__":
    small = Settings(horizon=1, num_ahead=2, belief_size=32, num_features=32, window=12, replay_windows=512)
    _, history = train(three_doors, small, random.key(0), num_rounds=60)
    for i, numbers in enumerate(history):
        if i % 10 == 9:
            print(f"round {i + 1}: " + ", ".join(f"{name} {x:.3f}" for name, x in numbers.items()))
