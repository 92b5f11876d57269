"""How curiosity learns: Adam on windows of its own replay, by the losses of the world model and of the reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from ndigo.config import Config
from ndigo.curiosity.by_step.paying import Params
from ndigo.curiosity.streams import Streams
from ndigo.rewards import IntrinsicReward
from ndigo.training.model_and_reward import paid_numbers, predict_and_pay
from ndigo.types import Twins, Window

NUMBERS = np.ndarray | np.generic | jax.Array


class State(eqx.Module):
    """All that curiosity needs to go on, bit for bit."""

    params: Params
    optimiser: Any
    streams: Streams
    step: Int[Array, ""]  # updates so far


class Numbers(eqx.Module):
    """What the updates of one `learn` tell: each [num_updates, ...], in nats.

    Before every stream has a whole window (`config.window` steps after its first frame) nothing is learned: `updates`
    is 0, and the rest, whose shapes cannot depend on that inside `jit`, is NaN.
    """

    model_loss: Float[Array, " U"]  # over all that is predicted ahead
    model_loss_c: Float[Array, "U C"]  # one step ahead, by channel
    reward: Float[Array, " U"]  # paid per step, on average over the windows
    reward_c: Float[Array, "U C"]
    reward_loss: Float[Array, " U"]  # of the reward's own networks
    is_learned: Bool[Array, " U"]

    @property
    def updates(self) -> Int[Array, ""]:
        """How many updates were made."""
        return self.is_learned.sum()

    def __repr__(self) -> str:
        """`Numbers(updates=8, model_loss=4.12, reward=0.013, reward_loss=0)`: means; by name alone inside `jit`."""
        if not all(isinstance(x, NUMBERS) and not isinstance(x, Tracer) for x in jax.tree.leaves(self)):
            return "Numbers(...)"
        if self.updates == 0:
            return "Numbers(updates=0)"
        names = ("model_loss", "reward", "reward_loss")
        means = [f"{name}={np.mean(getattr(self, name)):.3g}" for name in names]
        return f"Numbers(updates={self.updates}, {', '.join(means)})"


def make_optimiser(config: Config) -> Any:
    return optax.chain(optax.flatten(optax.scale_by_adam()), optax.scale_by_learning_rate(config.model_rate))


def make_update(config: Config, reward: IntrinsicReward, by: Twins, num_channels: int) -> Callable[..., Any]:
    """update(state, window) -> state, numbers of one update."""
    optimiser = make_optimiser(config)

    def loss(learned: Any, memory: Any, window: Window) -> tuple[Array, Any]:
        model_loss, seen, paid = predict_and_pay(config, reward, by, learned[0], learned[1], memory, window)
        numbers = {"model_loss": model_loss, **paid_numbers(seen, paid, num_channels), "is_learned": jnp.bool_(True)}
        return model_loss + paid.loss, lax.stop_gradient((Numbers(**numbers), paid))

    def update(state: State, window: Window) -> tuple[State, Numbers]:
        params, learned = state.params, (state.params.model, state.params.reward)
        grads, (numbers, paid) = jax.grad(loss, has_aux=True)(learned, params.memory, window)
        steps, optimiser_state = optimiser.update(grads, state.optimiser)
        model, own = jax.tree.map(jnp.add, learned, steps)
        step = state.step + 1
        memory = reward.after_update(params.memory, params.model, paid, step)
        return State(
            params=Params(model=model, reward=own, memory=memory),
            optimiser=optimiser_state,
            streams=state.streams,
            step=step,
        ), numbers

    return update


def nothing_learned(num_updates: int, num_channels: int) -> Numbers:
    some, by_channel = jnp.full(num_updates, jnp.nan), jnp.full((num_updates, num_channels), jnp.nan)
    return Numbers(some, by_channel, some, by_channel, some, is_learned=jnp.zeros(num_updates, bool))
