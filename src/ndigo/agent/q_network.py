"""The recurrent Q-network and its loss: R2D2 without priorities, with Retrace (paper, "RL Agent").

q(a) = v + adv(a) - mean adv        v and adv: one hidden layer each, on the state of the network's own core
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ndigo.agent.retrace import rescale, retrace_targets, unscale
from ndigo.frames import Frame
from ndigo.networks import MLP, Core, take
from ndigo.types import Window


class QNetwork(eqx.Module):
    core: Core
    value: MLP
    advantage: MLP

    def __init__(
        self,
        key: Array,
        *,
        frame: Frame,
        num_actions: int,
        num_features: int,
        state_size: int,
        num_hidden: int,
        num_filters: int,
    ):
        keys = jax.random.split(key, 3)
        self.core = Core(keys[0], frame, num_actions, num_features, state_size, num_filters)
        self.value = MLP(keys[1], state_size, num_hidden, 1)
        self.advantage = MLP(keys[2], state_size, num_hidden, num_actions)

    @property
    def size(self) -> int:
        return self.core.size

    def heads(self, h_t: Float[Array, "... D"]) -> Float[Array, "... A"]:
        advantage = self.advantage(h_t)
        return self.value(h_t) + advantage - advantage.mean(axis=-1, keepdims=True)

    def unroll(self, window: Window) -> Float[Array, "T+1 *B A"]:
        """q(., a) at every frame of the window, from the state stored at acting time."""
        z_t = self.core.encoder(window.o_t)
        return self.heads(self.core.unroll(z_t, window.a_tm1, window.agent_state, window.is_first))

    def step(
        self, o_t: Array, a_tm1: Int[Array, "..."], h_tm1: Float[Array, "... D"]
    ) -> tuple[Float[Array, "... D"], Float[Array, "... A"]]:
        """The state after one more frame, and q(., a) there."""
        h_t = self.core.step(o_t, a_tm1, h_tm1)
        return h_t, self.heads(h_t)


def q_loss(
    online: QNetwork,
    target: QNetwork,
    window: Window,
    r_t: Float[Array, "T *B"],
    is_known: Bool[Array, "T *B"],
    *,
    gamma: float,
    lambda_: float,
) -> Float[Array, ""]:
    """Half the squared distance of q(o_t, a_t) to h(G_t), averaged over the steps whose reward is known.

    Networks speak in rescaled values h(.), so the target network's are unscaled first; Retrace then works on raw
    rewards, and h is applied to the finished return. No trace leads into a step whose reward is unknown, nor from one
    episode to the next: a return ends before it with the value of the frame there.
    """
    q_t = online.unroll(window)
    raw_t = unscale(lax.stop_gradient(target.unroll(window)))
    greedy = lax.stop_gradient(q_t).argmax(axis=-1)
    v_t = take(raw_t, greedy)
    is_greedy = greedy[:-1] == window.a_t
    c_t = lambda_ * jnp.minimum(1.0, is_greedy / window.mu_t) * (window.is_step & is_known)
    G_t = retrace_targets(
        r_t=lax.stop_gradient(r_t),
        v_tp1=v_t[1:],
        q_tp1=_then_zero(take(raw_t[:-1], window.a_t)),
        c_tp1=_then_zero(c_t),
        gamma=gamma if window.discount_t is None else gamma * window.discount_t,
    )
    error = rescale(G_t) - take(q_t[:-1], window.a_t)
    return 0.5 * jnp.where(is_known, error**2, 0.0).sum() / jnp.maximum(is_known.sum(), 1)


def _then_zero(x_t: Float[Array, "T ..."]) -> Float[Array, "T ..."]:
    """x_{t+1} inside the window, 0 after its last step."""
    return jnp.concatenate([x_t[1:], jnp.zeros_like(x_t[:1])])
