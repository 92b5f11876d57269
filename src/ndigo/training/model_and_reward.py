"""The half of an update that needs no agent: the world model predicts a window, and the reward pays for it.

The learner and `ndigo.curiosity` share it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ndigo.agents.agent import Params
from ndigo.config import Config
from ndigo.devices.parts import ALONE, Parts
from ndigo.frames import Frame
from ndigo.model import WorldModel, init_world_model, make_likelihood
from ndigo.model.world_model import count_pairs
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward, earned
from ndigo.types import Paid, Seen, Twins, Window


def init_model(key: Array, config: Config, reward: IntrinsicReward, frame: Frame, num_actions: int) -> WorldModel:
    """A world model for this reward: with a predictor unless the reward trains the belief, and K large enough."""
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
    config: Config,
    reward: IntrinsicReward,
    by: Twins,
    model: WorldModel,
    own: Any,
    memory: Any,
    window: Window,
    parts: Parts = ALONE,
) -> tuple[Float[Array, ""], Seen, Paid]:
    """The model's loss, what it saw of the window, and what the reward pays for it.

    `own` are the reward's own networks and `memory` what it keeps between updates. For one part of a batch that is
    split between devices, the losses are scaled so that the mean over all parts is the whole batch's loss.
    """
    num_pairs, share = of_whole_batch(model, window, parts)
    low_model, low_own, low_memory = lower((model, own, memory), config.precision)
    loss, seen = by.predict(low_model, window, num_pairs)
    if reward.needs_float32 and config.precision != "float32":
        model = lax.stop_gradient(model)
        paid = reward.pay_steps(own, memory, model, model.look(window, reward.num_ahead))
    else:
        paid = reward.pay_steps(low_own, low_memory, low_model, seen)
    return loss, seen, paid if share is None else replace(paid, loss=share * paid.loss)


def of_whole_batch(
    model: WorldModel, window: Window, parts: Parts
) -> tuple[Float[Array, " K"] | None, Float[Array, ""] | None]:
    """The mean number of pairs per part [K], and this part's number of steps as a share of the mean over parts.

    Both are None where all parts have equally many: on one device, or where no episode ends within a window.
    """
    if parts.num == 1 or window.is_first is None:
        return None, None
    T, *streams = window.a_t.shape
    num_pairs, num_steps = count_pairs((T, model.num_ahead, *streams), window.is_first), window.is_step.sum()
    mean_pairs, mean_steps = parts.mean((num_pairs, num_steps), 1)
    return mean_pairs, num_steps / jnp.maximum(mean_steps, 1e-9)


def weights_of_means(config: Config, paid: Paid, window: Window, numbers: dict[str, Array]) -> Any:
    """For a batch split between devices: how many steps this part's gradients and numbers are means over.

    The losses of the model and of the reward weigh 1, as they are shares of the whole batch's (`predict_and_pay`); so
    does the probe's, which sees as many frames of every part.
    """
    num_paid, num_earned = paid.is_known.sum(), earned(config, paid, window)[1].sum()
    of_numbers = dict.fromkeys(numbers, 1) | {"reward": num_paid, "reward_c": num_paid, "agent_loss": num_earned}
    of_numbers |= dict.fromkeys(numbers.keys() & {"model_loss_c", "task_reward"}, window.is_step.sum())
    return Params(model=1, reward=1, agent=num_earned, probe=1), of_numbers  # type: ignore[arg-type]


def paid_numbers(seen: Seen, paid: Paid, num_channels: int) -> dict[str, Array]:
    """The mean loss one step ahead, by channel, and the mean pay of the steps whose pay is known."""
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
