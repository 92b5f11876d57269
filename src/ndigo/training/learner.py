"""One joint update: world model, reward, Q-network and probe learn from one batch of windows.

    loss = L_repr + L_reward + L_Q + L_discovery

No term's gradient reaches another's parameters (but for a reward that trains the belief, such as ICM, which leaves no
L_repr): the reward enters L_Q as a number, the belief enters the probe behind a stop-gradient, and the Q-network has a
core of its own. So one gradient of the sum serves all four networks, which differ in Adam's rate alone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from ndigo.agent import QNetwork, q_loss
from ndigo.agents.agent import Params
from ndigo.config import Config
from ndigo.devices.parts import ALONE, Parts
from ndigo.model import Probe, discovery_loss
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward, earned, mean_over_steps
from ndigo.training.model_and_reward import init_model, paid_numbers, predict_and_pay, weights_of_means
from ndigo.training.twins import computed_by, twins
from ndigo.types import Paid, Window
from ndigo.worlds import World


class LearnerState(eqx.Module):
    params: Params
    target: QNetwork  # the target network: the Q-network of the last multiple of `target_period` updates
    memory: Any  # what the reward keeps between updates, such as a copy of the model
    optimiser: Any  # Adam's moments, and how far each rate has fallen
    step: Int[Array, ""]
    policy: QNetwork | None = None  # the averaged Q-network (`averaged`); None where `policy_mean` is 1

    @property
    def learned(self) -> Params:
        """The networks to evaluate and to export: the newest, but the averaged Q-network where there is one."""
        return self.params if self.policy is None else dataclasses.replace(self.params, agent=self.policy)


class Numbers(eqx.Module):
    """The metrics of one update, in the order they are computed: losses and pay are means over its batch."""

    model_loss: Float[Array, ""]
    model_loss_c: Float[Array, " C"]  # one step ahead, by channel
    reward: Float[Array, ""]
    reward_c: Float[Array, " C"]  # by channel
    reward_loss: Float[Array, ""]
    agent_loss: Float[Array, ""]
    discovery_loss: Float[Array, " N"]
    model_gradient: Float[Array, ""]  # the norm of the network's gradient; the next three likewise
    reward_gradient: Float[Array, ""]
    agent_gradient: Float[Array, ""]
    probe_gradient: Float[Array, ""]
    task_reward: Float[Array, ""] | None = None  # per step, before `task_weight`; None where the world has no task


@dataclass(frozen=True)
class Learner:
    """The functions of one seed's learner."""

    init: Callable[[Array], LearnerState]  # key -> state
    # params, target, the reward's memory, window, the probe's first frame -> loss, (numbers, what was paid)
    loss: Callable[..., tuple[Float[Array, ""], tuple[dict[str, Array], Paid]]]
    update: Callable[[Array, LearnerState, Window], tuple[LearnerState, Numbers]]  # -> state, numbers


def make_learner(config: Config, world: World, reward: IntrinsicReward, parts: Parts = ALONE) -> Learner:
    by, optimiser = twins(config), make_optimiser(config)

    def init(key: Array) -> LearnerState:
        params = computed_by(by, init_params(key, config, world, reward))
        return LearnerState(
            params=params,
            target=params.agent,
            memory=reward.remember(params.model),
            optimiser=optimiser.init(params),
            step=jnp.int32(0),
            policy=params.agent if config.policy_mean > 1 else None,
        )

    def loss(params: Params, target: QNetwork, memory: Any, window: Window, offset: Int[Array, ""]):
        model_loss, seen, paid = predict_and_pay(config, reward, by, params.model, params.reward, memory, window, parts)
        agent, probe, target = lower((params.agent, params.probe, target), config.precision)
        agent_loss = jnp.float32(0.0)
        if not reward.acts_at_random:
            # The barrier keeps XLA from joining both networks' first layers into one product, since they read the same
            # frames: going back it would have to copy both gradients into one array.
            frames = eqx.tree_at(lambda w: w.o_t, window, lax.optimization_barrier(window.o_t))
            r_t, is_known = earned(config, paid, window)
            agent_loss = q_loss(agent, target, frames, r_t, is_known, gamma=config.gamma, lambda_=config.lambda_)
        probe_loss = jnp.zeros(0)
        if probe is not None:
            b_t, cells = (strided(config.probe_stride, offset, x_t) for x_t in (seen.b_t, window.cells))
            probe_loss = discovery_loss(probe, b_t, cells).mean(axis=tuple(range(cells.ndim - 1)))
        numbers = {
            "model_loss": model_loss,
            "agent_loss": agent_loss,
            "discovery_loss": probe_loss,
            **paid_numbers(seen, paid, len(world.channels)),
        }
        if window.task_t is not None:
            numbers["task_reward"] = mean_over_steps(window.task_t, window)
        return model_loss + paid.loss + agent_loss + probe_loss.sum(), lax.stop_gradient((numbers, paid))

    def update(key: Array, state: LearnerState, window: Window) -> tuple[LearnerState, Numbers]:
        offset = jax.random.randint(key, (), 0, num_offsets(config.probe_stride, len(window.a_tm1)))
        grads, (numbers, paid) = jax.grad(loss, has_aux=True)(state.params, state.target, state.memory, window, offset)
        if parts.num > 1:
            grads, numbers = parts.mean((grads, numbers), weights_of_means(config, paid, window, numbers))
        steps, optimiser_state = optimiser.update(grads, state.optimiser)
        params, step = jax.tree.map(jnp.add, state.params, steps), state.step + 1
        is_due = step % config.target_period == 0
        return LearnerState(
            params=params,
            target=jax.tree.map(lambda old, new: jnp.where(is_due, new, old), state.target, params.agent),
            memory=reward.after_update(state.memory, state.params.model, paid, step),
            optimiser=optimiser_state,
            step=step,
            policy=None if state.policy is None else averaged(config, state.policy, params.agent, step),
        ), Numbers(**numbers, **norms(grads))

    return Learner(init=init, loss=loss, update=update)


def init_params(key: Array, config: Config, world: World, reward: IntrinsicReward) -> Params:
    keys = jax.random.split(key, 4)
    model = init_model(keys[0], config, reward, world.frame, world.num_actions)
    agent = QNetwork(
        keys[1],
        frame=world.frame,
        num_actions=world.num_actions,
        num_features=config.num_features,
        num_filters=config.num_filters,
        state_size=config.belief_size,
        num_hidden=config.head_hidden,
    )
    probe = None
    if world.truth is not None and world.map_shape is not None and world.objects:
        probe = Probe(
            keys[2],
            belief_size=config.belief_size,
            num_objects=len(world.objects),
            num_cells=math.prod(world.map_shape),
            num_hidden=config.probe_hidden,
        )
    return Params(model=model, reward=reward.init(keys[3], model), agent=agent, probe=probe)


def make_optimiser(config: Config) -> Any:
    """Adam, with a rate for each network that falls linearly over the run.

    Adam's moments are one flat vector for all networks: that is one kernel in place of sixty small ones.
    """

    def falling(rate: float, last_share: float) -> optax.GradientTransformation:
        return optax.scale_by_learning_rate(optax.linear_schedule(rate, rate * last_share, config.learner_steps))

    last_model_rate = config.last_rate if config.last_model_rate is None else config.last_model_rate
    rates: dict[Any, Any] = {
        "model": falling(config.model_rate, last_model_rate),
        "agent": falling(config.agent_rate, config.last_rate),
        "probe": falling(config.probe_rate, config.last_rate),
    }

    def label(params: Any) -> Any:
        return dataclasses.replace(params, model="model", reward="model", agent="agent", probe="probe")

    return optax.chain(optax.flatten(optax.scale_by_adam()), optax.partition(rates, label))


def averaged(config: Config, policy: QNetwork, newest: QNetwork, step: Int[Array, ""]) -> QNetwork:
    """A running mean of the Q-network's weights: over all updates up to n = `policy_mean`, then with a memory of n.

        w <- w + (newest - w) max(1 / step, 1 / n)

    # Paper: evaluates the newest weights. Ours: this mean, because a greedy policy can change with every update and
    # lose again what it has found (studies/policy-mean). Training does not use it.
    """
    rate = jnp.maximum(1 / step, 1 / config.policy_mean).astype(jnp.float32)
    return jax.tree.map(lambda mean, new: mean + (new - mean) * rate, policy, newest)


def norms(grads: Params) -> dict[str, Array]:
    """The norm of each network's gradient, taken on the flat vector that Adam makes of them anyway."""
    names = [field.name for field in dataclasses.fields(Params)]
    ends = np.cumsum([sum(x.size for x in jax.tree.leaves(getattr(grads, name))) for name in names])
    parts = zip(names, jnp.split(ravel_pytree(grads)[0], ends[:-1]), strict=True)
    return {f"{name}_gradient": jnp.sqrt(jnp.square(part).sum()) for name, part in parts}


def num_picked(stride: int, num_frames: int) -> int:
    """How many frames of a window the probe learns from."""
    return max(num_frames // stride, 1)


def num_offsets(stride: int, num_frames: int) -> int:
    """How many frames of a window can be the first of those: enough that each frame has its turn."""
    return num_frames - stride * (num_picked(stride, num_frames) - 1)


def strided(stride: int, offset: Int[Array, ""], x_t: Array) -> Array:
    """The frames offset, offset + stride, ...: equally many for every offset."""
    return x_t[offset + stride * jnp.arange(num_picked(stride, len(x_t)))]
