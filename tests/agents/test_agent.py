"""One agent, one answer, whoever asks."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from custom_world import world as three_doors
from untrained import untrained

from ndigo.api import load_trained
from ndigo.errors import NdigoError
from ndigo.rewards import make_reward
from ndigo.types import Window
from ndigo.watching.recording import record

AGENT = Path(__file__).parents[2] / "results/agents/exp5-ndigo-2.safetensors"
EPISODES, SEED = 2, 5


def test_a_recorded_agent_has_the_discovery_loss_of_its_evaluation():
    """In the bfloat16 it was trained in: the same episodes, with beliefs apart by rounding alone.

    The maze's agent is paid all the way. One that has found everything wanders as rounding has it (studies/rounding).
    """
    trained = load_trained(AGENT)
    assert trained.config.precision == "bfloat16"
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(SEED), 0), 0)  # part 0 of the seed, network 0
    recorded = record(trained.agent(), jax.random.split(key, EPISODES)).discovery_loss[:, :400].mean(axis=1)
    np.testing.assert_allclose(trained.evaluate(EPISODES, SEED).discovery_loss[0], recorded, rtol=0.003)


def test_the_window_of_a_whole_episode_has_nothing_before_it():
    o_t, a_t = jnp.zeros((4, 3, 3, 2), jnp.uint8), jnp.array([2, 1, 3])
    window = Window.whole(o_t, a_t, state_size=5)
    assert window.a_tm1.tolist() == [0, 2, 1, 3]
    assert (window.belief.shape, window.agent_state.shape, window.cells.shape) == ((5,), (5,), (4, 0))
    assert int(window.start) == 0
    np.testing.assert_array_equal(window.mu_t, 1)
    assert not window.belief.any()


@pytest.fixture(scope="module")
def agent():
    return untrained(three_doors)


def test_an_agents_model_is_in_the_precision_of_its_training_or_in_float32_where_its_reward_needs_that(agent):
    config = dataclasses.replace(agent.config, precision="bfloat16")
    for reward, model in (("ndigo-1", "bfloat16"), ("pg", "float32")):
        networks = dataclasses.replace(agent, config=config, reward=make_reward(reward)).networks
        assert {str(x.dtype) for x in jax.tree.leaves(networks.model)} == {model}
        assert {str(x.dtype) for x in jax.tree.leaves(networks.agent)} == {"bfloat16"}


@pytest.mark.parametrize(
    ("o_t", "message"),
    [
        (np.zeros((1, 4), np.uint8), r"o_t has the shape \[1, 4\], expected \[1, 1, 4\]"),
        (np.zeros((2, 1, 1, 4), np.uint8), r"o_t has the shape \[2, 1, 1, 4\], expected \[1, 1, 4\]"),
        ([[0, 1, 0, 1]], r"o_t has the shape \[1, 4\], expected \[1, 1, 4\]"),
        ({"doors": np.zeros((1, 1, 4))}, "o_t is a dictionary with doors, expected an array"),
    ],
)
def test_a_frame_of_another_shape_is_one_line(agent, o_t, message):
    with pytest.raises(NdigoError, match=f"^{message}$"):
        agent.step(o_t, agent.start())


def test_a_list_is_a_frame_too(agent):
    o_t = [[[1, 0, 0, 1]]]
    assert agent.step(o_t, agent.start())[0] == agent.step(np.array(o_t, np.uint8), agent.start())[0]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([], r"actions are float64\[0\], expected at least one whole number in a row"),
        (1, r"actions are int64\[\], expected at least one whole number in a row"),
        ([[0, 1]], r"actions are int64\[1, 2\], expected at least one whole number in a row"),
        ([0.5, 1.0], r"actions are float64\[2\], expected at least one whole number in a row"),
        ([0, 3], "actions reach from 0 to 3, expected 0 to 2"),
        ([-1, 0], "actions reach from -1 to 0, expected 0 to 2"),
    ],
)
def test_actions_that_cannot_be_taken_are_one_line(agent, actions, message):
    with pytest.raises(NdigoError, match=f"^{message}$"):
        agent.predict(agent.start(), actions)


def test_an_agent_that_predicts_nothing_says_so():
    icm = untrained(three_doors, "icm")
    with pytest.raises(NdigoError, match="an agent of the reward icm predicts nothing"):
        icm.predict(icm.start(), [0])
