"""The kernels of the open-loop predictor give the loss and gradient that JAX derives (interpreted, without a GPU)."""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_weights import random_weights
from small_frames import bits_of

from ndigo.fast.decoding_gpu import BELIEFS
from ndigo.fast.prediction import weighted_loss
from ndigo.fast.prediction_gpu import has_kernels, open_loop_gradient
from ndigo.frames import Likelihood
from ndigo.model import LIKELIHOODS
from ndigo.model.predictors import init_predictor
from ndigo.networks import lower

K, N, D, F, A = 3, 2 * BELIEFS, 64, 128, 5  # two tiles of each
KINDS = ["one_hot", "binary", "one_hot"]  # not in the logits' order, which has binary channels first


def inputs(likelihood: Likelihood):
    rng = np.random.default_rng(0)
    sizes = {"D": D, "A": A, "K": K, "num_hidden": F, "num_outputs": likelihood.num_outputs}
    predictor = random_weights(lambda key: init_predictor("open_loop", key, **sizes))  # biases too
    frames = (rng.random((K, N, 5, 5, len(KINDS))) < [0.02, 0.5, 0.02]).astype(np.uint8)
    weight_kn = rng.random((K, N)).astype(np.float32)
    weight_kn[-1, -5:] = 0
    a_kn = rng.integers(A, size=(K, N))
    b_n = rng.normal(size=(N, D)).astype(np.float32)
    return predictor, (b_n, a_kn, jax.jit(likelihood.target)(frames), weight_kn)


@cache
def by_jax(name: str):
    likelihood = bits_of(5, KINDS).likelihood(name)
    return jax.jit(jax.value_and_grad(partial(weighted_loss, likelihood), argnums=(0, 1), has_aux=True))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.06)])  # which keeps 8 bits
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_loss_and_gradient_are_those_of_automatic_differentiation(name, dtype, tolerance, interpret):
    if dtype == "float32" and not interpret:
        pytest.skip("a GPU's matrix units round float32")
    likelihood = bits_of(5, KINDS).likelihood(name)
    predictor, rest = inputs(likelihood)
    (loss, loss_kn), expected = by_jax(name)(predictor, *rest)
    lowered = jax.jit(lower, static_argnums=1)(predictor, dtype)
    by_kernels = jax.jit(partial(open_loop_gradient, likelihood, interpret=interpret))
    (ours, ours_kn), gradient = by_kernels(lowered, *rest)
    assert jax.tree.map(lambda x: x.dtype, gradient[0]) == jax.tree.map(lambda x: x.dtype, lowered)
    ours, theirs = jax.tree.leaves((ours, ours_kn, gradient)), jax.tree.leaves((loss, loss_kn, expected))
    for one, two in zip(ours, theirs, strict=True):
        one, two = (np.asarray(x, np.float64) for x in (one, two))
        assert np.linalg.norm(one - two) < tolerance * np.linalg.norm(two)


def test_the_kernels_are_for_the_open_loop_in_bfloat16_and_whole_tiles():
    likelihood = bits_of(5, KINDS).likelihood("categorical")
    sizes = {"D": D, "A": A, "K": K, "num_hidden": F, "num_outputs": likelihood.num_outputs}
    names = ("open_loop", "action_gru", "mlp")
    made = {name: random_weights(lambda key, name=name: init_predictor(name, key, **sizes)) for name in names}
    b_n = jnp.zeros((N, D))
    takes = {name: has_kernels(likelihood, lower(p, "bfloat16"), b_n) for name, p in made.items()}
    assert takes == {"open_loop": True, "action_gru": False, "mlp": False}
    assert not has_kernels(likelihood, made["open_loop"], b_n)  # float32
    assert not has_kernels(likelihood, lower(made["open_loop"], "bfloat16"), b_n[1:])
    assert not has_kernels(bits_of(7, KINDS).likelihood("categorical"), lower(made["open_loop"], "bfloat16"), b_n)
