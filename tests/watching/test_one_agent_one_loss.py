"""An agent's evaluation and tracking, against its recorded episodes of the same keys."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax
import numpy as np
import pytest

from ndigo.api import load_trained
from ndigo.evaluation.tracking import NUM_AGES
from ndigo.rewards import make_reward
from ndigo.watching.recording import record

AGENT = Path(__file__).parents[2] / "results/agents/exp1-ndigo-4.safetensors"
EPISODES, SEED = 4, 5


@pytest.fixture(scope="module")
def trained():
    """In float32, as recordings are; and it walks at random, so that it sees the noise as well."""
    trained = load_trained(AGENT)
    config = dataclasses.replace(trained.config, precision="float32")
    return dataclasses.replace(trained, config=config, reward=make_reward("random"))


@pytest.fixture(scope="module")
def episodes(trained):
    """The episodes that `evaluate` and `measure` play: part 0 of the seed, network 0, one key each."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(SEED), 0), 0)
    return record(trained.agent(), jax.random.split(key, EPISODES))


def test_discovery_loss_is_the_mean_over_the_400_frames_before_the_last(trained, episodes):
    found = trained.evaluate(EPISODES, SEED).discovery_loss[0]
    expected = episodes.discovery_loss[:, :400].mean(axis=1)
    # Nearer than a frame more, or the object's place a step later, would come.
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_tracking_sums_the_same_losses_by_the_steps_since_the_object_was_seen(trained, episodes):
    loss, steps = np.zeros((2, NUM_AGES)), np.zeros((2, NUM_AGES))
    for e in range(EPISODES):
        for n in range(2):
            last = None
            for t in range(400):
                last = t if episodes.o[e, t, :, :, 1 + n].any() else last
                if last is not None and t - last < NUM_AGES:
                    loss[n, t - last] += episodes.discovery_loss[e, t, n]
                    steps[n, t - last] += 1
    found = trained.measure(EPISODES, SEED).tracking
    np.testing.assert_array_equal(found.steps[0], steps)
    np.testing.assert_allclose(found.loss[0], loss, rtol=1e-5, atol=1e-5)
    assert steps[:, :2].all()  # both were seen, and then not
