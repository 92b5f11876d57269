"""The half of an update that needs no agent: the world model learns from a window, and the reward pays for it."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ndigo.config import Config
from ndigo.frames import Frame
from ndigo.model import WorldModel, init_world_model, make_likelihood
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward
from ndigo.types import Paid, Seen, Twins, Window


def init_model(key: Array, config: Config, reward: IntrinsicReward, frame: Frame, num_actions: int) -> WorldModel:
    """The world model that a reward needs."""
    return init_world_model(
        key,
        frame=frame,
        num_actions=num_actions,
        likelihood=make_likelihood(config.likelihood, frame),
        predictor=None if reward.trains_belief else config.predictor,
        num_ahead=max(config.num_ahead, reward.num_ahead),
        num_features=config.num_features,
        num_filters=config.num_filters,
        belief_size=config.belief_size,
        num_hidden=config.predictor_hidden,
    )


def predict_and_pay(
    config: Config, reward: IntrinsicReward, by: Twins, model: WorldModel, own: Any, memory: Any, window: Window
) -> tuple[Float[Array, ""], Seen, Paid]:
    """The model's loss, what it made of the window, and its pay by the reward, whose networks are `own`."""
    exact = own, memory, lax.stop_gradient(model)
    model, own, memory = lower((model, own, memory), config.precision)
    loss, seen = by.predict(model, window)
    if reward.needs_float32 and config.precision != "float32":
        return loss, seen, reward.pay_steps(*exact, exact[-1].look(window, reward.num_ahead))
    return loss, seen, reward.pay_steps(own, memory, model, seen)


def paid_numbers(seen: Seen, paid: Paid, num_channels: int) -> dict[str, Array]:
    """What was predicted one step ahead and what was paid, on average over the steps whose pay is known."""
    over = tuple(range(paid.r_t.ndim))
    weight = paid.is_known / jnp.maximum(paid.is_known.sum(), 1)
    no_split = jnp.zeros(num_channels)
    num_steps = jnp.maximum(seen.window.is_step.sum(), 1)  # between two episodes the table is 0
    model_loss_c = no_split if seen.loss_tk is None else seen.loss_tk[:, 0].sum(axis=over) / num_steps
    return {
        "model_loss_c": model_loss_c,
        "reward": (paid.r_t * weight).sum(),
        "reward_c": no_split if paid.r_tc is None else (paid.r_tc * weight[..., None]).sum(axis=over),
        "reward_loss": paid.loss,
    }
