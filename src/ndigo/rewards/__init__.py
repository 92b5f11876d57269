"""Intrinsic rewards, by name. A new one is one file and one line here."""

from __future__ import annotations

from ndigo.errors import NdigoError, unknown_name
from ndigo.from_module import from_module
from ndigo.rewards.icm import ICM
from ndigo.rewards.ndigo import make_ndigo, ndigo_reward
from ndigo.rewards.prediction_error import PREDICTION_ERROR
from ndigo.rewards.prediction_gain import PREDICTION_GAIN
from ndigo.rewards.random import RANDOM
from ndigo.rewards.reward import IntrinsicReward, paid, table

REWARDS: dict[str, IntrinsicReward] = {
    reward.name: reward
    for reward in (RANDOM, PREDICTION_ERROR, PREDICTION_GAIN, ICM, *map(make_ndigo, (1, 2, 4, 5, 10)))
}


def make_reward(name: str) -> IntrinsicReward:
    """The reward of that name, `ndigo-H` for any whole H of at least 1, or your own as MODULE:NAME."""
    if name in REWARDS:
        return REWARDS[name]
    if ":" in name:
        return from_module(name, "reward", IntrinsicReward)
    if name.startswith("<"):
        raise NdigoError(f"reward {name} was a record made in Python; hand it over again, or train it as MODULE:NAME")
    family, _, horizon = name.partition("-")
    if family != "ndigo":
        raise unknown_name("reward", name, REWARDS)
    if not horizon.isdecimal():
        raise NdigoError(f"reward {name!r}: write ndigo-H with a whole horizon H of at least 1, such as ndigo-4")
    return make_ndigo(int(horizon))


__all__ = ["REWARDS", "IntrinsicReward", "make_ndigo", "make_reward", "ndigo_reward", "paid", "table"]
