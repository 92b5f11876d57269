"""Prediction gain compares with the right earlier model, traced over updates."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from random_windows import random_window

from ndigo.rewards import make_reward
from ndigo.types import Seen

T, K = 5, 2


class NumberedModel(eqx.Module):
    """Its loss one step ahead is 100 t - 10 * (the number of updates it has had)."""

    num_updates: Array

    def look(self, window, num_ahead=None) -> Seen:
        loss_t = 100.0 * jnp.arange(T) - 10 * self.num_updates
        table = jnp.stack([loss_t, jnp.full(T, jnp.nan)], axis=1)[..., None]  # nobody may read k = 2
        return Seen(window=window, z_t=jnp.zeros(T + 1), b_t=jnp.zeros(T + 1), loss_tk=table)


def test_copy_lags_one_or_two_updates_and_none_at_the_first_alone():
    """The learner's order: pay with model n, then update to n + 1, then `after_update` with the one that paid."""
    reward = make_reward("pg")
    window = random_window(0, T=T)
    memory = reward.remember(NumberedModel(jnp.int32(0)))
    lags = []
    for n in range(8):
        model = NumberedModel(jnp.int32(n))
        paid = reward.pay(None, memory, model, model.look(window))
        assert len(set(np.asarray(paid.r_t).tolist())) == 1, "the same step of both tables"
        lags.append(int(paid.r_t[0]) // 10)  # the loss of the older model minus the loss now
        memory = reward.after_update(memory, model, paid, jnp.int32(n + 1))
    # Before the first update there is no earlier model to compare with.
    assert lags == [0, 1, 1, 2, 1, 2, 1, 2]


def test_gain_is_positive_where_the_update_helped():
    reward = make_reward("pg")
    window = random_window(0, T=T)
    model = NumberedModel(jnp.int32(3))
    paid = reward.pay(None, NumberedModel(jnp.int32(2)), model, model.look(window))
    np.testing.assert_array_equal(paid.r_t, 10)
    assert paid.is_known.all()


def test_no_gradient_reaches_the_copy():
    reward = make_reward("pg")
    window = random_window(0, T=T)

    def total(num_updates):
        model = NumberedModel(jnp.float32(3))
        return reward.pay(None, NumberedModel(num_updates), model, model.look(window)).r_t.sum()

    assert jax.grad(total)(jnp.float32(2)) == 0
