"""A reward of your own: pay what the object channels surprise, and not the walls.

ndigo train exp1 --reward custom_reward:reward --minutes 1       # from this folder
"""

import jax.numpy as jnp

import ndigo
from ndigo.rewards import paid, table
from ndigo.types import ahead


def pay(params, memory, model, seen):
    """r_t = L_{t+1|t} summed over all channels but the first."""
    loss_tc = ahead(table(seen), 1)  # nats, [T, batch, channels]
    is_object = jnp.arange(loss_tc.shape[-1]) > 0
    return paid(loss_tc * is_object)


reward = ndigo.IntrinsicReward(name="object-surprise", pay=pay)

if __name__ == "__main__":
    run = ndigo.train("exp1", reward, preset="cpu", minutes=1)
    print(run.path, run.metrics()[-1]["learning"]["reward_c"])  # seeds x channels: walls pay nothing
