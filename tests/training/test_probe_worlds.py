"""The whole loop on worlds whose outcome is known: what is learned, and where the agents go.

Seeds are fixed. Each assertion states the margin it was written with.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest
from probe_worlds import coin_flip, corridor, memory, pay_right_answers, two_arms

from ndigo import networks
from ndigo.config import Config, preset
from ndigo.rewards import IntrinsicReward, make_reward
from ndigo.training.rounds import TrainState
from ndigo.training.trainer import Trainer, make_trainer
from ndigo.worlds import World


def config_of(world: World, **changes: object) -> Config:
    """Small and quick: a high rate, a short replay, little patience."""
    small = {
        "num_ahead": 2,
        "belief_size": 16,
        "num_features": 16,
        "predictor_hidden": 32,
        "head_hidden": 16,
        "batch": 16,
        "window": world.num_steps,
        "actors": 8,
        "updates_per_round": 8,
        "replay_steps": 4000,
        "target_period": 20,
        "model_rate": 1e-2,
        "agent_rate": 3e-3,
        "gamma": 0.9,
        "learner_steps": 10_000,  # over which rates fall
        "evaluation_episodes": 32,
    }
    return preset("cpu", **(small | changes))


def train(trainer: Trainer, state: TrainState, num_chunks: int):
    """The state and the numbers of the last 40 updates of each seed."""
    numbers = None
    for _ in range(num_chunks):
        state, numbers = trainer.run_rounds(state, 20)
    return state, jax.tree.map(lambda x: np.asarray(x[:, -40:]), numbers)


def trained(world: World, reward: IntrinsicReward, num_chunks: int, **changes: object):
    trainer = make_trainer(config_of(world, **changes), world, reward)
    return trainer, *train(trainer, trainer.init(jax.random.key(0)), num_chunks)


def test_model_of_a_corridor_goes_to_zero_loss():
    """From 7 nats for two steps of 5 cells; three seeds ended at 0.001 to 0.0025."""
    _, _, numbers = trained(corridor(), make_reward("ndigo-1"), 2, model_rate=2e-2)
    assert numbers.model_loss.mean() < 0.05
    assert abs(numbers.reward.mean()) < 0.01, "nothing is left to discover"


@pytest.fixture(scope="module")
def coin_rewards() -> dict[str, np.ndarray]:
    return {name: trained(coin_flip(), make_reward(name), 1)[2].reward for name in ("pe", "ndigo-1")}


def test_coin_flip_pays_prediction_error_ln_2_for_ever(coin_rewards):
    """Three seeds: 0.690 to 0.694."""
    assert coin_rewards["pe"].mean() == pytest.approx(np.log(2), abs=0.01)


def test_coin_flip_pays_ndigo_nothing(coin_rewards):
    """Three seeds: 0.00003 to 0.0002."""
    assert coin_rewards["ndigo-1"].mean() == pytest.approx(0, abs=0.005)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "visits", "reward"), [("pe", [7, 0], np.log(8)), ("ndigo-1", [0, 7], np.log(8) / 8)])
def test_prediction_error_goes_to_the_noise_and_ndigo_to_the_object(name, visits, reward):
    """Three agents each: at once, in every greedy episode, to their own arm, for the reward it must pay.

    Noise pays prediction error ln 8 = 2.08 at each of 8 steps, the object pays NDIGO ln 8 once.
    """
    trainer, state, numbers = trained(two_arms(), make_reward(name), 5, seeds=3, agent_rate=6e-3, replay_steps=2000)
    seen = np.asarray(
        trainer.measure(state.learner.params, jax.random.key(1)).evaluation.visits
    )  # [seed, episode, arm]
    np.testing.assert_array_equal(seen, np.broadcast_to(visits, seen.shape))
    # Exploring actors sometimes take the other arm or wait: eighteen agents earned 81% to 95% of it.
    np.testing.assert_allclose(numbers.reward.mean(axis=1), reward, rtol=0.2)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_only_an_agent_with_a_memory_repeats_what_it_saw_two_steps_ago(monkeypatch):
    """All answers right with the recurrent state (after two thirds of these updates), at most half without."""
    world, reward = memory(), IntrinsicReward(name="right answers", pay=pay_right_answers)

    def share_right() -> np.ndarray:
        trainer, state, _ = trained(world, reward, 3, seeds=2, evaluation_episodes=64, plain=True)
        measured = trainer.measure(state.learner.params, jax.random.key(1))
        return np.asarray(measured.evaluation.frequency).mean(axis=(1, 2))

    np.testing.assert_array_equal(share_right(), 1)
    step = networks.gru_step
    monkeypatch.setattr(networks, "gru_step", lambda weight, x, h: step(weight, x, 0 * h))
    # 64 guesses: a standard error of 0.06.
    assert share_right().max() < 0.7
