"""What perfect knowledge earns, against numbers that come from elsewhere: by hand or from the paper's rooms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import rel_entr
from reference.brownian import ParkedWatcher
from walked_path import follow

from ndigo.agent import random_walker
from ndigo.oracle import ideal_table, knowledge, make_filter, predict_views
from ndigo.rewards import make_ndigo_sum, ndigo_reward, sum_of_losses
from ndigo.types import Policy, Window, ahead
from ndigo.worlds import Object, make_world
from ndigo.worlds.rollout import rollout
from oracle.rooms import five_rooms
from oracle.tiny import roam, tiny

STAY, UP, DOWN, RIGHT, LEFT = range(5)
UPPER_ROOM = [(r, c) for r in range(1, 5) for c in range(r + 1, 18 - r)]
PARKED = ParkedWatcher(UPPER_ROOM, agent=(3, 9), half=2)


def judged(world, agent, num_episodes, K):
    """Episodes of the agent with their exact loss tables, stacked."""
    filter_ = make_filter(world)

    def one(key):
        episode = rollout(world, agent, key)
        b_t = filter_.run(episode.a_t, episode.o_t)
        return episode, ideal_table(filter_, b_t, episode.a_t, episode.o_t, K)

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), num_episodes))


def test_white_noise_pays_ndigo_nothing_on_any_path_and_prediction_error_for_ever():
    """To an agent that walks (half of the episodes) and to one that stays."""
    world = five_rooms((15, 9), Object("noise", "white_noise", ("lower",)), num_steps=30)

    walker = random_walker(world)

    def start(key):
        return jax.random.bernoulli(key).astype(jnp.int32), walker.start(key)

    def act(o_t, a_tm1, state):
        is_moving, walk = state
        a_t, walk = walker.act(o_t, a_tm1, walk)
        return is_moving * a_t, (is_moving, walk)

    episode, table = judged(world, Policy(start, act), 128, K=6)
    is_still = np.asarray(episode.a_t).max(axis=1) == 0
    assert 40 <= is_still.sum() <= 88
    pay = jax.jit(jax.vmap(lambda L: ([ndigo_reward(L, H) for H in (1, 2, 4, 5)], ahead(L, 1))))
    rewards, error = jax.device_get(pay(table.frame))
    assert max(abs(r_t).max() for r_t in rewards) < 2e-5
    # 20 of 48 cells are in view: 19/47 of the frames show it, at ln 47 each, and the rest costs less.
    error = error.mean(axis=1)
    p = 19 / 47
    expected = p * np.log(47) - (1 - p) * np.log(1 - p)
    assert error[is_still].mean() == pytest.approx(expected, rel=0.08)  # four standard errors
    assert error[~is_still].mean() > 0.5


def seen_first_from_the_door(wait, num_steps):
    """An episode of Experiment 1 whose agent waits, walks up, and sees the object from (6, 9).

    From there it sees five of the 48 cells, (4, 7) ... (4, 11): nothing was ruled out before.
    """
    world = make_world("fixed_and_noise", num_steps=num_steps)
    agent = follow(jnp.array([STAY] * wait + [UP] * 6))
    assert world.truth is not None
    truth = world.truth
    keys = jax.random.split(jax.random.key(0), 100)
    cells = jax.jit(jax.vmap(lambda key: truth(world.reset(jax.random.split(key)[0])).objects[0]))(keys)
    row, col = np.asarray(cells).T
    (there, *_) = np.flatnonzero((row == 4) & np.isin(col, (7, 8, 10, 11)))
    return world, jax.jit(lambda key: rollout(world, agent, key))(keys[there])


def test_first_sight_of_a_fixed_object_pays_ln_48_and_a_located_one_nothing():
    world, episode = seen_first_from_the_door(wait=0, num_steps=20)
    filter_ = make_filter(world)
    table = jax.jit(lambda e: ideal_table(filter_, filter_.run(e.a_t, e.o_t), e.a_t, e.o_t, K=5))(episode)
    window = Window.whole(episode.o_t, episode.a_t)
    pay = jax.jit(lambda L: {H: ndigo_reward(L, H) for H in (1, 2, 4)})
    rewards = jax.device_get(pay(table.channels))
    summed, _ = sum_of_losses(table.channels, make_ndigo_sum(5).reads, window)
    for H, r_tc in rewards.items():
        r_fixed = r_tc[:, 1]
        assert r_fixed[3 + H - 1] == pytest.approx(np.log(48), abs=1e-4)
        assert abs(np.delete(r_fixed, 3 + H - 1)).max() < 1e-4
    # The sum over horizons pays for each of the next K-1 frames that show it.
    np.testing.assert_allclose(summed[:, 1], np.log(48) * np.isin(np.arange(20), (3, 4, 5, 6)), atol=1e-4)


@pytest.mark.parametrize(("first_visit", "loss"), [(10, 0.1), (20, 0.19)])
def test_exact_discovery_loss_follows_from_the_first_visit(first_visit, loss):
    world, episode = seen_first_from_the_door(wait=first_visit - 3, num_steps=400)
    known = jax.jit(lambda e: knowledge(make_filter(world), e.a_t, e.o_t, e.truth_t.objects))(episode)
    is_unknown = np.arange(401) < first_visit
    np.testing.assert_allclose(known.discovery_loss[:, 0], is_unknown * np.log(48), atol=1e-4)
    np.testing.assert_allclose(known.entropy[:, 0], is_unknown * np.log(48), atol=1e-4)
    np.testing.assert_allclose(known.gain[:, 0], (np.arange(401) == first_visit) * np.log(48), atol=1e-4)
    assert known.discovery_loss[:400, 0].mean() == pytest.approx(loss, abs=0.005)


def test_brownian_object_pays_a_perfect_agent_that_watches_it():
    """The reference, over 800 long watches from (3, 9): nats a step for H = 1, 2, 4, 5, 10."""
    nats = np.array([0.336, 0.192, 0.086, 0.064, 0.021])
    gains = PARKED.mean_rewards(np.random.default_rng(0), (1, 2, 4, 5, 10), num_chains=800, num_steps=300)
    error = gains.std(axis=1) / np.sqrt(gains.shape[1])
    # 2%, and what the third digit and the sample leave open.
    assert (abs(gains.mean(axis=1) - nats) <= np.maximum(0.02 * nats, 0.0005) + 2 * error).all()
    assert (error < 0.03 * nats).all()


def test_reward_for_watching_a_brownian_object_is_the_reference_step_by_step():
    world = five_rooms((3, 9), Object("brownian", "brownian", ("upper",)), num_steps=30)
    filter_ = make_filter(world)

    def one(key):
        episode = rollout(world, follow(jnp.array([STAY])), key)
        b_t = filter_.run(episode.a_t, episode.o_t)
        return episode.truth_t.objects[:, 0], ideal_table(filter_, b_t, episode.a_t, episode.o_t, 11).frame

    cells, loss_tk = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), 2))
    for path, ours in zip(np.asarray(cells), np.asarray(loss_tk), strict=True):
        expected = PARKED.loss_table([tuple(cell) for cell in path.tolist()], 11)
        np.testing.assert_allclose(ours, expected, atol=5e-5)


def test_white_noise_that_blocks_pays_an_agent_that_shuttles_through_it():
    """Up and down between (15, 9) and (16, 9): about 0.11 nats a step at H = 1, 0.07 at H = 4, by channel."""
    world = five_rooms((15, 9), Object("noise", "white_noise", ("lower",), blocks=True), num_steps=60)
    filter_ = make_filter(world)
    upper_end = int(filter_.tables.start)

    def act(o_t, a_tm1, before):
        b_t = filter_.correct(before, o_t)
        a_t = jnp.where(b_t.agent == upper_end, DOWN, UP)
        return a_t, filter_.predict(b_t, a_t)

    _, table = judged(world, Policy(lambda key: filter_.prior, act), 256, K=5)
    pay = jax.jit(jax.vmap(lambda L: [ndigo_reward(L, H)[H:].mean(axis=0) for H in (1, 4)]))
    whole, split = jax.device_get((pay(table.frame), pay(table.channels)))
    for H, nats, by_frame, by_channel in zip(
        (1, 4), (0.11, 0.07), whole, (r_c.sum(axis=-1) for r_c in split), strict=True
    ):
        error = by_channel.std() / np.sqrt(len(by_channel))
        assert by_channel.mean() == pytest.approx(nats, abs=0.005 + 3 * error)
        # By hand: one step ahead the whole frame tells whether the agent will be held up, a chance of 1/47.
        if H == 1:
            entropy = -(1 / 47) * np.log(1 / 47) - (46 / 47) * np.log(46 / 47)
            assert by_frame.mean() == pytest.approx(entropy, abs=3 * error)


def conditional_means(name, H, seed, table):
    """E[r_{T-1} | h_{T-1}] for a walk of T steps: ours, and IG_{T|T-H} - IG_{T|T-H+1} by enumeration."""
    enumeration = tiny(name)[1]
    a_t, states = roam(enumeration, np.random.default_rng(seed), 8)
    T = len(a_t)  # the frame that is predicted is o_T, and o_{T-H} is what the reward is for
    posterior = [enumeration.condition(enumeration.initial(), enumeration.observe(states[0]))]
    for t in range(1, T):
        p = enumeration.step(posterior[-1], a_t[t - 1])
        posterior.append(enumeration.condition(p, enumeration.observe(states[t])))

    def predictive(t):
        p = posterior[t]
        for a in a_t[t:]:
            p = enumeration.step(p, a)
        return enumeration.observations(p)

    last, with_t, without_t = predictive(T - 1), predictive(T - H), predictive(T - H - 1)
    gains = [sum(w * np.log(w / q[o]) for o, w in last.items()) for q in (without_t, with_t)]

    outcomes = {enumeration.observe(s): s for s in enumeration.step(posterior[T - 1], a_t[-1])}
    history = [enumeration.frame(s) for s in states[:-1]]
    o_t = np.stack([np.stack([*history, enumeration.frame(s)]) for s in outcomes.values()])
    o_t = np.pad(o_t, [(0, 32 - len(o_t)), *[(0, 0)] * 4], mode="edge")  # one shape, one compilation
    r = table(jnp.asarray(a_t), jnp.asarray(o_t))
    return sum(last[o] * float(r[i]) for i, o in enumerate(outcomes)), gains[0] - gains[1]


@pytest.mark.parametrize(("name", "H"), [("brownian", 1), ("brownian", 3), ("fixed and brownian", 2)])
def test_mean_reward_is_a_difference_of_information_gains(name, H):
    """E[r_{t+H-1} | h_{t+H-1}] = IG_{t+H|t} - IG_{t+H|t+1}, and for H > 1 it may be negative."""
    filter_ = make_filter(tiny(name)[0])

    def last_reward(a_t, o_t):
        return ndigo_reward(ideal_table(filter_, filter_.run(a_t, o_t), a_t, o_t, H + 1).frame, H)[-1]

    table = jax.jit(jax.vmap(last_reward, in_axes=(None, 0)))
    means = np.array([conditional_means(name, H, seed, table) for seed in range(12)])
    np.testing.assert_allclose(means[:, 0], means[:, 1], atol=2e-5)
    assert means.max() > 0.05
    if H == 1:
        assert means.min() > -2e-5
    if (name, H) == ("brownian", 3):
        assert means.min() < -0.01


def expected_ndigo(filter_, b_t, a_t, H):
    """What NDIGO-H pays on average for each object, [T, N], given the history that ends with the frame it pays for.

    E[r_{t+H-1} | h_t, a_t, ..., a_{t+H-1}] = KL(P_{t+H|t} || P_{t+H|t-1}) >= 0
    """
    T = a_t.shape[0]
    num_paid = max(T - H, 0)
    actions = a_t[jnp.arange(num_paid)[:, None] + jnp.arange(H + 1)]  # a_{t-1} ... a_{t+H-1}
    look = jax.vmap(lambda b, a: predict_views(filter_.tables, b, a))
    after = look(jax.tree.map(lambda leaf: leaf[1 : num_paid + 1], b_t), actions[:, 1:])
    before = look(jax.tree.map(lambda leaf: leaf[:num_paid], b_t), actions)
    gains = rel_entr(after, before).sum(axis=-1)
    return jnp.concatenate([jnp.zeros((T - num_paid, gains.shape[1])), gains])


def test_expected_reward_is_the_mean_of_the_reward_by_object():
    """Monte Carlo over a random walker in Experiment 4, both objects, H = 2."""
    world = five_rooms(
        (3, 9), Object("brownian", "brownian", ("upper",)), Object("fixed", "fixed", ("lower",)), num_steps=30
    )
    filter_ = make_filter(world)

    def one(key):
        episode = rollout(world, random_walker(world), key)
        b_t = filter_.run(episode.a_t, episode.o_t)
        table = ideal_table(filter_, b_t, episode.a_t, episode.o_t, 3)
        r_tc, expected = ndigo_reward(table.channels, 2), expected_ndigo(filter_, b_t, episode.a_t, 2)
        return r_tc[:, 1:].sum(axis=0), expected.sum(axis=0), expected.min()

    sampled, expected, lowest = map(np.asarray, jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), 64)))
    gap = sampled - expected
    assert (abs(gap.mean(axis=0)) <= 4 * gap.std(axis=0) / np.sqrt(len(gap)) + 1e-5).all()
    assert expected[:, 0].mean() > 1
    assert lowest.min() > -1e-5
