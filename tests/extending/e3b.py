"""E3B on beliefs (Henaff et al. 2022): pays for a belief unlike all others of its episode.

r_t = b_{t+1}' C_t^{-1} b_{t+1},   C_t = ridge I + sum_{s <= t} b_s b_s'

ndigo train exp1 --reward e3b:reward
"""

import jax.numpy as jnp
from jax import lax

import ndigo
from ndigo.types import Window

RIDGE = 0.1


def on_episode(world):
    def pay(model, a_t, o_t):
        D = model.core.size
        b_t = model.look(Window.whole(o_t, a_t, D), 1).b_t

        def body(inverse, b):
            """Sherman and Morrison's inverse of C + b b'."""
            u = inverse @ b
            return inverse - jnp.outer(u, u) / (1 + b @ u), b @ u

        _, r_t = lax.scan(body, jnp.eye(D) / RIDGE, b_t)
        return r_t[1:, None]  # no step led to the first frame

    return pay


reward = ndigo.IntrinsicReward("e3b", on_episode=on_episode)
