"""A window that holds several episodes is those episodes computed apart.

Each stream is cut by hand at its first frames, and every part becomes a stream of its own, of one episode, whose
numbers other tests hold against loops. Beliefs, returns and ICM's loss are held against float64 here too.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from random_windows import random_window
from reference.gru import gru
from reference.retrace import h, h_inverse, retrace
from small_frames import bits_of

from ndigo import networks
from ndigo.agent import QNetwork, q_loss
from ndigo.fast import gru as fast_gru
from ndigo.fast.prediction import predict as fast_predict
from ndigo.fast.twins import FAST
from ndigo.model import WorldModel, init_world_model, make_likelihood, predict
from ndigo.rewards import make_ndigo_sum, make_reward
from ndigo.training.twins import computed_by
from ndigo.types import Window

T, K, D, GAMMA, LAMBDA = 12, 4, 5, 0.9, 0.95
# Each stream: the step of its first frame in its episode, the slots of first frames, and of steps that terminate.
STREAMS = [
    (0, [0, 4, 6], [2]),  # begins with an episode; one of a single step (frames 4, 5); the last goes on
    (7, [6, 12], [10]),  # begins amid one, which is cut; its last frame is the first of another
    (2, [], []),  # all of one episode
    (3, [1, 9], [7]),  # before frame 1 stands only the true last frame of an episode
]


def stream_window() -> Window:
    window = random_window(0, T=T, streams=(len(STREAMS),), state_size=D)
    is_first, discount_t = np.zeros((T + 1, len(STREAMS)), bool), np.ones((T, len(STREAMS)), np.float32)
    for b, (_, firsts, ends) in enumerate(STREAMS):
        is_first[firsts, b], discount_t[ends, b] = True, 0
    mu_t = np.random.default_rng(0).uniform(0.2, 1, (T, len(STREAMS))).astype(np.float32)
    return dataclasses.replace(
        jax.tree.map(np.asarray, window),
        a_tm1=np.where(is_first, 0, window.a_tm1),
        mu_t=mu_t,
        start=np.array([start for start, _, _ in STREAMS], np.int32),
        is_first=is_first,
        discount_t=discount_t,
        r_tc=None,
    )


class Part(NamedTuple):
    """Frames `slot` .. `slot + num_steps` of a stream, all of one episode."""

    stream: int
    slot: int
    num_steps: int
    begins: bool  # with its episode's first frame

    @property
    def steps(self) -> tuple[slice, int]:
        return slice(self.slot, self.slot + self.num_steps), self.stream


PARTS = [
    Part(b, i, j - i - 1, i in firsts)
    for b, (_, firsts, _) in enumerate(STREAMS)
    for i, j in pairwise(sorted({0, *firsts, T + 1}))
    if j - i > 1
]
WINDOW = stream_window()
IS_STEP = ~np.asarray(WINDOW.is_first)[1:]


def apart() -> Window:
    """Part p as stream p. What stands after its end is noise, and no number of a step before may depend on it."""
    noise = random_window(9, T=T, streams=(len(PARTS),), state_size=D)
    parts = jax.tree.map(np.array, dataclasses.replace(noise, r_tc=None))
    for p, part in enumerate(PARTS):
        for name in ("o_t", "a_tm1", "a_t", "mu_t", "cells"):
            num = part.num_steps + (name in ("o_t", "a_tm1", "cells"))
            getattr(parts, name)[:num, p] = getattr(WINDOW, name)[part.slot : part.slot + num, part.stream]
        for name in ("belief", "agent_state", "start"):
            getattr(parts, name)[p] = 0 if part.begins else getattr(WINDOW, name)[part.stream]
    return parts


APART = apart()


def once(function: Any) -> Any:
    """`jit` that compiles soon; arrays are handed over as arguments, or XLA would work them out while it compiles."""
    options = {"xla_backend_optimization_level": 0} if jax.default_backend() == "cpu" else None
    return jax.jit(function, compiler_options=options)


def drawn(make: Any, seed: int) -> Any:
    """Networks of these shapes with weights from NumPy: their own init takes long to compile."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: rng.normal(0, 0.4, x.shape).astype(x.dtype), jax.eval_shape(make))


@cache
def model_of(seed: int = 0) -> WorldModel:
    frame = bits_of(3, ("binary", "one_hot"))
    sizes: Any = {"frame": frame, "num_actions": 3, "num_features": 6, "num_filters": 2, "belief_size": D}
    likelihood = make_likelihood("categorical", frame)

    def make() -> WorldModel:
        key = jax.random.key(1)
        return init_world_model(key, likelihood=likelihood, predictor="open_loop", num_ahead=K, num_hidden=6, **sizes)

    return drawn(make, seed)


def assert_close(ours: Any, theirs: Any) -> None:
    for one, two in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def test_the_streams_hold_what_they_are_meant_to():
    assert [part[:3] for part in PARTS] == [
        *((0, 0, 3), (0, 4, 1), (0, 6, 6), (1, 0, 5), (1, 6, 5), (2, 0, 12), (3, 1, 7), (3, 9, 3))
    ]
    assert IS_STEP.sum() == sum(part.num_steps for part in PARTS)


@pytest.mark.parametrize("unroll", [networks.unroll, fast_gru.unroll])
def test_states_are_those_of_a_float64_loop_that_begins_anew(unroll):
    keys = jax.random.split(jax.random.key(3), 2)
    weight, x_t = jax.random.normal(keys[0], (D, 3 * D)), jax.random.normal(keys[1], (T + 1, len(STREAMS), 3 * D))
    h_t = np.asarray(jax.jit(unroll)(weight, x_t, WINDOW.belief, WINDOW.is_first))
    for b, i, num_steps, begins in PARTS:
        frames = slice(i, i + num_steps + 1)
        h_0 = np.zeros(D) if begins else np.asarray(WINDOW.belief[b])
        np.testing.assert_allclose(h_t[frames, b], gru(np.asarray(x_t[frames, b]), np.asarray(weight), h_0), atol=1e-5)


def loss_apart(model: WorldModel, parts: Window) -> tuple[Array, Array]:
    """sum over k of the mean over all pairs of one episode; and the tables of the parts."""
    of_parts = model.look(parts).loss_tk
    assert of_parts is not None
    total = jnp.float32(0)
    for k in range(1, K + 1):
        pairs = []
        for p, part in enumerate(PARTS):
            pairs.append(of_parts[: max(part.num_steps - k + 1, 0), k - 1, p])
        total += jnp.concatenate(pairs).sum(axis=-1).mean()
    return total, of_parts


@cache
def learned_apart() -> Any:
    return jax.device_get(once(jax.value_and_grad(loss_apart, has_aux=True))(model_of(), APART))


@pytest.mark.parametrize("form", ["plain", "fast"])
def test_beliefs_losses_and_gradients_are_those_of_the_episodes_apart(form):
    (model, by) = (model_of(), predict) if form == "plain" else (computed_by(FAST, model_of()), fast_predict)
    (loss, seen), gradient = once(jax.value_and_grad(by, has_aux=True))(model, WINDOW)
    (expected, of_parts), expected_gradient = learned_apart()
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
    assert_close(gradient, expected_gradient)
    table = np.zeros(seen.loss_tk.shape)  # 0 across resets
    for p, (b, i, num_steps, _) in enumerate(PARTS):
        for k in range(1, min(K, num_steps) + 1):
            table[i : i + num_steps - k + 1, k - 1, b] = of_parts[: num_steps - k + 1, k - 1, p]
    assert_close(seen.loss_tk, table)


NAMES = ("random", "pe", "ndigo-1", "ndigo-3", "ndigo-sum", "pg", "icm")


@cache
def paid_both_ways() -> dict[str, Any]:
    """Each reward's pay of the streams, and of their parts; and what ICM's networks were shown."""

    rewards = {name: make_ndigo_sum(K) if name == "ndigo-sum" else make_reward(name) for name in NAMES}
    owned = {name: drawn(lambda r=r: r.init(jax.random.key(4), model_of()), 5) for name, r in rewards.items()}

    def pay(model: WorldModel, other: WorldModel, owned: dict[str, Any], windows: list[Window]) -> dict[str, Any]:
        found, seen = {}, [model.look(window) for window in windows]
        for name, reward in rewards.items():
            own, memory = owned[name], reward.remember(other)
            found[name] = [reward.pay_steps(own, memory, model, each) for each in seen]
            if name == "icm":
                found["shown"] = own, seen[0].b_t, seen[0].z_t
        return found

    return jax.device_get(once(pay)(model_of(), model_of(1), owned, [WINDOW, APART]))


@pytest.mark.parametrize("name", NAMES)
def test_rewards_are_those_of_the_episodes_apart(name):
    paid, alone = paid_both_ways()[name]
    assert not paid.is_known[~IS_STEP].any()
    assert not paid.r_t[~IS_STEP].any()
    for p, part in enumerate(PARTS):
        known = alone.is_known[: part.num_steps, p]
        np.testing.assert_array_equal(paid.is_known[part.steps], known)
        assert_close(paid.r_t[part.steps][known], alone.r_t[: part.num_steps, p][known])
        if paid.r_tc is not None:
            assert_close(paid.r_tc[part.steps][known], alone.r_tc[: part.num_steps, p][known])


def test_icm_learns_from_the_steps_alone():
    own, b_t, z_t = jax.tree.map(lambda x: np.asarray(x, np.float64), paid_both_ways()["shown"])

    def mlp(net: Any, x: np.ndarray) -> np.ndarray:
        hidden = np.maximum(x @ net.hidden.weight + net.hidden.bias, 0)
        return hidden @ net.output.weight + net.output.bias

    losses = []
    for part in PARTS:
        for t in range(part.slot, part.slot + part.num_steps):
            a = WINDOW.a_t[t, part.stream]
            guess = mlp(own.inverse, np.append(b_t[t, part.stream], z_t[t + 1, part.stream]))
            forecast = mlp(own.forward, np.append(b_t[t, part.stream], np.eye(3)[a]))
            losses.append(np.log(np.exp(guess).sum()) - guess[a] + np.square(forecast - b_t[t + 1, part.stream]).sum())
    assert float(paid_both_ways()["icm"][0].loss) == pytest.approx(np.mean(losses), rel=1e-4)


def test_the_agents_loss_and_gradient_are_those_of_retrace_on_each_episode():
    """An episode that terminates counts nothing after it; one that is cut, the value of its true last frame."""
    frame = bits_of(3, ("binary", "one_hot"))
    sizes: Any = {"frame": frame, "num_actions": 3, "num_features": 6, "state_size": D, "num_hidden": 6}
    online, target = (drawn(lambda: QNetwork(jax.random.key(0), num_filters=2, **sizes), seed) for seed in range(2))
    r_t = np.random.default_rng(1).normal(size=(T, len(STREAMS))).astype(np.float32)
    is_known = IS_STEP & (np.random.default_rng(2).uniform(size=IS_STEP.shape) < 0.8)

    def ours(online: QNetwork, window: Window) -> Array:
        return q_loss(online, target, window, jnp.asarray(r_t), jnp.asarray(is_known), gamma=GAMMA, lambda_=LAMBDA)

    unroll = once(QNetwork.unroll)
    q, target_q = np.asarray(unroll(online, APART)), np.asarray(unroll(target, APART))
    rescaled = np.zeros(r_t.shape)  # h(G_t), by Retrace's definition in float64
    for p, part in enumerate(PARTS):
        n, (steps, b) = part.num_steps, part.steps
        greedy, raw, a_t = q[: n + 1, p].argmax(axis=-1), h_inverse(target_q[: n + 1, p]), APART.a_t[:n, p]
        v_t = raw[np.arange(n + 1), greedy]
        v_t[n] *= np.asarray(WINDOW.discount_t)[part.slot + n - 1, b]
        c_t = LAMBDA * np.minimum(1.0, (greedy[:n] == a_t) / np.float64(APART.mu_t[:n, p])) * is_known[steps, b]
        rescaled[steps, b] = h(retrace(r_t[steps, b], v_t, raw[np.arange(n), a_t], c_t, GAMMA))

    def theirs(online: QNetwork, parts: Window) -> Array:
        q_t, total = online.unroll(parts), jnp.float32(0)
        for p, part in enumerate(PARTS):
            taken = q_t[np.arange(part.num_steps), p, APART.a_t[: part.num_steps, p]]
            total += 0.5 * (is_known[part.steps] * (rescaled[part.steps] - taken) ** 2).sum()
        return total / is_known.sum()

    one, gradient = once(jax.value_and_grad(ours))(online, WINDOW)
    two, expected = once(jax.value_and_grad(theirs))(online, APART)
    assert float(one) == pytest.approx(float(two), rel=1e-4)
    assert_close(gradient, expected)
