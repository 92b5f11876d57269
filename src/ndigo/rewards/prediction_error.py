"""PE: pays what the model did not expect. White noise pays for ever.

r_t = L_{t+1|t}
"""

from ndigo.rewards.reward import IntrinsicReward, paid, table
from ndigo.types import Paid, Seen, ahead


def pay(params, memory, model, seen: Seen) -> Paid:
    return paid(ahead(table(seen), 1))


PREDICTION_ERROR = IntrinsicReward(name="pe", pay=pay, reads=((1, 1.0),))
