"""Intrinsic rewards, by name. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Collection

from ndigo.errors import NdigoError, unknown_name
from ndigo.from_module import from_module, meant_module
from ndigo.rewards.icm import ICM
from ndigo.rewards.ideal import ideal, pay_exactly
from ndigo.rewards.information_gain import make_information_gain
from ndigo.rewards.ndigo import make_ndigo, ndigo_reward
from ndigo.rewards.ndigo_sum import make_ndigo_sum
from ndigo.rewards.one_stream import pay_stream
from ndigo.rewards.prediction_error import PREDICTION_ERROR
from ndigo.rewards.prediction_gain import PREDICTION_GAIN
from ndigo.rewards.random import RANDOM
from ndigo.rewards.reward import (
    IntrinsicReward,
    PaySum,
    earned,
    mean_over_steps,
    paid,
    pay_stored,
    refuse_short,
    sum_of_losses,
    table,
    task_of,
)
from ndigo.rewards.task import TASK

REWARDS: dict[str, IntrinsicReward] = {
    reward.name: reward
    for reward in (
        *(RANDOM, PREDICTION_ERROR, PREDICTION_GAIN, ICM, *map(make_ndigo, (1, 2, 4, 5, 10)), make_ndigo_sum(), TASK),
        *(make_information_gain(), ideal(PREDICTION_ERROR), ideal(make_ndigo(4))),
    )
}

FAMILIES = {  # of NAME-N: what makes a reward of N, and how it is written
    "ndigo": (make_ndigo, "ndigo-H with a whole horizon H of at least 1, such as ndigo-4"),
    "ig": (make_information_gain, "ig, or ig-L with a whole number of steps L, such as ig-4"),
}


def make_reward(name: str, *, trust: Collection[str] | None = None) -> IntrinsicReward:
    """The reward of that name, or your own as MODULE:NAME.

    Besides the names of REWARDS: `ndigo-H` for any whole H of at least 1, `ig-L` for any whole L, and `ideal-NAME` for
    any NAME whose reward reads the table of losses and nothing else. Where a file gave the name, `trust` is the modules
    that it may name.
    """
    if name in REWARDS:
        return REWARDS[name]
    if name.startswith("ideal-"):
        return ideal(make_reward(name.removeprefix("ideal-"), trust=trust))
    if ":" in name:
        return from_module(name, "reward", IntrinsicReward, trust)
    if name.startswith("<"):
        raise NdigoError(f"reward {name} was a record made in Python; hand it over again, or train it as MODULE:NAME")
    family, _, number = name.partition("-")
    if family not in FAMILIES:
        raise NdigoError(f"{unknown_name('reward', name, REWARDS)}{meant_module(name, 'reward')}")
    make, written = FAMILIES[family]
    if not number.isdecimal() or len(number) > 9:
        raise NdigoError(f"reward {name!r}: write {written}")
    return make(int(number))


__all__ = [
    "REWARDS",
    "IntrinsicReward",
    "PaySum",
    "earned",
    "ideal",
    "make_information_gain",
    "make_ndigo",
    "make_ndigo_sum",
    "make_reward",
    "mean_over_steps",
    "ndigo_reward",
    "paid",
    "pay_exactly",
    "pay_stored",
    "pay_stream",
    "refuse_short",
    "sum_of_losses",
    "table",
    "task_of",
]
