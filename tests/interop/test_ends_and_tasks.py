"""A world with ends and a task keeps both in every face.

Each frame of `counting` tells its step, its episode's length and name, and the action before it. By its own law an
episode of even length terminates and one of odd length is cut, and action 1 is paid the step's number.
"""

from __future__ import annotations

import dataclasses

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from stream_worlds import counting, read_count

from ndigo.errors import NdigoError
from ndigo.interop.gymnasium import WorldEnv
from ndigo.interop.gymnax import GymnaxParams, GymnaxWorld
from ndigo.interop.numpy_world import NumpyWorld
from ndigo.interop.vector import WorldVectorEnv
from ndigo.worlds import make_world

N, STEPS = 6, 40
WORLD = counting(5)


class Law:
    """One copy's episodes by hand: `follows` says what a step must have told, of the frame that it shows."""

    def __init__(self, first, longest: int = 100) -> None:
        self.longest, self.num_terminated, self.num_cut = longest, 0, 0
        self.begins(first)

    def begins(self, o_0) -> None:
        t, self.length, self.name, last_action = map(int, read_count(o_0))
        assert (t, last_action) == (0, 0)
        self.t = 0

    def follows(self, action: int, o_t) -> tuple[float, bool, bool]:
        """(reward, terminated, truncated)."""
        self.t += 1
        assert tuple(map(int, read_count(o_t))) == (self.t, self.length, self.name, action)
        is_terminated = self.t == self.length and self.length % 2 == 0
        is_cut = not is_terminated and self.t == min(self.length, self.longest)
        self.num_terminated, self.num_cut = self.num_terminated + is_terminated, self.num_cut + is_cut
        return float(self.t * (action == 1)), is_terminated, is_cut


def actions(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 3, (STEPS, N))


def test_gymnasiums_checker_finds_nothing_to_say():
    check_env(WorldEnv(WORLD), skip_render_check=True)


def test_a_world_is_rendered_by_its_own_draw():
    """Each pixel is the step: after a step from reset it is 1, in one copy and in each of many."""
    drawn = dataclasses.replace(WORLD, draw=lambda s: np.full((2, 3, 3), read_count(WORLD.observe(s))[0], np.uint8))
    for env in (WorldEnv(drawn, "rgb_array"), WorldVectorEnv(drawn, 2, render_mode="rgb_array")):
        assert env.metadata["render_modes"] == ["rgb_array"]
        env.reset(seed=0)
        env.step(env.action_space.sample())
        pictures = np.array(env.render())
        assert pictures.shape[-3:] == (2, 3, 3)
        np.testing.assert_array_equal(pictures, 1)
    with pytest.raises(NdigoError, match=r"render_mode 'ansi': known: rgb_array$"):
        WorldEnv(drawn, "ansi")


def test_one_environment_ends_and_pays_by_the_worlds_law():
    env = WorldEnv(WORLD)
    law = Law(env.reset(seed=0)[0])
    for a_t in actions().ravel().tolist():
        o_t, *told, _ = env.step(a_t)
        assert tuple(told[:3]) == law.follows(a_t, o_t)
        if told[1] or told[2]:
            law.begins(env.reset()[0])
    assert min(law.num_terminated, law.num_cut) > 10


def laws_of(envs: WorldVectorEnv, longest: int = 100) -> list[Law]:
    return [Law(o, longest) for o in envs.reset(seed=0)[0]]


@pytest.mark.parametrize("longest", [2, 100])
def test_many_begin_anew_in_the_step_after_their_own_end(longest):
    envs = WorldVectorEnv(WORLD, N, max_episode_steps=longest)
    laws, was_over, num_alone = laws_of(envs, longest), np.zeros(N, bool), 0
    for a_t in actions():
        o_t, rewards, terminations, truncations, _ = envs.step(a_t)
        for n, law in enumerate(laws):
            told = rewards[n], terminations[n], truncations[n]
            if was_over[n]:
                law.begins(o_t[n])
                assert told == (0.0, False, False)
            else:
                assert told == law.follows(int(a_t[n]), o_t[n])
        was_over = terminations | truncations
        num_alone += 0 < was_over.sum() < N
    assert num_alone > 5
    assert min(sum(law.num_terminated for law in laws), sum(law.num_cut for law in laws)) > 10


def test_many_begin_anew_in_the_step_that_ends_them():
    envs = WorldVectorEnv(WORLD, N, autoreset_mode="SameStep")
    laws, num_alone = laws_of(envs), 0
    for a_t in actions():
        o_t, rewards, terminations, truncations, infos = envs.step(a_t)
        is_over = terminations | truncations
        assert ("final_obs" in infos) == is_over.any()
        if is_over.any():
            assert infos["_final_obs"].tolist() == is_over.tolist()
        for n, law in enumerate(laws):
            seen = infos["final_obs"][n] if is_over[n] else o_t[n]
            assert (rewards[n], terminations[n], truncations[n]) == law.follows(int(a_t[n]), seen)
            if is_over[n]:
                law.begins(o_t[n])
            elif is_over.any():
                assert infos["final_obs"][n] is None
        num_alone += 0 < is_over.sum() < N
    assert num_alone > 5


def test_the_caller_resets_those_that_are_over_and_leaves_the_others():
    envs = WorldVectorEnv(WORLD, N, autoreset_mode=AutoresetMode.DISABLED)
    laws, num_alone = laws_of(envs), 0
    for a_t in actions():
        o_t, rewards, terminations, truncations, _ = envs.step(a_t)
        for n, law in enumerate(laws):
            assert (rewards[n], terminations[n], truncations[n]) == law.follows(int(a_t[n]), o_t[n])
        is_over = terminations | truncations
        if not is_over.any():
            continue
        with pytest.raises(gymnasium.error.ResetNeeded):
            envs.step(a_t)
        begun, _ = envs.reset(options={"reset_mask": is_over})
        np.testing.assert_array_equal(begun[~is_over], o_t[~is_over])
        for n in np.flatnonzero(is_over):
            laws[n].begins(begun[n])
        num_alone += not is_over.all()
    assert num_alone > 5
    for mask in (np.zeros(N, bool), np.ones(N - 1, bool), np.ones(N)):
        with pytest.raises(NdigoError, match=r"reset_mask .*: need 6 True or False, and at least one True"):
            envs.reset(options={"reset_mask": mask})


@pytest.mark.parametrize("longest", [2, 100])
def test_gymnax_ends_and_pays_by_the_worlds_law(longest):
    env, params = GymnaxWorld(WORLD), GymnaxParams(max_steps_in_episode=longest)
    key_reset, key_step = jax.random.split(jax.random.key(0))
    a_t = actions()

    @jax.jit
    def rollout():
        def step(state, inputs):
            keys, a = inputs
            o, state, *told = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, state, a, params)
            return state, (o, *told)

        o_0, state = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(key_reset, N), params)
        return o_0, jax.lax.scan(step, state, (jax.random.split(key_step, (STEPS, N)), jnp.asarray(a_t)))[1]

    o_0, (o_t, reward, terminated, truncated, info) = jax.tree.map(np.asarray, rollout())
    laws = [Law(o, longest) for o in o_0]
    for t in range(STEPS):
        for n, law in enumerate(laws):
            told = reward[t, n], terminated[t, n], truncated[t, n]
            assert told == law.follows(int(a_t[t, n]), info["final_observation"][t, n])
            if told[1] or told[2]:
                law.begins(o_t[t, n])
            else:
                np.testing.assert_array_equal(o_t[t, n], info["final_observation"][t, n])
    assert min(sum(law.num_terminated for law in laws), sum(law.num_cut for law in laws)) > 10


def test_a_map_with_a_task_of_ones_own_keeps_it():
    """Plain Python cannot read a state for it, so JAX steps it: up one cell pays 1 and terminates."""
    maze = make_world("maze")
    assert maze.truth is not None
    start = maze.truth(maze.reset(jax.random.key(0))).agent

    def is_away(state):
        return (maze.truth(state).agent != start).any()  # type: ignore[misc]

    world = dataclasses.replace(maze, ends=lambda s: (is_away(s), is_away(s)), task_reward=is_away)
    env = WorldEnv(world)
    env.reset(seed=0)
    assert env.step(0)[1:4] == (0.0, False, False)
    told = [env.step(a)[1:4] for a in (1, 2, 3, 4)]
    assert (1.0, True, False) in told
    with pytest.raises(NdigoError, match="has a task or ends of its own"):
        NumpyWorld(world)
