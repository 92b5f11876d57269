"""The filter against what the real worlds do; `test_predictive` holds it to the joint posterior over every state."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo.agent import random_walker
from ndigo.errors import NdigoError
from ndigo.oracle import knowledge, make_filter
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.rewards import make_reward
from ndigo.worlds import make_world
from ndigo.worlds.rollout import rollout
from oracle.tiny import roam, tiny


def test_direction_of_a_bouncing_object_is_part_of_the_belief():
    """Seen twice, it is known for good, though it leaves the view."""
    world, enumeration = tiny("bouncing")
    filter_ = make_filter(world)
    for seed in range(40):
        a_t, states = roam(enumeration, np.random.default_rng(seed), 20)
        frames = np.stack([enumeration.frame(s) for s in states])
        is_seen = np.any(frames[..., 1], axis=(1, 2)).reshape(-1)
        twice = np.flatnonzero(is_seen[:-1] & is_seen[1:])
        if len(twice) and not is_seen[twice[0] + 2 :].all():
            b_t = jax.jit(filter_.run)(jnp.asarray(a_t), jnp.asarray(frames))
            cells_t = np.asarray(b_t.objects[0])[twice[0] + 1 :].sum(axis=1)
            assert cells_t.max(axis=1).min() == pytest.approx(1)
            return
    pytest.fail("no walk met the object twice and left it")


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS.keys())
def test_belief_is_calibrated_in_every_experiment_and_pays_without_the_truth(experiment):
    """Monte Carlo: E[-ln b(true cell)] = E[entropy of b], and the truth is never ruled out.

    On the same walks, ideal NDIGO-1 of a world that keeps its truth to itself: finite, and nothing for white noise.
    """
    world = make_world(experiment.world_name, num_steps=100)
    filter_ = make_filter(world)
    on_episode = make_reward("ideal-ndigo-1").on_episode
    assert on_episode is not None
    pay = on_episode(dataclasses.replace(world, truth=None))

    def judge(key):
        episode = rollout(world, random_walker(world), key)
        known = knowledge(filter_, episode.a_t, episode.o_t, episode.truth_t.objects)
        r_tc = pay(None, episode.a_t, episode.o_t)
        return known.discovery_loss.max(), (known.discovery_loss - known.entropy).mean(axis=0), abs(r_tc).max(axis=0)

    highest, gap, r_c = map(np.asarray, jax.jit(jax.vmap(judge))(jax.random.split(jax.random.key(1), 32)))
    assert np.isfinite(highest).all()
    # One episode's frames are dependent; episodes are not.
    error = gap.std(axis=0) / np.sqrt(len(gap))
    assert (abs(gap.mean(axis=0)) <= 4 * error + 1e-5).all()
    assert np.isfinite(r_c).all()
    assert world.grid is not None
    for c, thing in enumerate(world.grid.objects, 1):
        if thing.kind == "white_noise":
            assert r_c[:, c].max() < 1e-4


def test_filter_gives_the_same_answer_eager_jitted_and_vmapped():
    world, enumeration = tiny("brownian")
    filter_ = make_filter(world)
    walks = [roam(enumeration, np.random.default_rng(seed), 2) for seed in range(2)]
    a_t = jnp.asarray(np.stack([a for a, _ in walks]))
    o_t = jnp.asarray(np.stack([np.stack([enumeration.frame(s) for s in states]) for _, states in walks]))
    together = jax.jit(jax.vmap(filter_.run))(a_t, o_t)
    with jax.disable_jit():
        eager = filter_.run(a_t[1], o_t[1])
    for one, many, plain in zip(
        jax.tree.leaves(jax.jit(filter_.run)(a_t[1], o_t[1])),
        jax.tree.leaves(together),
        jax.tree.leaves(eager),
        strict=True,
    ):
        np.testing.assert_allclose(one, many[1], atol=1e-6)
        np.testing.assert_allclose(one, plain, atol=1e-6)


def test_a_frame_that_cannot_happen_does_not_pass_unnoticed():
    """A fixed object in view is moved by hand, out of view."""
    world, enumeration = tiny("fixed")
    filter_ = make_filter(world)
    here, gone = (enumeration.frame((enumeration.start, ((cell, 0),))) for cell in ((1, 4), (2, 6)))
    b_t = jax.jit(filter_.run)(np.zeros(1, np.int32), np.stack([here, gone]))
    assert np.isfinite(b_t.objects[0][0]).all()
    assert np.isnan(b_t.objects[0][1]).all()


def test_a_view_that_hides_what_blocks_is_refused():
    with pytest.raises(NdigoError, match="view 1 hides what blocks"):
        make_filter(make_world("fixed_and_noise", view=1))


def test_a_map_that_is_not_followed_is_refused():
    world = make_world("fixed_and_noise")
    other = dataclasses.replace(world, step=lambda key, state, a_t: state)
    with pytest.raises(NdigoError, match="it has functions of its own"):
        make_filter(other)
    make_filter(dataclasses.replace(world, truth=None))


def test_prior_is_uniform_over_the_cells_an_object_may_start_from():
    filter_ = make_filter(EXPERIMENTS["exp2"].world)
    entropy = jax.jit(filter_.entropy)(filter_.prior)
    np.testing.assert_allclose(entropy, [np.log(144), np.log(48)], rtol=1e-5)
    assert all(len(set(m.cells.tolist())) == m.prior.shape[1] for m in filter_.tables.motions)
    bouncing, *_ = make_filter(EXPERIMENTS["exp3"].world).prior.objects
    np.testing.assert_allclose(bouncing[bouncing > 0], 1 / (4 * 48), rtol=1e-5)  # in every direction alike
    assert bouncing.sum() == pytest.approx(1)
