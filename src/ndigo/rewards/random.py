"""Random: uniform actions and no reward. It trains the model and the probe like the others."""

from ndigo.rewards.reward import IntrinsicReward, paid, table
from ndigo.types import Paid, Seen, ahead


def pay(params, memory, model, seen: Seen) -> Paid:
    return paid(0.0 * ahead(table(seen), 1))


RANDOM = IntrinsicReward(name="random", pay=pay, acts_at_random=True, reads=((1, 0.0),))
