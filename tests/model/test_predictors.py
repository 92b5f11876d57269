"""All predictors: which actions a prediction may depend on, and what `read` is handed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo.errors import NdigoError
from ndigo.model import PREDICTORS
from ndigo.model.predictors import init_predictor

K, A, D, T = 5, 3, 8, 4
SIZES = {"D": D, "A": A, "K": K, "num_hidden": 16, "num_outputs": 7}


def logits_of(name: str):
    """A function of b_t [..., D] and actions [K, ...] to logits [K, ..., 7]."""
    predictor = init_predictor(name, jax.random.key(0), **SIZES)
    return jax.jit(lambda b_t, a_kt: predictor.predict(b_t, a_kt, lambda logits, _: logits, None))


@pytest.mark.parametrize("name", PREDICTORS)
def test_prediction_for_k_ahead_reads_the_first_k_actions_and_no_later_one(name):
    ahead = logits_of(name)
    b_t = jax.random.normal(jax.random.key(1), (D,))
    a_k = jnp.array([0, 2, 1, 1, 0])
    before = ahead(b_t, a_k)
    for j in range(K):
        is_changed = (ahead(b_t, a_k.at[j].set((a_k[j] + 1) % A)) != before).any(axis=-1)
        # a_{t+j} lies before o_{t+k} for k = j+1 .. K.
        np.testing.assert_array_equal(is_changed, np.arange(1, K + 1) > j, err_msg=f"action a_(t+{j})")


@pytest.mark.parametrize("name", PREDICTORS)
def test_every_prediction_reads_the_belief(name):
    ahead = logits_of(name)
    a_k = jnp.zeros(K, int)
    assert (ahead(jnp.ones(D), a_k) != ahead(jnp.zeros(D), a_k)).any(axis=-1).all()


@pytest.mark.parametrize("name", PREDICTORS)
def test_streams_are_predicted_as_alone(name):
    ahead = logits_of(name)
    b_t = jax.random.normal(jax.random.key(1), (T, 2, D))
    a_kt = jax.random.randint(jax.random.key(2), (K, T, 2), 0, A)
    together = ahead(b_t, a_kt)
    for t, b in np.ndindex(T, 2):
        np.testing.assert_allclose(together[:, t, b], ahead(b_t[t, b], a_kt[:, t, b]), atol=1e-5)


@pytest.mark.parametrize("name", PREDICTORS)
def test_read_gets_the_logits_of_k_with_the_target_of_k(name):
    predictor = init_predictor(name, jax.random.key(0), **SIZES)
    b_t = jax.random.normal(jax.random.key(1), (T, D))
    a_kt = jax.random.randint(jax.random.key(2), (K, T), 0, A)
    logits = predictor.predict(b_t, a_kt, lambda logits, _: logits, None)
    index = 100 * jnp.arange(1, K + 1)[:, None] + jnp.arange(T)
    shown = predictor.predict(b_t, a_kt, lambda logits, target: logits.sum(-1) + target, index)
    np.testing.assert_allclose(shown, logits.sum(-1) + index, rtol=1e-5)


def test_mlp_predictors_share_no_weight():
    """The loss of one k has no gradient in the weights of another."""
    predictor = init_predictor("mlp", jax.random.key(0), **SIZES)
    b_t, a_k = jnp.ones(D), jnp.zeros(K, int)
    grads = jax.grad(lambda p: p.predict(b_t, a_k, lambda logits, _: logits, None)[2].sum())(predictor)
    by_k = {"from_belief": 1, "from_actions": 2, "bias": 0, "output": 0, "output_bias": 0}
    for name, axis in by_k.items():
        g = np.moveaxis(np.asarray(getattr(grads, name)), axis, 0)
        assert [bool(part.any()) for part in g] == [k == 2 for k in range(K)], name


def test_one_decoder_serves_every_k_in_the_unrolled_predictors():
    """More steps ahead need no more weights."""
    for name in ("action_gru", "open_loop"):
        short, long = (
            [x.shape for x in jax.tree.leaves(init_predictor(name, jax.random.key(0), **(SIZES | {"K": k})))]
            for k in (2, 9)
        )
        assert short == long


def test_belief_enters_open_loop_as_its_first_state_and_action_gru_beside_it():
    open_loop, action_gru = (init_predictor(name, jax.random.key(0), **SIZES) for name in ("open_loop", "action_gru"))
    assert open_loop.from_belief is None  # type: ignore[attr-defined]
    assert action_gru.from_belief is not None  # type: ignore[attr-defined]


def test_unknown_predictor_names_the_known_ones():
    with pytest.raises(NdigoError, match="unknown predictor 'gru'; known: action_gru, mlp, open_loop"):
        init_predictor("gru", jax.random.key(0), **SIZES)
