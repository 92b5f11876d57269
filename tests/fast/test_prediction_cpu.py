"""The open-loop predictor's gradient by hand, a belief a column, is the one that JAX derives."""

from __future__ import annotations

from functools import cache, partial

import jax
import numpy as np
import pytest
from random_weights import random_weights
from small_frames import bits_of

from ndigo.fast.prediction import joint_loss, weighted_loss
from ndigo.fast.prediction_cpu import has_columns, open_loop_block
from ndigo.frames import Likelihood
from ndigo.model import LIKELIHOODS
from ndigo.model.predictors import init_predictor
from ndigo.networks import lower

K, N, D, F, A = 3, 48, 16, 24, 5
KINDS = ["one_hot", "binary", "one_hot"]  # not in the logits' order, which has binary channels first


def inputs(likelihood: Likelihood, seed: int = 0):
    rng = np.random.default_rng(seed)
    sizes = {"D": D, "A": A, "K": K, "num_hidden": F, "num_outputs": likelihood.num_outputs}
    predictor = random_weights(lambda key: init_predictor("open_loop", key, **sizes), seed)  # biases too
    frames = (rng.random((K, N, 5, 5, len(KINDS))) < [0.02, 0.5, 0.02]).astype(np.uint8)
    weight_kn = rng.random((K, N)).astype(np.float32)
    weight_kn[-1, -5:] = 0
    a_kn = rng.integers(A, size=(K, N))
    b_n = rng.normal(size=(N, D)).astype(np.float32)
    return predictor, b_n, a_kn, jax.jit(likelihood.target)(frames), weight_kn


@cache
def block_of(name: str):
    return jax.jit(partial(open_loop_block, bits_of(5, KINDS).likelihood(name)))


def assert_close(ours, theirs):
    for one, two in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.dtype == two.dtype
        assert np.linalg.norm(one - two) <= 1e-5 * np.linalg.norm(two)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_loss_and_gradient_are_those_of_automatic_differentiation(name):
    likelihood = bits_of(5, KINDS).likelihood(name)
    by_jax = jax.value_and_grad(partial(weighted_loss, likelihood), argnums=(0, 1), has_aux=True)
    everything = inputs(likelihood)
    assert_close(block_of(name)(*everything), jax.jit(by_jax)(*everything))


def test_seeds_side_by_side_have_the_gradients_of_each_alone():
    likelihood = bits_of(5, KINDS).likelihood("categorical")
    seeds = [inputs(likelihood, seed) for seed in range(2)]
    learn = jax.grad(lambda *x: joint_loss(likelihood, *x)[0], argnums=(0, 1))  # pyright: ignore[reportIndexIssue]
    together = jax.jit(jax.vmap(learn))(*jax.tree.map(lambda *x: np.stack(x), *seeds))
    by_jax = jax.jit(jax.grad(lambda *x: weighted_loss(likelihood, *x)[0], argnums=(0, 1)))
    for i, seed in enumerate(seeds):
        assert_close(jax.tree.map(lambda x, i=i: np.asarray(x)[i], together), by_jax(*seed))


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_large_logits_stay_finite(name):
    likelihood = bits_of(5, KINDS).likelihood(name)
    predictor, b_n, a_kn, target_kn, weight_kn = inputs(likelihood)
    loud = jax.tree.map(lambda x: 1e3 * np.asarray(x), predictor)
    results = block_of(name)(loud, b_n, a_kn, target_kn, weight_kn)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(results))


def test_the_columns_are_for_the_open_loop_in_float32():
    sizes = {"D": D, "A": A, "K": K, "num_hidden": F, "num_outputs": 77}
    likelihood = bits_of(5, KINDS).likelihood("categorical")
    names = ("open_loop", "action_gru", "mlp")
    made = {name: random_weights(lambda key, name=name: init_predictor(name, key, **sizes)) for name in names}
    takes = {name: has_columns(likelihood, p) for name, p in made.items()}
    assert takes == {"open_loop": True, "action_gru": False, "mlp": False}
    assert not has_columns(likelihood, lower(made["open_loop"], "bfloat16"))
