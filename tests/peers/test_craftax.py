"""Craftax itself: its frames, and a short training whose counts are those of Craftax's own state."""

# pyright: reportMissingImports=false

from __future__ import annotations

import dataclasses
import json
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from craftax.craftax_classic.constants import BLOCK_PIXEL_SIZE_AGENT, Achievement, Action, BlockType
from craftax.craftax_classic.renderer import make_craftax_pixel_renderer
from craftax.craftax_env import make_craftax_env_from_name

import ndigo
from ndigo.errors import NdigoError
from ndigo.interop.finding import find_world
from ndigo.interop.suites import from_craftax
from ndigo.watching.drawing import drawn_frames

ID = "Craftax-Classic-Symbolic-v1"
LUCK = jax.random.key(0)
STEPS = 40
WALK = [Action.LEFT, Action.RIGHT, Action.UP, Action.DOWN, Action.DO, Action.DO, Action.PLACE_PLANT]
SCRIPT = jnp.array([WALK[i].value for i in np.random.default_rng(0).integers(len(WALK), size=STEPS)])
SMALL: dict[str, Any] = {
    "preset": "cpu",
    "seeds": 1,
    "num_ahead": 2,
    "belief_size": 16,
    "num_filters": 4,
    "num_features": 16,
    "predictor_hidden": 16,
    "head_hidden": 8,
    "batch": 4,
    "window": 10,
    "actors": 2,
    "round_steps": STEPS,
    "updates_per_round": 8,
    "replay_steps": 4 * STEPS,
    "learner_steps": 48,
    "rounds_per_chunk": 1,
    "chunks_per_evaluation": 6,
    "evaluation_episodes": 2,
}


def made() -> tuple[Any, Any]:
    env = make_craftax_env_from_name(ID, auto_reset=False)
    return env, env.default_params.replace(max_timesteps=STEPS)


class Story(NamedTuple):
    """One episode, as Craftax's own states tell it."""

    places: set[tuple[int, ...]]
    achieved: np.ndarray  # [T+1, 22]
    earned: float


def by_hand() -> Story:
    """The script, step by step in Craftax, without anything of ours."""
    env, params = made()
    step = jax.jit(env.step_env)
    states, earned, done = [jax.jit(env.reset_env)(LUCK, params)[1]], 0.0, False
    while not done:
        t = len(states) - 1
        _, state, reward, done, _ = step(jax.random.fold_in(LUCK, t), states[-1], SCRIPT[t], params)
        states.append(state)
        earned += float(reward)
    places = {tuple(np.asarray(state.player_position).tolist()) for state in states}
    return Story(places, np.array([state.achievements for state in states], bool), earned)


def led() -> ndigo.World:
    """Craftax with its luck fixed and the player led by the hand: every episode is the script's, whoever acts."""
    env, params = made()
    reset, step = env.reset_env, env.step_env
    env.reset_env = lambda key, params: reset(LUCK, params)
    env.step_env = lambda key, state, a_t, params: step(
        jax.random.fold_in(LUCK, state.timestep), state, SCRIPT[state.timestep], params
    )
    return from_craftax(env, params)


@pytest.mark.timeout(1200)  # most of it is compilation
def test_a_short_training_counts_what_craftax_says_and_learns_to_predict_it(tmp_path):
    world, story = led(), by_hand()
    run = ndigo.train(world, "ndigo-1", out=tmp_path / "run", quiet=True, **SMALL)
    found = run.evaluate(2)
    is_seen = story.achieved.any(axis=0)
    assert len(story.places) > 3
    assert is_seen.sum() >= 2
    np.testing.assert_array_equal(found.episode_steps, [[len(story.achieved) - 1] * 2])
    np.testing.assert_array_equal(found.coverage, [[len(story.places)] * 2])
    np.testing.assert_allclose(np.asarray(found.task_return), [[story.earned] * 2], rtol=1e-5)
    np.testing.assert_array_equal(found.visits, [[story.achieved.sum(axis=0)] * 2])
    np.testing.assert_array_equal(found.frequency, [[is_seen] * 2])
    first = np.where(is_seen, story.achieved.argmax(axis=0), STEPS)
    np.testing.assert_array_equal(found.first_visit, [[first] * 2])
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    losses = [np.sum(line["learning"]["model_loss_c"]) for line in lines]  # nats per frame
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.timeout(1200)
def test_a_death_in_the_step_that_the_limit_cuts_is_a_termination_and_the_cut_alone_is_none():
    """Health 0 is death, and so is lava underfoot; of the limit's step, and of the one before it."""
    env, params = made()
    world = from_craftax(env, params)
    start, step = jax.jit(world.reset)(LUCK), jax.jit(world.step)

    def ends(t: int, **changes: Any) -> list[bool]:
        inner = start.inner.replace(timestep=jnp.asarray(t, start.inner.timestep.dtype), **changes)
        after = step(LUCK, dataclasses.replace(start, inner=inner), jnp.int32(Action.NOOP.value))
        assert world.ends is not None
        return [bool(x) for x in world.ends(after)]

    nothing = jnp.zeros_like(start.inner.player_food)
    starved = {"player_health": nothing, "player_food": nothing, "player_drink": nothing}
    in_lava = {"map": jnp.full_like(start.inner.map, BlockType.LAVA.value)}
    for t in (STEPS - 1, STEPS - 2):
        assert ends(t, **starved) == [True, True]
        assert ends(t, **in_lava) == [True, True]
    assert ends(STEPS - 1) == [True, False]
    assert ends(STEPS - 2) == [False, False]


def test_frames_say_what_the_observation_says():
    """Tiles and numbers, back into the suite's own floats: nothing but the light's shade is lost."""
    world = find_world(f"craftax::{ID}")
    assert world.events == tuple(achievement.name.lower() for achievement in Achievement)
    assert [channel.name for channel in world.channels] == ["blocks", "mobs", "numbers"]
    state = jax.jit(world.reset)(LUCK)
    frame = jax.device_get(world.observe(state))
    env, params = made()
    theirs = np.asarray(jax.jit(env.reset)(LUCK, params)[0])
    blocks, mobs = frame["blocks"][..., 0], frame["mobs"][..., 0]
    ones = np.concatenate([np.eye(len(BlockType) + 1)[blocks][..., 1:], np.eye(5)[mobs][..., 1:]], axis=-1)
    found = np.concatenate([ones.ravel(), frame["numbers"]])
    np.testing.assert_allclose(found, theirs, atol=1e-6)  # compiled apart, the light rounds otherwise


@pytest.mark.timeout(1200)
def test_actions_as_a_recording_keeps_them_are_played_once_more():
    """Its step takes no int8. Pictures by its own renderer, of its own states."""
    world, key, num = find_world(f"craftax::{ID}"), jax.random.key(2), 4
    env, params = made()
    key_reset, key_world, _ = jax.random.split(key, 3)
    keys, step = jax.random.split(key_world, world.num_steps), jax.jit(env.step_env)
    states = [jax.jit(env.reset_env)(key_reset, params)[1]]
    for key_t, a in zip(keys, SCRIPT[:num], strict=False):
        states.append(step(key_t, states[-1], a, params)[1])
    drawn = drawn_frames(world, key, np.asarray(SCRIPT[:num], np.int8))
    render = jax.jit(make_craftax_pixel_renderer(BLOCK_PIXEL_SIZE_AGENT))
    np.testing.assert_array_equal(drawn, [np.asarray(render(state)).astype(np.uint8) for state in states])


def test_environments_that_reset_themselves_and_pictures_are_refused():
    with pytest.raises(NdigoError, match="resets itself loses last frames; make it auto_reset=False"):
        from_craftax(make_craftax_env_from_name(ID, auto_reset=True))
    pixels = make_craftax_env_from_name("Craftax-Classic-Pixels-v1", auto_reset=False)
    with pytest.raises(NdigoError, match=r"observations \(63, 63, 3\) are pictures, expected a symbolic environment"):
        from_craftax(pixels)
