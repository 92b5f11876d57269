"""A number that is not finite stops the run and is named: what, which seed, which step."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from tiny_runs import numbers, train_tiny

import ndigo
from ndigo.rewards.prediction_error import PREDICTION_ERROR as PE
from ndigo.storage import checkpoint
from ndigo.training.divergence import DivergedError, refuse_bad_numbers, refuse_bad_weights
from ndigo.training.learner import Numbers


def some_numbers(**changes: np.ndarray) -> Numbers:
    """Two seeds, five updates, all finite but for the changes."""
    fine = {f.name: np.zeros((2, 5, 3) if f.name.endswith("_c") else (2, 5)) for f in dataclasses.fields(Numbers)}
    return Numbers(**{**fine, **changes})


def bad_from(*, seed: int, update: int, value: float = np.nan) -> np.ndarray:
    array = np.zeros((2, 5))
    array[seed, update:] = value
    return array


def test_finite_numbers_pass():
    refuse_bad_numbers(some_numbers(), last_step=20)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_update_seed_and_number_are_named(value):
    # The reward goes at update 2 (learner step 18) of seed 1; the rest follows it, and seed 0 comes later.
    bad = some_numbers(
        reward=bad_from(seed=1, update=2, value=value),
        agent_loss=bad_from(seed=1, update=2),
        model_loss=bad_from(seed=0, update=3),
    )
    with pytest.raises(DivergedError, match=r"^reward of seed 1 is not finite at learner step 18$"):
        refuse_bad_numbers(bad, last_step=20)


def test_weights_that_no_loss_has_met_are_named_too():
    arrays = {".params.agent": np.zeros((2, 4), np.float32), ".key": np.zeros((2, 2), np.uint32)}
    refuse_bad_weights(arrays, step=8)
    arrays[".params.agent"][1, 2] = np.inf
    with pytest.raises(DivergedError, match=r"^tensor \.params\.agent of seed 1 is not finite after learner step 8$"):
        refuse_bad_weights(arrays, step=8)


def pay(params, memory, model, seen):
    """Prediction error, until the memory, which counts updates, reaches 10."""
    paid = PE.pay(params, None, model, seen)
    return dataclasses.replace(paid, r_t=paid.r_t + jnp.where(memory >= 10, jnp.nan, 0.0))


POISON = ndigo.IntrinsicReward(
    name="poison", pay=pay, remember=lambda model: jnp.int32(0), after_update=lambda memory, model, paid, step: step
)


def test_a_reward_that_turns_nan_stops_the_run_with_the_last_good_checkpoint(tmp_path):
    message = r"^reward of seed 0 is not finite at learner step 11; the last good checkpoint is step 8$"
    with pytest.raises(DivergedError, match=message) as error:
        train_tiny(tmp_path / "run", reward=POISON)
    assert error.value.exit_code == 1
    begun = ndigo.open_run(tmp_path / "run", reward=POISON, trust=["custom_world"])
    assert [line["step"] for line in begun.metrics()] == [4, 8]
    assert checkpoint.steps(tmp_path / "run" / "checkpoints") == [8, 4]
    # The last good state is usable.
    agent = ndigo.load(tmp_path / "run", reward=POISON, trust=["custom_world"])
    assert all(np.isfinite(x).all() for x in checkpoint.named_arrays(agent.params).values())


def test_a_learning_rate_that_blows_up_is_stopped_before_anything_is_written(tmp_path):
    with pytest.raises(DivergedError, match=r"not finite .*no earlier checkpoint: mend the cause, and begin anew"):
        train_tiny(tmp_path / "run", model_rate=1e38)
    assert numbers(tmp_path / "run") == []
