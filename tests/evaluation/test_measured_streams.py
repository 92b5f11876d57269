"""What a stream is measured by is its first episode alone, whatever comes after it."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from random_weights import random_weights
from random_windows import random_window
from small_frames import bits_of

from ndigo.agents.agent import Params
from ndigo.evaluation.streams import Note, measure_streams
from ndigo.model import Probe, discovery_loss, init_world_model, make_likelihood
from ndigo.rewards import IntrinsicReward, paid, table
from ndigo.types import Window, ahead
from ndigo.worlds import World

T, D = 8, 4
LAST = [3, T, 1]  # the slot of the last frame of each stream's first episode; the second's goes on
FRAME = bits_of(3, ("binary", "one_hot"))
WORLD = World(
    name="any",
    frame=FRAME,
    actions=("a", "b", "c"),
    num_steps=T,
    reset=lambda key: jnp.int32(0),
    step=lambda key, state, a_t: state,
    observe=lambda state: jnp.zeros((3, 3, 2), jnp.uint8),
)


def pay_every_other(params, memory, model, seen):
    loss = ahead(table(seen), 1)
    return paid(loss, is_known=jnp.arange(len(loss))[:, None] % 2 == 0)


REWARD = IntrinsicReward("every other", pay_every_other)


def params_of(key: jax.Array) -> Params:
    likelihood = make_likelihood("categorical", FRAME)
    sizes = {"num_ahead": 2, "num_features": 4, "num_filters": 2, "belief_size": D, "num_hidden": 4}
    model = init_world_model(key, frame=FRAME, num_actions=3, likelihood=likelihood, predictor="open_loop", **sizes)
    probe = Probe(key, belief_size=D, num_objects=1, num_cells=6, num_hidden=4)
    return Params(model=model, reward=None, agent=None, probe=probe)  # type: ignore[arg-type]


def test_numbers_of_an_episode_leave_out_what_comes_after_it_in_its_stream():
    params = random_weights(params_of)
    alone = jax.tree.map(lambda *x: np.stack(x), *(random_window(e, T=T) for e in range(len(LAST))))
    alone = dataclasses.replace(alone, belief=0 * alone.belief, r_tc=None)

    @jax.jit
    def of_episodes(window: Window):
        """As if no episode had ended: what is known of a step does not depend on what comes after it."""
        seen, _ = params.pay(REWARD, window)
        assert params.probe is not None
        return ahead(table(seen), 1), discovery_loss(params.probe, seen.b_t, window.cells)

    loss_tc, lost = jax.device_get(jax.vmap(of_episodes)(alone))
    is_first = np.arange(T + 1) == np.array(LAST)[:, None] + 1
    is_first[:, 0] = True
    stream = dataclasses.replace(alone, is_first=is_first, o_t=jax.vmap(FRAME.pack)(jnp.asarray(alone.o_t)))
    noted = Note(place=jnp.zeros((3, T + 1), jnp.uint32), happens=jnp.zeros((3, T + 1, 0), bool))
    found = jax.jit(lambda *x: measure_streams(WORLD, REWARD, *x))(params, stream, noted).evaluation
    for e, n in enumerate(LAST):
        np.testing.assert_allclose(found.model_loss_c[e], loss_tc[e, :n].mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(found.reward_c[e], loss_tc[e, :n:2].mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(found.reward[e], loss_tc[e, :n:2].sum(axis=-1).mean(), rtol=1e-5)
        np.testing.assert_allclose(found.discovery_loss[e], lost[e, : n + 1].mean(axis=0), rtol=1e-5)
        assert found.episode_steps[e] == n
