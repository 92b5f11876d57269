"""docs/extending.md: what its snippets make passes the gate, and is what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from random_windows import random_window
from tiny_runs import TINY

import ndigo
from ndigo.gate import check_reward, check_world
from ndigo.model import PREDICTORS
from ndigo.paper.experiment import EXPERIMENTS
from ndigo.rewards import make_reward, table
from ndigo.training.learner import make_learner

SECTION = (Path(__file__).parents[2] / "docs" / "extending.md").read_text().split("## A reward")[1].split("\n## ")[0]
TINY_PLAIN: dict[str, Any] = {name: value for name, value in TINY.items() if name != "preset"} | {"plain": True}


def test_worlds_and_rewards_pass_the_gate_with_predictor_and_likelihood(made):
    check_world(made["guarded"])
    config = ndigo.Config(**TINY_PLAIN, predictor="linear", likelihood="unsure")
    for name in ("both", "reward", "scaled", "restless"):
        check_reward(made[name], made["guarded"], config)
    assert made["both"].reads == (*make_reward("ndigo-1").reads, *make_reward("ndigo-4").reads)
    assert made["world"].objects == ("lamp",)
    assert EXPERIMENTS["noise_again"].world.objects == ("fixed", "noise")


def test_a_reward_may_read_what_the_page_lists_with_the_axes_it_gives(made):
    """T = 6, B = 2, K = 3, C = 2."""
    world, reward, sizes = made["world"], made["reward"], {"T": 6, "T+1": 7, "K": 3, "B": 2, "C": 2}
    config = ndigo.Config(**{**TINY_PLAIN, "num_ahead": 3, "belief_size": 8, "precision": "float32"})
    model = make_learner(config, world, reward).init(jax.random.key(0)).params.model
    window = random_window(
        0, T=6, streams=(2,), shape=world.shape, num_actions=world.num_actions, state_size=8, num_objects=1
    )
    seen = model.look(window)
    names = {"table": table, "seen": seen, "model": model, "window": window}
    names |= vars(reward.pay(None, None, model, seen))
    read, returned = re.findall(r"^\|---\|---\|---\|\n((?:\|.*\n)+)", SECTION, re.MULTILINE)
    found = {}
    for row in (read + returned).splitlines():
        terms, axes, _ = [cell.strip() for cell in row.strip("|").split("|")]
        for term in re.findall(r"`([^`]+)`", terms):
            if axes:
                found[term] = eval(term, names)
                expected = [sizes[axis] for axis in axes.strip("[]").split(", ") if axis != "..."]
                assert list(found[term].shape[: len(expected)]) == expected, term
            elif term not in ("params", "memory"):
                eval(term, names)
    assert len(found) == 10


def test_the_predictor_predicts_what_a_loop_over_steps_and_streams_does(made):
    rng = np.random.default_rng(0)
    T, B, K, D, A = 3, 2, 4, 5, 3
    predictor: Any = PREDICTORS["linear"](jax.random.key(0), D=D, A=A, K=K, num_hidden=1, num_outputs=6)
    by_action = rng.normal(size=(A, D, D))
    predictor = type(predictor)(jnp.asarray(by_action, jnp.float32), predictor.decoder)
    b_t, a_kt = rng.normal(size=(T, B, D)), rng.integers(A, size=(K, T, B))
    logits = predictor.predict(jnp.asarray(b_t, jnp.float32), jnp.asarray(a_kt), lambda logits, _: logits, None)
    for t in range(T):
        for i in range(B):
            h = b_t[t, i]
            for k in range(K):
                h = h @ by_action[a_kt[k, t, i]]
                expected = h @ np.asarray(predictor.decoder, float)
                np.testing.assert_allclose(logits[k, t, i], expected, rtol=1e-4, atol=1e-5)


def test_the_likelihoods_chances_of_all_frames_sum_to_one(made):
    """In a frame of two cells and one channel: four frames."""
    likelihood = made["Unsure"]((1, 2, 1))
    logits = jnp.array([0.3, -9.0])
    every = jnp.array([[a, b] for a in (0, 1) for b in (0, 1)], jnp.uint8).reshape(4, 1, 2, 1)
    nats = jax.vmap(lambda o_t: likelihood.nats(logits, likelihood.target(o_t)))(every)
    assert nats.shape == (4, 1)
    np.testing.assert_allclose(np.exp(-np.asarray(nats)).sum(), 1, rtol=1e-5)
    assert float(nats.max()) < -2 * np.log(0.005)
