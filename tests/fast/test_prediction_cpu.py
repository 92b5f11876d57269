"""The open-loop predictor's gradient by hand, a belief a column, is the one that JAX derives."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
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
    keys = jax.random.split(jax.random.key(seed), 6)
    predictor = init_predictor("open_loop", keys[0], D=D, A=A, K=K, num_hidden=F, num_outputs=likelihood.num_outputs)
    predictor = jax.tree.map(lambda x: x + 0.1 * jax.random.normal(keys[1], x.shape), predictor)  # biases too
    frames = jax.random.bernoulli(keys[2], 0.02, (K, N, 5, 5, len(KINDS)))
    frames = frames.at[..., 1].set(jax.random.bernoulli(keys[3], 0.5, (K, N, 5, 5)))
    weight_kn = jax.random.uniform(keys[4], (K, N)).at[-1, -5:].set(0)
    a_kn = jax.random.randint(keys[5], (K, N), 0, A)
    b_n = jax.random.normal(keys[1], (N, D))
    return predictor, b_n, a_kn, likelihood.target(frames.astype(jnp.uint8)), weight_kn


def assert_close(ours, theirs):
    for one, two in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.dtype == two.dtype
        assert np.linalg.norm(one - two) <= 1e-5 * np.linalg.norm(two)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_loss_and_gradient_are_those_of_automatic_differentiation(name):
    likelihood = bits_of(5, KINDS).likelihood(name)
    by_jax = jax.value_and_grad(partial(weighted_loss, likelihood), argnums=(0, 1), has_aux=True)
    everything = inputs(likelihood)
    assert_close(jax.jit(partial(open_loop_block, likelihood))(*everything), jax.jit(by_jax)(*everything))


def test_seeds_side_by_side_have_the_gradients_of_each_alone():
    likelihood = bits_of(5, KINDS).likelihood("categorical")
    seeds = [inputs(likelihood, seed) for seed in range(2)]
    learn = jax.grad(lambda *x: joint_loss(likelihood, *x)[0], argnums=(0, 1))  # pyright: ignore[reportIndexIssue]
    together = jax.jit(jax.vmap(learn))(*jax.tree.map(lambda *x: jnp.stack(x), *seeds))
    for i, seed in enumerate(seeds):
        by_jax = jax.grad(lambda *x: weighted_loss(likelihood, *x)[0], argnums=(0, 1))
        assert_close(jax.tree.map(lambda x, i=i: x[i], together), jax.jit(by_jax)(*seed))


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_large_logits_stay_finite(name):
    likelihood = bits_of(5, KINDS).likelihood(name)
    predictor, b_n, a_kn, target_kn, weight_kn = inputs(likelihood)
    loud = jax.tree.map(lambda x: 1e3 * x, predictor)
    results = open_loop_block(likelihood, loud, b_n, a_kn, target_kn, weight_kn)
    assert all(jnp.isfinite(x).all() for x in jax.tree.leaves(results))


def test_the_columns_are_for_the_open_loop_in_float32():
    sizes = {"D": D, "A": A, "K": K, "num_hidden": F, "num_outputs": 77}
    likelihood = bits_of(5, KINDS).likelihood("categorical")
    made = {name: init_predictor(name, jax.random.key(0), **sizes) for name in ("open_loop", "action_gru", "mlp")}
    takes = {name: has_columns(likelihood, p) for name, p in made.items()}
    assert takes == {"open_loop": True, "action_gru": False, "mlp": False}
    assert not has_columns(likelihood, lower(made["open_loop"], "bfloat16"))
