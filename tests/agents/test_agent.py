"""One agent, one answer, whoever asks."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from ndigo.api import load_trained
from ndigo.types import Window
from ndigo.watching.recording import record

AGENT = Path(__file__).parents[2] / "results/agents/exp1-ndigo-4.safetensors"
EPISODES, SEED = 2, 5


def test_a_recorded_agent_has_the_discovery_loss_of_its_evaluation():
    """In the bfloat16 it was trained in: the same episodes, with beliefs apart by rounding alone."""
    trained = load_trained(AGENT)
    assert trained.config.precision == "bfloat16"
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(SEED), 0), 0)  # part 0 of the seed, network 0
    recorded = record(trained.agent(), jax.random.split(key, EPISODES)).discovery_loss[:, :400].mean(axis=1)
    np.testing.assert_allclose(trained.evaluate(EPISODES, SEED).discovery_loss[0], recorded, rtol=0.01)


def test_the_window_of_a_whole_episode_has_nothing_before_it():
    o_t, a_t = jnp.zeros((4, 3, 3, 2), jnp.uint8), jnp.array([2, 1, 3])
    window = Window.whole(o_t, a_t, state_size=5)
    assert window.a_tm1.tolist() == [0, 2, 1, 3]
    assert (window.belief.shape, window.agent_state.shape, window.cells.shape) == ((5,), (5,), (4, 0))
    assert int(window.start) == 0
    np.testing.assert_array_equal(window.mu_t, 1)
    assert not window.belief.any()
