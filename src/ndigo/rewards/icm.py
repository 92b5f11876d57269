"""ICM for partial observation: pays what a forward model of the belief did not expect (paper, appendix).

inverse model   p(a_t | b_t, z_{t+1})      trained by -ln p(a_t); it alone shapes b and z
forward model   c_{t+1} = f(b_t, a_t)      trained by |c_{t+1} - b_{t+1}|^2, with b held fixed
r_t = |c_{t+1} - b_{t+1}|^2
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

from ndigo.networks import MLP
from ndigo.rewards.reward import IntrinsicReward, mean_over_steps
from ndigo.types import Paid, Seen

NUM_HIDDEN = 256  # paper


class InverseAndForward(eqx.Module):
    inverse: MLP
    forward: MLP


def init(key, model):
    A, D = model.core.from_action.shape[0], model.core.size
    Z = model.core.from_features.weight.shape[0]
    key_inverse, key_forward = jax.random.split(key)
    return InverseAndForward(
        inverse=MLP(key_inverse, D + Z, NUM_HIDDEN, A),
        forward=MLP(key_forward, D + A, NUM_HIDDEN, D),
    )


def pay(params, memory, model, seen: Seen) -> Paid:
    b_t, z_tp1, a_t = seen.b_t[:-1], seen.z_t[1:], seen.window.a_t
    one_hot = jax.nn.one_hot(a_t, params.inverse.output.bias.shape[0])
    guess = jax.nn.log_softmax(params.inverse(jnp.concatenate([b_t, z_tp1], axis=-1)))
    inverse_loss = -(guess * one_hot).sum(-1)
    forecast = params.forward(jnp.concatenate([lax.stop_gradient(b_t), one_hot], axis=-1))
    r_t = ((forecast - lax.stop_gradient(seen.b_t[1:])) ** 2).sum(-1)
    loss = mean_over_steps(inverse_loss, seen.window) + mean_over_steps(r_t, seen.window)
    return Paid(r_t=r_t, r_tc=None, is_known=jnp.ones(r_t.shape, bool), loss=loss)


ICM = IntrinsicReward(name="icm", pay=pay, init=init, trains_belief=True)
