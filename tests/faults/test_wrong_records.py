"""Worlds and rewards with a mistake in them are refused before a run begins; ours, and right ones, are not."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path

import jax.numpy as jnp
import pytest
from tiny_runs import TINY

import ndigo
from faults import wrong_records as wrong
from ndigo import frames
from ndigo.errors import NdigoError, UserCodeError, traceback_of
from ndigo.gate import check_pay, check_reward, check_world
from ndigo.rewards import IntrinsicReward, paid, table
from ndigo.types import ahead

IS_WHOLE = os.environ.get("NDIGO_FAULTS") == "all"
REWARDS = sorted(ndigo.REWARDS) if IS_WHOLE else ["icm", "ideal-pe", "ndigo-4", "pg"]
CONFIG = ndigo.Config(**{name: value for name, value in TINY.items() if name != "preset"}, precision="float32")


def test_there_are_as_many_as_the_page_of_reliability_says():
    assert len(wrong.WORLDS) + len(wrong.REWARDS) == 55


def test_what_is_right_passes():
    check_world(wrong.RIGHT)
    check_world(wrong.RIGHT_ENDING)
    # An episode may have no end at all: the stream just goes on.
    check_world(dataclasses.replace(wrong.RIGHT_ENDING, ends=lambda state: (jnp.bool_(False),) * 2))
    check_world(dataclasses.replace(wrong.RIGHT, truth=None, objects=(), map_shape=None))
    check_reward(wrong.RIGHT_REWARD, wrong.RIGHT, CONFIG)


@pytest.mark.parametrize("name", wrong.WORLDS)
def test_a_wrong_world_is_refused_in_one_line(name):
    changes, says = wrong.WORLDS[name]
    with pytest.raises(NdigoError) as refused:
        check_world(dataclasses.replace(wrong.RIGHT, **changes))
    assert says in str(refused.value)
    assert "mine" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", wrong.REWARDS)
def test_a_wrong_reward_is_refused_in_one_line(name):
    reward, says = wrong.REWARDS[name]
    with pytest.raises(NdigoError) as refused:
        check_reward(reward, wrong.RIGHT, CONFIG)
    assert str(refused.value).startswith("reward mine: ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_channel_of_a_single_value_costs_nothing_and_is_not_taken_for_what_is_to_come():
    """By hand: tiles of one value have a loss of exactly 0, inside the window as beyond it."""
    frame = frames.join(a=frames.tiles((3,), 2), b=frames.tiles((1,), 1))

    def observe(state):
        return {"a": jnp.full((2, 2, 1), state.agent[1] % 3, jnp.uint8), "b": jnp.zeros((1, 1, 1), jnp.uint8)}

    world = dataclasses.replace(wrong.RIGHT, frame=frame, observe=observe)
    half = IntrinsicReward("half", lambda params, memory, model, seen: paid(ahead(table(seen), 1) / 2))
    check_reward(half, world, CONFIG)
    check_pay(half, frame, world.num_actions, CONFIG)


@pytest.mark.parametrize("name", ["pe", "pg", "ndigo-1", "ndigo-4", "ndigo-sum"])
def test_a_reward_whose_reads_are_not_what_it_pays_is_refused(name):
    """Training would pay one, a stream the other: here one of them is the other's opposite."""
    right = ndigo.REWARDS[name]
    reads = [(k, -w) for k, w in right.reads]
    opposite = dataclasses.replace(right, name="mine", reads=reads, pay=lambda *seen: right.pay(*seen))
    with pytest.raises(NdigoError) as refused:
        check_reward(opposite, ndigo.EXPERIMENTS["exp1"].world, CONFIG)
    assert re.fullmatch(
        r"reward mine: reads sum to \S+ at step \d+ where pay's r_t is \S+, expected the same", str(refused.value)
    )
    assert refused.value.exit_code == 2


def test_a_reward_that_reads_a_memory_which_is_no_model_is_refused():
    pe = ndigo.REWARDS["pe"]
    wrong = dataclasses.replace(pe, name="mine", remember=lambda model: jnp.zeros(3), reads_memory=((1, 0.0),))
    with pytest.raises(NdigoError, match=r"^reward mine: reads_memory reads a model, and remember returned float32"):
        check_reward(wrong, ndigo.EXPERIMENTS["exp1"].world, CONFIG)


@pytest.mark.parametrize("name", ndigo.EXPERIMENTS)
def test_our_worlds_pass(name):
    check_world(ndigo.EXPERIMENTS[name].world)


@pytest.mark.parametrize("name", REWARDS)
def test_our_rewards_pass(name):
    check_reward(ndigo.REWARDS[name], ndigo.EXPERIMENTS["exp1"].world, dataclasses.replace(CONFIG, reward=name))


def test_a_wrong_record_leaves_no_folder_and_is_refused_wherever_it_is_handed_in(tmp_path, finished):
    outside = dataclasses.replace(wrong.RIGHT, **wrong.WORLDS["objects far outside"][0])
    with pytest.raises(NdigoError, match="truth put object 'thing' at row 10"):
        ndigo.train(outside, "ndigo-1", out=tmp_path / "run", **TINY)
    with pytest.raises(NdigoError, match="sums to"):
        ndigo.train(wrong.RIGHT, wrong.REWARDS["a thousandfold split"][0], out=tmp_path / "run", **TINY)
    assert not (tmp_path / "run").exists()
    with pytest.raises(NdigoError, match="truth put object 'thing' at row 10"):
        ndigo.load(finished.path, world=outside)
    with pytest.raises(NdigoError, match="truth put object 'thing' at row 10"):
        ndigo.resume(finished.path, world=outside)


def test_an_error_of_the_users_code_has_its_frames_and_none_of_ours():
    with pytest.raises(UserCodeError) as refused:
        check_world(dataclasses.replace(wrong.RIGHT, reset=wrong.WORLDS["reset raises"][0]["reset"]))
    assert refused.value.__cause__ is not None
    text = traceback_of(refused.value.__cause__)
    assert text.count("File ") == 1
    assert str(Path(wrong.__file__)) in text
    assert text.endswith("KeyError: 'door'")
