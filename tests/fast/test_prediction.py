"""The prediction loss in one pass, and its gradient, are those that JAX derives from the table of losses."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_weights import random_weights
from random_windows import random_window
from small_frames import bits_of

from ndigo import model as plain
from ndigo.fast import prediction
from ndigo.fast.prediction import predict
from ndigo.fast.prediction_cpu import has_columns
from ndigo.fast.prediction_gpu import has_kernels
from ndigo.frames.bits import BitsLikelihood
from ndigo.model import LIKELIHOODS, PREDICTORS, Likelihood, WorldModel, init_world_model, make_likelihood
from ndigo.networks import lower

T, K = 6, 4
KINDS = ("binary", "one_hot")


def model_of(predictor: str | None, likelihood: Likelihood, belief_size: int = 4) -> WorldModel:
    return random_weights(  # biases too
        lambda key: init_world_model(
            key,
            frame=bits_of(3, KINDS),
            num_actions=3,
            likelihood=likelihood,
            predictor=predictor,
            num_ahead=K,
            num_features=8,
            num_filters=16,
            belief_size=belief_size,
            num_hidden=8,
        )
    )


def both(model, window):
    """(loss, what was seen) and the gradient of a multiple of the loss, by the twin and by the plain function."""

    @jax.jit
    def run(model):
        def times_three(form):
            return jax.value_and_grad(lambda m: (lambda loss, seen: (3 * loss, seen))(*form(m, window)), has_aux=True)

        return times_three(predict)(model), times_three(plain.predict)(model)

    return run(model)


def assert_close(ours, theirs, tolerance):
    for one, two in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.dtype == two.dtype
        one, two = (np.asarray(x, np.float64) for x in (one, two))
        assert np.linalg.norm(one - two) <= tolerance * np.linalg.norm(two)


CASES = [
    *((predictor, likelihood, (7,)) for predictor in PREDICTORS for likelihood in LIKELIHOODS),  # three blocks of 14
    *(("open_loop", "categorical", streams) for streams in ((), (2, 2))),  # one block of 6, two of 12
]


@pytest.mark.parametrize(("predictor", "likelihood", "streams"), CASES, ids=str)
def test_loss_gradient_and_what_was_seen_are_those_of_the_plain_function(predictor, likelihood, streams, monkeypatch):
    monkeypatch.setattr(prediction, "BLOCK", 16)
    model = model_of(predictor, make_likelihood(likelihood, bits_of(3, KINDS)))
    ours, theirs = both(model, random_window(1, T=T, streams=streams))
    assert_close(ours, theirs, 1e-4)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_it_is_the_plain_function_in_bfloat16_too(predictor):
    model = lower(model_of(predictor, make_likelihood("categorical", bits_of(3, KINDS))), "bfloat16")
    ours, theirs = both(model, random_window(1, T=T, streams=(5,)))
    assert_close(ours, theirs, 0.05)  # bfloat16 keeps 8 bits


@pytest.mark.parametrize("blocks", [1, 6])
def test_logits_that_are_too_many_for_a_gpu_go_in_blocks(blocks, monkeypatch):
    """42 beliefs, 4 steps ahead of each: in one block, or in six of 7, of every seed at once."""
    model = model_of("open_loop", Halved(3, 3, (False, True)))  # has no kernels
    seeds = jax.tree.map(lambda x: np.stack([x, 2 * x]), jax.device_get(model))
    monkeypatch.setattr(prediction, "on_gpu", lambda: True)
    monkeypatch.setattr(prediction, "MOST_LOGITS", 42 // blocks * K * model.likelihood.num_outputs)
    sizes = []
    nats = Halved.nats
    monkeypatch.setattr(Halved, "nats", lambda self, x, target: sizes.append(x.shape[1]) or nats(self, x, target))
    ours, theirs = jax.vmap(lambda m: both(m, random_window(1, T=T, streams=(7,))))(seeds)
    assert_close(ours, theirs, 1e-4)
    assert sizes[0] == 42 // blocks


def test_a_model_that_predicts_nothing_has_no_loss():
    model = model_of(None, make_likelihood("categorical", bits_of(3, KINDS)))
    loss, seen = predict(model, random_window(1, T=T))
    assert loss == 0
    assert seen.loss_tk is None


@dataclass(frozen=True)
class Halved(BitsLikelihood):
    """A user's own: it differs from the library's in its formula alone."""

    def nats(self, logits, target):
        return 0.5 * super().nats(logits, target)


def test_a_likelihood_without_a_twin_learns_by_its_own_formula():
    """Its loss is half of the library's own on the same model and window, and its gradient JAX's."""
    window = random_window(1, T=T, streams=(5,))
    library = bits_of(3, KINDS).likelihood("categorical")
    ours, theirs = both(model_of("open_loop", Halved(library.height, library.width, library.is_one_hot)), window)
    assert_close(ours, theirs, 1e-4)
    whole, _ = both(model_of("open_loop", library), window)
    assert float(ours[0][0]) == pytest.approx(0.5 * float(whole[0][0]), rel=1e-5)


def test_no_gradient_by_hand_is_for_another_likelihood():
    library = bits_of(3, KINDS).likelihood("categorical")
    own = Halved(library.height, library.width, library.is_one_hot)
    sizes = {"D": 32, "A": 3, "K": K, "num_hidden": 64, "num_outputs": library.num_outputs}
    predictor, b_n = PREDICTORS["open_loop"](jax.random.key(0), **sizes), jnp.zeros((64, 32))
    low = lower(predictor, "bfloat16")
    assert (has_columns(library, predictor), has_columns(own, predictor)) == (True, False)
    assert (has_kernels(library, low, b_n), has_kernels(own, low, b_n)) == (True, False)
