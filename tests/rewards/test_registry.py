"""All rewards by name: what each may be asked for, and what all have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_weights import random_weights
from random_windows import random_window
from small_frames import bits_of

from ndigo.errors import NdigoError
from ndigo.model import WorldModel, init_world_model, make_likelihood
from ndigo.rewards import REWARDS, make_reward
from ndigo.types import Paid, Seen, Window


@cache
def tiny_model(num_ahead: int, predictor: str | None) -> WorldModel:
    return random_weights(
        lambda key: init_world_model(
            key,
            frame=bits_of(3, ["binary", "one_hot"]),
            num_actions=3,
            likelihood=make_likelihood("categorical", bits_of(3, ["binary", "one_hot"])),
            predictor=predictor,
            num_ahead=num_ahead,
            num_features=8,
            num_filters=16,
            belief_size=4,
            num_hidden=8,
        )
    )


@cache
def paying(name: str) -> Callable[[Window], Paid]:
    """Pays a window; compiled once for all tests."""
    reward = make_reward(name)
    model = tiny_model(max(3, reward.num_ahead), None if reward.trains_belief else "open_loop")
    params, memory = random_weights(lambda key: reward.init(key, model)), reward.remember(model)
    return jax.jit(lambda window: reward.pay(params, memory, model, model.look(window)))


@pytest.mark.parametrize("name", REWARDS)
def test_every_reward_pays_every_step_of_every_stream(name):
    T = make_reward(name).num_ahead + 3
    paid = paying(name)(random_window(2, T=T, streams=(2,)))
    assert paid.r_t.shape == paid.is_known.shape == (T, 2)
    assert paid.is_known.dtype == bool
    assert paid.loss.shape == ()
    assert np.isfinite(paid.r_t).all()
    if paid.r_tc is not None:
        assert paid.r_tc.shape == (T, 2, 2)
        np.testing.assert_allclose(np.asarray(paid.r_tc).sum(axis=-1), paid.r_t, atol=1e-5)


@pytest.mark.parametrize("name", REWARDS)
def test_no_reward_reads_the_truth(name):
    window = random_window(2, T=make_reward(name).num_ahead + 3, streams=(2,))
    scrambled = dataclasses.replace(window, cells=jnp.asarray(np.full_like(window.cells, -7)))
    jax.tree.map(np.testing.assert_array_equal, paying(name)(window), paying(name)(scrambled))


def test_prediction_error_is_the_loss_one_step_ahead():
    loss_tk = jnp.asarray((100 * np.arange(6)[:, None] + np.arange(1, 4))[..., None], jnp.float32)
    window = random_window(0, T=6)
    seen = Seen(window=window, z_t=jnp.zeros(7), b_t=jnp.zeros(7), loss_tk=loss_tk)
    paid = make_reward("pe").pay(None, None, None, seen)
    np.testing.assert_array_equal(paid.r_t, 100 * np.arange(6) + 1)
    assert paid.is_known.all()


def test_random_pays_nothing_and_acts_at_random():
    assert make_reward("random").acts_at_random
    np.testing.assert_array_equal(paying("random")(random_window(0, T=6)).r_t, 0)


@pytest.mark.parametrize("name", ["random", "pe", "pg", "icm", "ndigo-7", "ndigo-40", "ndigo-sum", "ig", "ig-4"])
def test_reward_is_made_by_its_name(name):
    assert make_reward(name).name == name


@pytest.mark.parametrize("name", ["pe", "ndigo-7", "ndigo-sum", "custom_reward:reward"])
def test_reward_that_reads_the_table_alone_has_an_ideal(name):
    reward = make_reward(f"ideal-{name}")
    assert reward.name == f"ideal-{make_reward(name).name}"
    assert reward.on_episode is not None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndigo", "write ndigo-H with a whole horizon H of at least 1, such as ndigo-4"),
        ("ndigo-", "write ndigo-H"),
        ("ndigo-1.5", "write ndigo-H"),
        ("ndigo--2", "write ndigo-H"),
        ("ndigo-0", "at least 1"),
        ("curiosity", "unknown reward 'curiosity'; known: icm, ideal-ndigo-4"),
        ("ncm", r"nearest: icm"),
        ("ideal-random", "reward random has no ideal"),
    ],
)
def test_bad_name_is_one_clear_error(name, message):
    with pytest.raises(NdigoError, match=message):
        make_reward(name)


def test_reward_that_reads_predictions_says_so_when_there_are_none():
    seen = Seen(window=random_window(0, T=4), z_t=jnp.zeros(5), b_t=jnp.zeros(5), loss_tk=None)
    with pytest.raises(ValueError, match="reads predictions"):
        make_reward("pe").pay(None, None, None, seen)


def test_what_a_reward_reads_is_kept_in_order_however_it_is_given():
    right = make_reward("ndigo-4")
    for reads in (right.reads[::-1], list(right.reads), [[5, 1], [4, -1]], {4: -1.0, 5: 1.0}.items()):
        other = dataclasses.replace(right, reads=reads)
        assert (other, hash(other)) == (right, hash(right))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reads": 3}, r"reads is 3, expected pairs \(k, w\), such as \(\(1, 1\.0\),\)"),
        ({"reads": (1, 1.0)}, r"reads is \(1, 1\.0\), expected pairs"),
        ({"reads": ((1.5, 1.0),)}, r"reads is \(\(1\.5, 1\.0\),\), expected pairs"),
        ({"reads": ((0, 1.0),)}, "reads has k = 0, expected 1 to 1000"),
        ({"reads_memory": ((1001, 1.0),)}, "reads_memory has k = 1001, expected 1 to 1000"),
        ({"trains_belief": True}, "reads is .*, expected none: with trains_belief nothing is predicted"),
    ],
)
def test_reads_that_cannot_be_are_one_line(changes, message):
    with pytest.raises(NdigoError, match=f"^reward ndigo-4: {message}"):
        dataclasses.replace(make_reward("ndigo-4"), pay=make_reward("icm").pay, **changes)  # not what it reads
