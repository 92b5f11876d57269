"""The table of losses: entry [t, k-1] is L_{t+k|t}, on windows whose frames and actions encode their step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from random_weights import random_weights
from random_windows import random_window
from small_frames import bits_of

from ndigo.model import PREDICTORS, WorldModel, init_world_model, make_likelihood, predict, prediction_loss
from ndigo.rewards import table
from ndigo.types import ahead

T, K = 6, 4


@dataclass(frozen=True)
class IndexLikelihood:
    """Adds the step that a frame encodes to the "logits"."""

    num_outputs: int = 1

    def target(self, o_t) -> Any:
        return o_t[..., 0, 0, 0].astype(jnp.float32)

    def nats(self, logits, target: Any):
        return (logits[..., 0] + target)[..., None]

    def chances(self, logits) -> Any:
        return logits


class IndexPredictor(eqx.Module):
    """Tells 10000 * (the step in b_t) + 100 * (the step in the last action it may read, a_{t+k-1})."""

    def predict(self, b_t: Array, a_kt: Array, read, targets_kt):
        return read((10000 * b_t[..., 0] + 100 * a_kt)[..., None], targets_kt)


def index_model(num_ahead: int = K) -> WorldModel:
    model = random_weights(
        lambda key: init_world_model(
            key,
            frame=bits_of(1, ["binary"]),
            num_actions=3,
            likelihood=IndexLikelihood(),
            predictor=None,
            num_ahead=num_ahead,
            num_features=4,
            num_filters=16,
            belief_size=2,
            num_hidden=4,
        )
    )
    return eqx.tree_at(lambda m: m.predictor, model, IndexPredictor(), is_leaf=lambda x: x is None)


@pytest.mark.parametrize("num_ahead", [1, 4, 6, 9])
@pytest.mark.parametrize("streams", [(), (2,)])
def test_entry_t_k_compares_the_belief_at_t_and_the_action_before_t_plus_k_with_frame_t_plus_k(num_ahead, streams):
    def per_stream(x):
        return np.broadcast_to(x.reshape(len(x), *(1,) * len(streams)), (len(x), *streams))

    step, model = per_stream(np.arange(T + 1)), index_model(num_ahead)
    losses = jax.jit(lambda b_t, a_t, o_tp1: model.losses(b_t, a_t, o_tp1, num_ahead))
    loss_tk = losses(step[:-1, ..., None].astype(np.float32), step[:-1], step[1:, ..., None, None, None])
    loss_tk = np.asarray(loss_tk)
    assert loss_tk.shape == (T, num_ahead, *streams, 1)
    for t in range(T):
        for k in range(1, num_ahead + 1):
            expected = 10000 * t + 100 * (t + k - 1) + (t + k) if t + k <= T else 0
            np.testing.assert_array_equal(loss_tk[t, k - 1], expected, err_msg=f"t={t} k={k}")


@cache
def real_model(predictor: str, kinds=("binary", "one_hot"), num_ahead: int = K) -> WorldModel:
    return random_weights(
        lambda key: init_world_model(
            key,
            frame=bits_of(3, kinds),
            num_actions=3,
            likelihood=make_likelihood("categorical", bits_of(3, kinds)),
            predictor=predictor,
            num_ahead=num_ahead,
            num_features=8,
            num_filters=16,
            belief_size=4,
            num_hidden=8,
        )
    )


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_table_of_a_window_equals_one_prediction_at_a_time(predictor):
    """b_t by stepping the core, p_{t+k|t} by asking for it alone, -ln p by hand, split by channel."""
    model = real_model(predictor)
    window = jax.device_get(random_window(1, T=T))
    seen = jax.device_get(jax.jit(lambda window: model.look(window))(window))
    step = jax.jit(lambda *frame: model.core.step(*frame))
    predict = jax.jit(lambda b_t, a_k: model.expect(b_t, a_k))
    b = window.belief
    for t in range(T):
        b = step(window.o_t[t], window.a_tm1[t], b)
        np.testing.assert_allclose(seen.b_t[t], b, atol=1e-5)
        actions = np.array([*window.a_t[t : t + K], *[0] * K])[:K]
        p_k = np.asarray(predict(b, actions), np.float64)
        for k in range(1, K + 1):
            if t + k > T:
                np.testing.assert_array_equal(seen.loss_tk[t, k - 1], 0)
                continue
            o, p = window.o_t[t + k], p_k[k - 1]
            walls = -np.log(np.where(o[..., 0] == 1, p[..., 0], 1 - p[..., 0])).sum()
            chance = p[..., 1][o[..., 1] == 1].sum() if o[..., 1].any() else 1 - p[..., 1].sum()
            np.testing.assert_allclose(seen.loss_tk[t, k - 1], [walls, -np.log(chance)], rtol=1e-4)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_a_narrower_table_is_the_start_of_the_whole_one(predictor):
    model, window = real_model(predictor), random_window(1, T=T)
    narrow, whole = jax.jit(lambda window: (table(model.look(window, 2)), table(model.look(window))))(window)
    np.testing.assert_allclose(narrow, whole[:, :2], rtol=1e-5)


def test_a_batch_of_windows_is_looked_at_as_each_alone():
    model = real_model("open_loop")
    window = random_window(1, T=T, streams=(2,))
    look = jax.jit(lambda window: table(model.look(window)))
    loss_tk = np.asarray(look(window))
    assert loss_tk.shape == (T, K, 2, 2)
    for b in range(2):
        alone = jax.tree.map(lambda x, axis, b=b: np.take(np.asarray(x), b, axis), window, _stream_axes(window))
        np.testing.assert_allclose(loss_tk[:, :, b], look(alone), atol=1e-5)


def _stream_axes(window):
    """Fields that lead with time have their streams on axis 1, the others on axis 0."""
    return type(window)(o_t=1, a_tm1=1, a_t=1, mu_t=1, belief=0, agent_state=0, start=0, cells=1)


def test_prediction_loss_is_the_sum_over_k_of_the_mean_over_steps_that_have_a_frame():
    loss_tk = np.zeros((T, K, 3, 2), np.float32)
    expected = 0.0
    rng = np.random.default_rng(0)
    for k in range(1, K + 1):
        entries = rng.random((T + 1 - k, 3, 2))
        loss_tk[: T + 1 - k, k - 1] = entries
        expected += entries.sum(axis=-1).mean()
    assert float(prediction_loss(jnp.asarray(loss_tk))) == pytest.approx(expected, rel=1e-5)


def test_prediction_loss_of_a_window_shorter_than_k_is_finite():
    model = real_model("open_loop", num_ahead=9)
    loss = jax.jit(lambda window: prediction_loss(table(model.look(window))))
    assert np.isfinite(loss(random_window(1, T=3)))


def test_nothing_is_learned_through_what_was_seen_of_the_losses():
    """The loss has the gradient of the table's sum; the table that rewards are handed has none."""
    model, window = real_model("open_loop"), random_window(1, T=T)

    def all_of_the_table(model):
        return table(predict(model, window)[1]).sum()

    @jax.jit
    def values(model):
        (loss, seen), looked = predict(model, window), table(model.look(window))
        return loss, prediction_loss(looked), table(seen), looked

    @jax.jit
    def gradients(model):
        return jax.grad(all_of_the_table)(model), jax.grad(lambda model: predict(model, window)[0])(model)

    loss, expected, predicted, looked = values(model)
    assert float(loss) == pytest.approx(float(expected), rel=1e-6)
    np.testing.assert_array_equal(predicted, looked)
    of_the_table, of_the_loss = gradients(model)
    assert not any(np.any(x) for x in jax.tree.leaves(of_the_table))
    assert any(np.any(x) for x in jax.tree.leaves(of_the_loss))


def test_no_prediction_lets_a_later_frame_into_its_belief():
    """Changing frame s changes L_{t+k|t} only where the belief has seen it (t >= s) or it is the target."""
    model = real_model("open_loop")
    window = random_window(1, T=T)
    look = jax.jit(lambda window: model.look(window))
    s = 3
    o_t = np.array(window.o_t)
    o_t[s] = 1 - o_t[s]
    changed = eqx.tree_at(lambda w: w.o_t, window, o_t)
    is_changed = np.any(np.asarray(look(changed).loss_tk) != look(window).loss_tk, axis=-1)
    t, k = np.meshgrid(np.arange(T), np.arange(1, K + 1), indexing="ij")
    np.testing.assert_array_equal(is_changed, ((t >= s) | (t + k == s)) & (t + k <= T))


def test_ahead_reads_column_k_and_refuses_what_the_table_does_not_hold():
    loss_tk = jnp.asarray(100 * np.arange(T)[:, None] + np.arange(1, K + 1))
    np.testing.assert_array_equal(ahead(loss_tk, 3), 100 * np.arange(T) + 3)
    for k in (0, K + 1):
        with pytest.raises(
            ValueError, match=f"{k} steps ahead of a table that looks 1..{K} ahead, which is the reward's num_ahead$"
        ):
            ahead(loss_tk, k)
