"""`learn`: what its replay holds, and what it learns in worlds whose outcome is known."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from probe_worlds import clock, coin_flip, corridor, read_clock
from random_windows import random_window
from stream_of_episodes import end_to_end, play

from ndigo.config import preset
from ndigo.curiosity import make_curiosity, streams
from ndigo.curiosity.by_step.paying import Step
from ndigo.curiosity.learning import make_update
from ndigo.frames import Channel, bits
from ndigo.training.twins import PLAIN
from ndigo.worlds import World

LENGTHS = [[7, 1, 12, 9, 31], [3, 4, 2, 14, 5, 31], [31, 31]]
SMALL = {
    "belief_size": 16,
    "num_features": 16,
    "num_filters": 4,
    "predictor_hidden": 32,
    "num_ahead": 2,
    "window": 8,
    "batch": 16,
    "model_rate": 1e-2,
}


@pytest.mark.parametrize("within_step", [False, True], ids=["a step of its own", "within a step"])
def test_every_window_is_consecutive_frames_of_its_stream(within_step):
    """Frames of the clock tell their step, their episode and the action before them."""
    world, T = clock(31), 52
    played = play(world, sum(map(len, LENGTHS)), 31)
    rolled = end_to_end(played, LENGTHS, T, within_step)
    curiosity = make_curiosity("pe", world.frame, world.num_actions, preset("cpu", **SMALL))
    like = jax.eval_shape(lambda key: curiosity.init(key, 3).params.model, jax.random.key(0))
    rng = np.random.default_rng(0)
    model = jax.tree.map(lambda x: rng.normal(0, 0.4, x.shape).astype(np.float32), like)
    add = jax.jit(lambda held, model, steps: streams.add(held, model, steps, world.frame.pack))
    packed = jax.eval_shape(world.frame.pack, played.o_t[0, 0])
    held = streams.empty(packed, 16, num_envs=3, num_windows=5, T=8, num_actions=world.num_actions)
    for part in (slice(0, T // 2), slice(T // 2, T)):
        held = add(held, model, Step(*jax.tree.map(lambda x, part=part: x[part], rolled[:4])))
    window = jax.device_get(jax.jit(lambda key: streams.sample(key, held, 64, world.frame.unpack))(jax.random.key(0)))
    step, episode, action = (np.asarray(x) for x in read_clock(window.o_t))
    is_first = step == 0
    np.testing.assert_array_equal(window.is_first, is_first)
    np.testing.assert_array_equal(window.a_tm1, np.where(is_first, 0, action))
    np.testing.assert_array_equal(window.start, step[0])
    later, same = ~is_first[1:], episode[1:] == episode[:-1]
    np.testing.assert_array_equal(later, same)
    np.testing.assert_array_equal(step[1:][later], step[:-1][later] + 1)
    # The true last frame of each episode that ended inside a window is there.
    length_of = dict(zip(np.asarray(read_clock(played.o_t)[1])[:, 0], np.concatenate(LENGTHS), strict=True))
    ended = [(e, s) for e, s in zip(episode[:-1][~later], step[:-1][~later], strict=True)]
    assert ended
    assert all(length_of[e] == s for e, s in ended)
    # The belief that is kept with a window is that of the stream from its first frame on.
    whole = jax.jit(lambda model, o, a, first: model.core.unroll(model.core.encoder(o), a, jnp.zeros((3, 16)), first))
    flat = end_to_end(played, LENGTHS, T, False)
    b_t = np.asarray(whole(model, flat.o_tp1, np.where(flat.is_first, 0, flat.a_t), flat.is_first))
    steps, episodes, _ = (np.asarray(x) for x in read_clock(flat.o_tp1))
    for b in range(64):
        if window.start[b] > 0:
            (t, n), *_ = np.argwhere((steps == window.start[b] - 1) & (episodes == episode[0, b]))
            np.testing.assert_allclose(window.belief[b], b_t[t, n], atol=1e-5)


@pytest.mark.parametrize("name", ["icm", "pg"])
def test_an_update_moves_the_rewards_own_networks_and_keeps_the_model_that_paid(name):
    config = preset("cpu", **SMALL)
    curiosity = make_curiosity(name, bits(["walls", Channel("thing", "one_hot")], 3), 3, config)
    states = [curiosity.init(jax.random.key(0), 2)]
    update = jax.jit(make_update(config, curiosity.reward, PLAIN, 2))
    for seed in range(1 if name == "icm" else 4):
        window = random_window(seed, T=4, streams=(2,), state_size=16)
        states.append(update(states[-1], dataclasses.replace(window, r_tc=None))[0])
    if name == "icm":  # Adam's first step is as long as its rate
        for one, other in zip(*(jax.tree.leaves(state.params.reward) for state in states), strict=True):
            assert np.abs(np.asarray(one) - other).max() == pytest.approx(config.model_rate, rel=0.01)
        return
    for step, kept in enumerate([0, 0, 1, 1, 3]):  # the copy after so many updates: the model that began update 2 or 4
        jax.tree.map(np.testing.assert_array_equal, states[step].params.memory, states[kept].params.model)


def corridor_with_a_coin() -> World:
    """Walk left and right, and see a coin that is flipped at every step beside the lamp of the cell."""
    walk, flip = corridor(), coin_flip()
    return World(
        name="corridor with a coin",
        frame=bits([*walk.frame.channels, *flip.frame.channels], 1),
        actions=walk.actions,
        num_steps=walk.num_steps,
        reset=lambda key: (walk.reset(key), flip.reset(key)),
        step=lambda key, state, a_t: (walk.step(key, state[0], a_t), flip.step(key, state[1], a_t)),
        observe=lambda state: jnp.concatenate([walk.observe(state[0]), flip.observe(state[1])], axis=-1),
    )


def test_it_learns_what_can_be_learned_and_noise_ends_up_paying_nothing():
    """One scan over rollouts: pay with the parameters of before, then learn."""
    world, T, N, num_rollouts = corridor_with_a_coin(), 8, 4, 80
    config = preset("cpu", **SMALL, updates_per_round=4, replay_steps=4000)
    curiosity = make_curiosity("ndigo-1", world.frame, world.num_actions, config)
    num_episodes = -(-T * num_rollouts // world.num_steps) + 1
    lengths = [[world.num_steps] * num_episodes] * N
    rolled = end_to_end(play(world, N * num_episodes, world.num_steps), lengths, T * num_rollouts, True)

    @jax.jit
    def train(key, *steps):
        def rollout(carry, x):
            key, *steps = x
            state, carry = carry
            carry, r, is_known = curiosity.pay_rollout(state.params, carry, *steps)
            state, numbers = curiosity.learn(key, state, *steps)
            return (state, carry), ((r * is_known).sum() / is_known.sum(), numbers)

        keys = jax.random.split(key, num_rollouts)
        cut = (x.reshape(num_rollouts, T, *x.shape[1:]) for x in steps)
        (state, _), found = jax.lax.scan(rollout, (curiosity.init(key, N), curiosity.start(N)), (keys, *cut))
        return state.step, *found

    step, r, numbers = jax.device_get(train(jax.random.key(0), *rolled[:4]))
    # A window is 9 frames: after the first rollout none is whole.
    assert np.isnan(numbers.model_loss[0]).all()
    np.testing.assert_array_equal(numbers.is_learned.sum(axis=1), [0] + [4] * (num_rollouts - 1))
    assert repr(jax.tree.map(lambda x: x[0], numbers)) == "Numbers(updates=0)"
    assert np.isfinite(numbers.model_loss[1:]).all()
    assert step == 4 * (num_rollouts - 1)
    *cells, coin = numbers.model_loss_c[-20:].mean(axis=(0, 1))
    assert np.sum(cells) < 0.05, "five cells, of which one is lit, at first cost five fair bits: 3.5 nats"
    assert coin == pytest.approx(np.log(2), abs=0.02)
    assert numbers.model_loss_c[1, 0].sum() > 3
    assert r[-40:].mean() == pytest.approx(0, abs=0.01)
    assert numbers.reward[-20:].mean() == pytest.approx(0, abs=0.01)
