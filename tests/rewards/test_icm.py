"""ICM: what its reward is, and that the belief learns from the inverse loss alone."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from random_weights import random_weights
from random_windows import random_window
from small_frames import bits_of

from ndigo.model import init_world_model, make_likelihood
from ndigo.rewards import make_reward
from ndigo.types import Seen

T, A = 6, 3
ICM = make_reward("icm")


@pytest.fixture(scope="module")
def setting():
    model = random_weights(
        lambda key: init_world_model(
            key,
            frame=bits_of(3, ["binary", "one_hot"]),
            num_actions=A,
            likelihood=make_likelihood("categorical", bits_of(3, ["binary", "one_hot"])),
            predictor=None,
            num_ahead=1,
            num_features=8,
            num_filters=16,
            belief_size=4,
            num_hidden=8,
        )
    )
    params = random_weights(lambda key: ICM.init(key, model), seed=1)
    return model, params, random_window(2, T=T)


def relu_mlp(mlp, x):
    mlp = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), mlp)
    return np.maximum(x @ mlp.hidden.weight + mlp.hidden.bias, 0) @ mlp.output.weight + mlp.output.bias


def test_reward_is_the_squared_distance_of_the_forecast_belief_to_the_next(setting):
    model, params, window = setting

    @jax.jit
    def look_and_pay(model, params):
        seen = model.look(window)
        return seen, ICM.pay(params, None, model, seen)

    seen, paid = jax.device_get(look_and_pay(model, params))
    b_t, z_t, a_t = (np.asarray(x, np.float64) for x in (seen.b_t, seen.z_t, window.a_t))
    inverse_losses = []
    for t in range(T):
        one_hot = np.eye(A)[int(a_t[t])]
        forecast = relu_mlp(params.forward, np.concatenate([b_t[t], one_hot]))
        assert float(paid.r_t[t]) == pytest.approx(((forecast - b_t[t + 1]) ** 2).sum(), rel=1e-4)
        guess = relu_mlp(params.inverse, np.concatenate([b_t[t], z_t[t + 1]]))
        inverse_losses.append(np.log(np.exp(guess).sum()) - guess[int(a_t[t])])
    assert float(paid.loss) == pytest.approx(np.mean(inverse_losses) + float(paid.r_t.mean()), rel=1e-4)
    assert paid.r_tc is None
    assert paid.is_known.all()


def is_zero(tree) -> bool:
    return not any(np.any(x) for x in jax.tree.leaves(tree))


def test_forward_error_has_no_gradient_in_the_belief_and_trains_the_forward_model(setting):
    model, params, window = setting

    def error(model, params):
        return ICM.pay(params, None, model, model.look(window)).r_t.mean()

    into_model, into_params = jax.jit(jax.grad(error, argnums=(0, 1)))(model, params)
    assert is_zero(into_model)
    assert is_zero(into_params.inverse)
    assert not is_zero(into_params.forward)


def test_belief_and_features_learn_from_the_inverse_loss_alone(setting):
    model, params, window = setting

    def loss(model):
        return ICM.pay(params, None, model, model.look(window)).loss

    def inverse_loss(model):
        paid = ICM.pay(params, None, model, model.look(window))
        return paid.loss - jax.lax.stop_gradient(paid.r_t.mean())

    whole, inverse = jax.jit(jax.grad(loss))(model), jax.jit(jax.grad(inverse_loss))(model)
    jax.tree.map(np.testing.assert_array_equal, whole.core, inverse.core)
    assert not is_zero(whole.core.encoder)
    assert not is_zero(whole.core.gru)


def test_inverse_model_sees_the_next_frame_but_not_the_next_belief(setting):
    """It reads (b_t, z_{t+1}); b_{t+1} was told a_t, and would give it away."""
    _, params, window = setting
    z_t, b_t = (np.random.default_rng(3).normal(size=(T + 1, n)).astype(np.float32) for n in (8, 4))

    def inverse_loss(z_t, b_t):
        paid = ICM.pay(params, None, None, Seen(window=window, z_t=z_t, b_t=b_t, loss_tk=None))
        return paid.loss

    into_z, into_b = jax.device_get(jax.jit(jax.grad(inverse_loss, argnums=(0, 1)))(z_t, b_t))
    assert (np.abs(into_z).sum(axis=-1) > 0).tolist() == [False] + [True] * T
    assert (np.abs(into_b).sum(axis=-1) > 0).tolist() == [True] * T + [False]
