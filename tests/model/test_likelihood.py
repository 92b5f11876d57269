"""-ln p of frames against sums written by hand in float64."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_frames import bits_of

from ndigo.errors import NdigoError
from ndigo.frames.bits import NUM_MIXED
from ndigo.model import LIKELIHOODS, make_likelihood

KINDS = ["one_hot", "binary", "one_hot", "binary"]  # not sorted by kind: the order must survive


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def softmax(x):
    x = np.exp(np.asarray(x, np.float64))
    return x / x.sum()


def frame(view: int, kinds, rng) -> np.ndarray:
    """A random frame; a one-hot channel is empty now and then."""
    o = np.zeros((view * view, len(kinds)), np.uint8)
    for c, kind in enumerate(kinds):
        if kind == "binary":
            o[:, c] = rng.integers(2, size=view * view)
        elif (where := rng.integers(view * view + 1)) < view * view:
            o[where, c] = 1
    return o.reshape(view, view, len(kinds))


def nats_by_hand(logits: np.ndarray, o: np.ndarray, kinds, num_mixed: int) -> np.ndarray:
    """Logits hold the binary channels first, then the one-hot ones with "absent" last."""
    view = o.shape[0]
    flat = o.reshape(view * view, -1)
    at, nats = 0, np.zeros(len(kinds))
    for c in sorted(range(len(kinds)), key=lambda c: kinds[c] == "one_hot"):
        pictures = num_mixed if kinds[c] == "binary" else 1
        size = pictures * (view * view + (kinds[c] == "one_hot" or pictures > 1))
        part, at = logits[at : at + size], at + size
        if kinds[c] == "binary":
            rows = part.reshape(pictures, -1)
            p = sigmoid(rows[:, : view * view])
            chance = np.where(flat[:, c] == 1, p, 1 - p).prod(axis=1)
            nats[c] = -np.log(chance @ (softmax(rows[:, -1]) if pictures > 1 else [1]))
        else:
            nats[c] = -np.log(softmax(part)[flat[:, c].argmax() if flat[:, c].any() else view * view])
    assert at == len(logits)
    return nats


def nats_of(likelihood, logits, o) -> np.ndarray:
    nats = jax.jit(lambda logits, o: likelihood.nats(logits, likelihood.target(o)))
    return np.asarray(nats(jnp.asarray(logits, jnp.float32), jnp.asarray(o)))


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("kinds", [KINDS, ["binary"], ["one_hot"], ["binary", "one_hot", "one_hot"]], ids=str)
def test_nats_are_minus_ln_p_in_the_order_of_the_channels(name, kinds):
    likelihood = make_likelihood(name, bits_of(3, kinds))
    rng = np.random.default_rng(0)
    o = np.stack([frame(3, kinds, rng) for _ in range(20)])
    logits = 2 * rng.normal(size=(20, likelihood.num_outputs))
    nats = nats_of(likelihood, logits, o)
    as_read = ["binary"] * len(kinds) if name == "bernoulli" else kinds
    num_mixed = NUM_MIXED if name == "mixture" else 1
    expected = [nats_by_hand(row, frame_, as_read, num_mixed) for row, frame_ in zip(logits, o, strict=True)]
    np.testing.assert_allclose(nats, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_probabilities_of_all_frames_sum_to_one(name):
    """Every frame of a 2x2 view with one binary and one object channel; `bernoulli` allows several objects."""
    likelihood = make_likelihood(name, bits_of(2, ["binary", "one_hot"]))
    logits = np.random.default_rng(0).normal(size=likelihood.num_outputs)
    walls = list(itertools.product([0, 1], repeat=4))
    objects = walls if name == "bernoulli" else [*np.eye(4, dtype=int), np.zeros(4, int)]
    frames = np.array([np.stack([w, o], axis=-1).reshape(2, 2, 2) for w in walls for o in objects], np.uint8)
    p = np.exp(-nats_of(likelihood, logits, frames).sum(axis=-1))
    assert p.sum() == pytest.approx(1, abs=1e-5)


def test_probabilities_to_look_at_are_those_of_the_nats():
    """The chance of each cell, from the logits by hand, in the channels' order."""
    likelihood = make_likelihood("categorical", bits_of(2, KINDS))
    p = np.asarray(jax.jit(likelihood.chances)(jnp.asarray(np.arange(18) / 4, jnp.float32)))
    assert p.shape == (2, 2, 4)
    np.testing.assert_allclose(p[..., 1].ravel(), sigmoid(np.arange(0, 4) / 4), rtol=1e-5)
    np.testing.assert_allclose(p[..., 3].ravel(), sigmoid(np.arange(4, 8) / 4), rtol=1e-5)
    np.testing.assert_allclose(p[..., 0].ravel(), softmax(np.arange(8, 13) / 4)[:4], rtol=1e-5)
    np.testing.assert_allclose(p[..., 2].ravel(), softmax(np.arange(13, 18) / 4)[:4], rtol=1e-5)


def test_cells_of_a_mixture_look_as_the_frames_of_its_nats_do():
    """The chance of each cell is the sum of exp(-nats) over all pictures in which it is 1."""
    likelihood = make_likelihood("mixture", bits_of(2, ["binary"]))
    logits = jnp.asarray(2 * np.random.default_rng(0).normal(size=likelihood.num_outputs), jnp.float32)
    frames = np.array(list(itertools.product([0, 1], repeat=4)), np.uint8).reshape(-1, 2, 2, 1)
    p = np.exp(-nats_of(likelihood, logits, frames))
    np.testing.assert_allclose(
        jax.jit(likelihood.chances)(logits), (p[:, :, None, None] * frames).sum(axis=0), rtol=1e-4
    )


def test_a_mixture_can_hold_two_pictures_that_cells_on_their_own_cannot():
    """Two opposite pictures, each as likely: ln 2 together, and V*V ln 2 cell by cell."""
    picture = np.array([[1, 0], [0, 1]])
    rows = np.zeros((NUM_MIXED, 5))
    rows[:2, :4] = 40 * (2 * np.stack([picture, 1 - picture]).reshape(2, 4) - 1)
    rows[2:, 4] = -40  # no weight
    frames = np.stack([picture, 1 - picture])[..., None].astype(np.uint8)
    mixed, single = (make_likelihood(name, bits_of(2, ["binary"])) for name in ("mixture", "categorical"))
    np.testing.assert_allclose(nats_of(mixed, rows.ravel(), frames), np.log(2), rtol=1e-5)
    np.testing.assert_allclose(nats_of(single, np.zeros(4), frames), 4 * np.log(2), rtol=1e-5)


def test_unknown_likelihood_names_the_known_ones():
    with pytest.raises(NdigoError, match=r"unknown likelihood 'categorial'; nearest: categorical; known: bernoulli"):
        make_likelihood("categorial", bits_of(5, ["binary"]))
