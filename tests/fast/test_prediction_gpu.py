"""The kernels of the open-loop predictor give the loss and gradient that JAX derives (interpreted, without a GPU)."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
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
    keys = jax.random.split(jax.random.key(0), 6)
    predictor = init_predictor("open_loop", keys[0], D=D, A=A, K=K, num_hidden=F, num_outputs=likelihood.num_outputs)
    predictor = jax.tree.map(lambda x: x + 0.1 * jax.random.normal(keys[1], x.shape), predictor)  # biases too
    frames = (
        jax.random.bernoulli(keys[2], 0.02, (K, N, 5, 5, len(KINDS)))
        .at[..., 1]
        .set(jax.random.bernoulli(keys[3], 0.5, (K, N, 5, 5)))
    )
    weight_kn = jax.random.uniform(keys[4], (K, N)).at[-1, -5:].set(0)
    a_kn = jax.random.randint(keys[5], (K, N), 0, A)
    b_n = jax.random.normal(keys[1], (N, D))
    return predictor, (b_n, a_kn, likelihood.target(frames.astype(jnp.uint8)), weight_kn)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.06)])  # which keeps 8 bits
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_loss_and_gradient_are_those_of_automatic_differentiation(name, dtype, tolerance, interpret):
    if dtype == "float32" and not interpret:
        pytest.skip("a GPU's matrix units round float32")
    likelihood = bits_of(5, KINDS).likelihood(name)
    predictor, rest = inputs(likelihood)
    by_jax = jax.value_and_grad(partial(weighted_loss, likelihood), argnums=(0, 1), has_aux=True)
    (loss, loss_kn), expected = jax.jit(by_jax)(predictor, *rest)
    lowered = lower(predictor, dtype)
    (ours, ours_kn), gradient = open_loop_gradient(likelihood, lowered, *rest, interpret=interpret)
    assert jax.tree.map(lambda x: x.dtype, gradient[0]) == jax.tree.map(lambda x: x.dtype, lowered)
    ours, theirs = jax.tree.leaves((ours, ours_kn, gradient)), jax.tree.leaves((loss, loss_kn, expected))
    for one, two in zip(ours, theirs, strict=True):
        one, two = (np.asarray(x, np.float64) for x in (one, two))
        assert np.linalg.norm(one - two) < tolerance * np.linalg.norm(two)


def test_the_kernels_are_for_the_open_loop_in_bfloat16_and_whole_tiles():
    likelihood = bits_of(5, KINDS).likelihood("categorical")
    sizes = {"D": D, "A": A, "K": K, "num_hidden": F, "num_outputs": likelihood.num_outputs}
    made = {name: init_predictor(name, jax.random.key(0), **sizes) for name in ("open_loop", "action_gru", "mlp")}
    b_n = jnp.zeros((N, D))
    takes = {name: has_kernels(likelihood, lower(p, "bfloat16"), b_n) for name, p in made.items()}
    assert takes == {"open_loop": True, "action_gru": False, "mlp": False}
    assert not has_kernels(likelihood, made["open_loop"], b_n)  # float32
    assert not has_kernels(likelihood, lower(made["open_loop"], "bfloat16"), b_n[1:])
    assert not has_kernels(bits_of(7, KINDS).likelihood("categorical"), lower(made["open_loop"], "bfloat16"), b_n)
