"""All predictors: which actions a prediction may depend on, and what `read` is handed."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from random_weights import random_weights

from ndigo.errors import NdigoError
from ndigo.model import PREDICTORS
from ndigo.model.predictors import init_predictor

K, A, D, T = 5, 3, 8, 4
SIZES = {"D": D, "A": A, "K": K, "num_hidden": 16, "num_outputs": 7}


def predictor_of(name: str) -> Any:
    return random_weights(lambda key: init_predictor(name, key, **SIZES))


@cache
def logits_of(name: str):
    """A function of b_t [..., D] and actions [K, ...] to logits [K, ..., 7]."""
    predictor = predictor_of(name)
    return jax.jit(lambda b_t, a_kt: predictor.predict(b_t, a_kt, lambda logits, _: logits, None))


@pytest.mark.parametrize("name", PREDICTORS)
def test_prediction_for_k_ahead_reads_the_first_k_actions_and_no_later_one(name):
    ahead = logits_of(name)
    b_t = np.random.default_rng(1).normal(size=D)
    a_k = np.array([0, 2, 1, 1, 0])
    before = np.asarray(ahead(b_t, a_k))
    for j in range(K):
        other = np.where(np.arange(K) == j, (a_k + 1) % A, a_k)
        is_changed = (np.asarray(ahead(b_t, other)) != before).any(axis=-1)
        # a_{t+j} lies before o_{t+k} for k = j+1 .. K.
        np.testing.assert_array_equal(is_changed, np.arange(1, K + 1) > j, err_msg=f"action a_(t+{j})")


@pytest.mark.parametrize("name", PREDICTORS)
def test_every_prediction_reads_the_belief(name):
    ahead = logits_of(name)
    a_k = np.zeros(K, int)
    ones, zeros = (np.asarray(ahead(b_t, a_k)) for b_t in (np.ones(D), np.zeros(D)))
    assert (ones != zeros).any(axis=-1).all()


@pytest.mark.parametrize("name", PREDICTORS)
def test_streams_are_predicted_as_alone(name):
    ahead, rng = logits_of(name), np.random.default_rng(1)
    b_t, a_kt = rng.normal(size=(T, 2, D)), rng.integers(A, size=(K, T, 2))
    together = np.asarray(ahead(b_t, a_kt))
    for t, b in np.ndindex(T, 2):
        np.testing.assert_allclose(together[:, t, b], ahead(b_t[t, b], a_kt[:, t, b]), atol=1e-5)


@pytest.mark.parametrize("name", PREDICTORS)
def test_read_gets_the_logits_of_k_with_the_target_of_k(name):
    predictor, rng = predictor_of(name), np.random.default_rng(1)
    b_t, a_kt = rng.normal(size=(T, D)), rng.integers(A, size=(K, T))
    index = 100 * np.arange(1, K + 1)[:, None] + np.arange(T)

    @jax.jit
    def predicted(b_t, a_kt, index):
        logits = predictor.predict(b_t, a_kt, lambda logits, _: logits, None)
        return logits, predictor.predict(b_t, a_kt, lambda logits, target: logits.sum(-1) + target, index)

    logits, shown = map(np.asarray, predicted(b_t, a_kt, index))
    np.testing.assert_allclose(shown, logits.sum(-1) + index, rtol=1e-5)


def test_mlp_predictors_share_no_weight():
    """The loss of one k has no gradient in the weights of another."""
    b_t, a_k = np.ones(D, np.float32), np.zeros(K, int)
    gradient = jax.grad(lambda p: p.predict(b_t, a_k, lambda logits, _: logits, None)[2].sum())
    grads = jax.jit(gradient)(predictor_of("mlp"))
    by_k = {"from_belief": 1, "from_actions": 2, "bias": 0, "output": 0, "output_bias": 0}
    for name, axis in by_k.items():
        g = np.moveaxis(np.asarray(getattr(grads, name)), axis, 0)
        assert [bool(part.any()) for part in g] == [k == 2 for k in range(K)], name


def test_one_decoder_serves_every_k_in_the_unrolled_predictors():
    """More steps ahead need no more weights."""

    def shapes(name: str, k: int):
        made = jax.eval_shape(lambda key: init_predictor(name, key, **(SIZES | {"K": k})), jax.random.key(0))
        return [x.shape for x in jax.tree.leaves(made)]

    for name in ("action_gru", "open_loop"):
        assert shapes(name, 2) == shapes(name, 9)


def test_belief_enters_open_loop_as_its_first_state_and_action_gru_beside_it():
    assert predictor_of("open_loop").from_belief is None
    assert predictor_of("action_gru").from_belief is not None


def test_unknown_predictor_names_the_known_ones():
    with pytest.raises(NdigoError, match="unknown predictor 'gru'; known: action_gru, mlp, open_loop"):
        init_predictor("gru", jax.random.key(0), **SIZES)
