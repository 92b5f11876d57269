"""RND on beliefs (Burda et al. 2018): pays what a trained network does not yet know of a random one.

x_t = clip((b_t - mean) / std, -5, 5)       over all beliefs of the updates before
e_t = mean (f(x_{t+1}) - g(x_{t+1}))^2      g stays as it was drawn, f learns to be g
r_t = e_t / std                             of the returns sum_j gamma^j e_{t-j} of the updates before

ndigo train exp1 --reward rnd:reward
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

import ndigo
from ndigo.networks import MLP
from ndigo.types import Paid

GAMMA, NUM_HIDDEN, NUM_FEATURES = 0.99, 32, 8


class Statistics(eqx.Module):
    """Of many numbers, without keeping them: how many there were, their mean, and their squares around it."""

    count: jax.Array
    mean: jax.Array
    squares: jax.Array

    @staticmethod
    def of(x):
        x = lax.stop_gradient(x.reshape(-1, *x.shape[2:]))
        mean = x.mean(axis=0)
        return Statistics(jnp.float32(len(x)), mean, ((x - mean) ** 2).sum(axis=0))

    @staticmethod
    def none(shape=()):
        return Statistics(jnp.float32(0), jnp.zeros(shape), jnp.zeros(shape))

    @property
    def std(self):
        """1 before there are any."""
        variance = self.squares / jnp.maximum(self.count, 1)
        return jnp.where(self.count > 0, jnp.sqrt(variance) + 1e-4, 1.0)

    def with_more(self, more):
        count, by = self.count + more.count, more.mean - self.mean
        squares = self.squares + more.squares + by**2 * self.count * more.count / count
        return Statistics(count, self.mean + by * more.count / count, squares)


class Networks(eqx.Module):
    learned: MLP
    drawn: MLP


def init(key, model):
    key_learned, key_drawn = jax.random.split(key)
    sizes = model.core.size, NUM_HIDDEN, NUM_FEATURES
    return Networks(MLP(key_learned, *sizes, gain=1.0), MLP(key_drawn, *sizes, gain=1.0))


def remember(model):
    return Statistics.none((model.core.size,)), Statistics.none()


def returns(e_t):
    """sum_j gamma^j e_{t-j}, within the window."""
    return lax.scan(lambda before, e: (GAMMA * before + e,) * 2, jnp.zeros_like(e_t[0]), e_t)[1]


def pay(params, memory, model, seen):
    of_beliefs, of_returns = memory
    b_t = lax.stop_gradient(seen.b_t[1:])
    x_t = jnp.clip((b_t - of_beliefs.mean) / of_beliefs.std, -5, 5)
    e_t = ((params.learned(x_t) - lax.stop_gradient(params.drawn(x_t))) ** 2).mean(-1)
    return Paid(
        r_t=e_t / of_returns.std,
        r_tc=None,
        is_known=jnp.ones(e_t.shape, bool),
        loss=e_t.mean(),
        notes=(Statistics.of(b_t), Statistics.of(returns(e_t))),
    )


def after_update(memory, model, paid, step):
    return tuple(old.with_more(new) for old, new in zip(memory, paid.notes, strict=True))


reward = ndigo.IntrinsicReward("rnd", pay, init, remember, after_update, needs_float32=True)
