"""The filter against the joint posterior over every state, and against what the real worlds do."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo.errors import NdigoError
from ndigo.experiments import EXPERIMENTS
from ndigo.oracle import knowledge, make_filter, play, random_walker
from ndigo.worlds import make_world
from oracle.tiny import TINY, roam, tiny


@pytest.mark.parametrize("name", TINY)
def test_product_of_object_beliefs_is_the_joint_posterior(name):
    world, enumeration = tiny(name)
    filter_ = make_filter(world)
    run = jax.jit(filter_.run)
    assert world.map_shape is not None
    rows, cols = world.map_shape
    num_objects = len(enumeration.things)
    for seed in range(3):
        a_t, states = roam(enumeration, np.random.default_rng(seed), 20)
        b_t = run(a_t, np.stack([enumeration.frame(s) for s in states]))
        located = np.asarray(jax.vmap(filter_.locate)(b_t), np.float64)
        p = enumeration.initial()
        for t, state in enumerate(states):
            p = enumeration.condition(enumeration.step(p, a_t[t - 1]) if t else p, enumeration.observe(state))
            assert {agent for agent, _ in p} == {state[0]}, "the agent's cell must follow from the history"
            stride = filter_.tables.stride
            assert int(b_t.agent[t]) == state[0][0] * stride + state[0][1]
            joint = np.zeros((rows * cols,) * num_objects)
            for (_, places), weight in p.items():
                joint[tuple(r * cols + c for (r, c), _ in places)] += weight
            product = located[t, 0] if num_objects == 1 else np.multiply.outer(located[t, 0], located[t, 1])
            np.testing.assert_allclose(product, joint, atol=1e-6)


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
            b_t = filter_.run(jnp.asarray(a_t), jnp.asarray(frames))
            cells_t = np.asarray(b_t.objects[0])[twice[0] + 1 :].sum(axis=1)
            assert cells_t.max(axis=1).min() == pytest.approx(1)
            return
    pytest.fail("no walk met the object twice and left it")


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS.keys())
def test_belief_is_calibrated_in_every_experiment(experiment):
    """Monte Carlo: E[-ln b(true cell)] = E[entropy of b], and the truth is never ruled out."""
    world = make_world(experiment.world_name, num_steps=200)
    filter_ = make_filter(world)

    def judge(key):
        episode = play(world, random_walker(world), key)
        known = knowledge(filter_, episode.a_t, episode.o_t, episode.truth_t.objects)
        return known.discovery_loss.max(), (known.discovery_loss - known.entropy).mean(axis=0)

    highest, gap = jax.jit(jax.vmap(judge))(jax.random.split(jax.random.key(1), 64))
    assert np.isfinite(highest).all()
    # One episode's frames are dependent; episodes are not.
    error = np.asarray(gap).std(axis=0) / np.sqrt(len(gap))
    assert (abs(np.asarray(gap).mean(axis=0)) <= 4 * error + 1e-5).all()


def test_filter_gives_the_same_answer_eager_jitted_and_vmapped():
    world, enumeration = tiny("fixed and brownian")
    filter_ = make_filter(world)
    walks = [roam(enumeration, np.random.default_rng(seed), 3) for seed in range(2)]
    a_t = jnp.stack([jnp.asarray(a) for a, _ in walks])
    o_t = jnp.stack([jnp.stack([enumeration.frame(s) for s in states]) for _, states in walks])
    together = jax.vmap(filter_.run)(a_t, o_t)
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
    here, gone = (jnp.asarray(enumeration.frame((enumeration.start, ((cell, 0),)))) for cell in ((1, 4), (2, 6)))
    b_t = filter_.update(filter_.init(here), jnp.int32(0), gone)
    assert bool(jnp.isnan(b_t.objects[0]).all())


def test_a_view_that_hides_what_blocks_is_refused():
    with pytest.raises(NdigoError, match="view 1 hides what blocks"):
        make_filter(make_world("fixed_and_noise", view=1))


def test_prior_is_uniform_over_the_cells_an_object_may_start_from():
    filter_ = make_filter(EXPERIMENTS["exp2"].world)
    entropy = filter_.entropy(filter_.prior)
    np.testing.assert_allclose(entropy, [np.log(144), np.log(48)], rtol=1e-5)
    assert all(len(set(itertools.chain(m.cells.tolist()))) == m.prior.shape[1] for m in filter_.tables.motions)
