"""One counting environment in every way that suites begin a new episode: through its adapter each is the same stream.

same step   gymnax: `step` returns the next episode's first frame, and the last one beside it
next step   NAVIX: the call after the last frame begins anew, and its action is lost
none        Craftax: nothing begins by itself
dm_env      XLand-MiniGrid: time steps that are first, mid or last, with a discount
"""

from __future__ import annotations

import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from stream_worlds import counting

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.gate import check_world
from ndigo.gate.shapes import once
from ndigo.interop.suites import SUITES, from_gymnax, from_navix, from_xminigrid, suite_world
from ndigo.interop.suites.gymnax import by_name
from ndigo.interop.suites.spaces import frame_of
from ndigo.interop.suites.stepped import world_of_steps
from ndigo.training.streams.actor import new_actor
from ndigo.training.streams.slots import Slots, play_slots
from ndigo.worlds import World

LONGEST, SLOTS = 5, 60
WORLD = counting(LONGEST)
ends: Any = WORLD.ends
task_reward: Any = WORLD.task_reward
ACTIONS = SimpleNamespace(n=3, shape=())


class SameStep:
    """gymnax's interface."""

    name, default_params = "same step", SimpleNamespace(max_steps_in_episode=LONGEST)

    def action_space(self, params: Any) -> Any:
        return ACTIONS

    def observation_space(self, params: Any) -> Any:
        return SimpleNamespace(low=0, high=1, shape=WORLD.shape)

    def reset_env(self, key: Array, params: Any) -> tuple[Array, Any]:
        state = WORLD.reset(key)
        return WORLD.observe(state), state

    def step_env(self, key: Array, state: Any, a: Array, params: Any) -> tuple[Any, ...]:
        state = WORLD.step(key, state, a)
        return WORLD.observe(state), state, task_reward(state), ends(state)[1], {}

    def is_truncated(self, state: Any, params: Any) -> Array:
        return ends(state)[0] & ~ends(state)[1]

    def step(self, *args: Any) -> Any:
        raise AssertionError("it would hide the last frame")


class TimeStep(eqx.Module):
    state: Any
    observation: Array
    reward: Array
    step_type: Array
    discount: Array

    def last(self) -> Array:
        return self.step_type == 2


def time_step(state: Any, step_type: Any) -> TimeStep:
    is_terminal = ends(state)[1]
    return TimeStep(state, WORLD.observe(state), task_reward(state), jnp.int32(step_type), 1.0 - is_terminal)


class NextStep:
    """NAVIX's interface: 0 goes on, 1 is cut, 2 terminates."""

    action_space, observation_space, max_steps = ACTIONS, SimpleNamespace(shape=WORLD.shape), LONGEST

    def reset(self, key: Array) -> TimeStep:
        return time_step(WORLD.reset(key), 0)

    def _step(self, before: TimeStep, a: Array) -> TimeStep:
        state = WORLD.step(None, before.state, a)
        is_last, is_terminal = ends(state)
        return time_step(state, jnp.where(is_terminal, 2, jnp.where(is_last, 1, 0)))

    def step(self, *args: Any) -> Any:
        raise AssertionError("it would eat an action")


class DmEnv:
    """XLand-MiniGrid's interface: 0 is first, 1 mid, 2 last."""

    def num_actions(self, params: Any) -> int:
        return 3

    def reset(self, params: Any, key: Array) -> TimeStep:
        return time_step(WORLD.reset(key), 0)

    def step(self, params: Any, before: TimeStep, a: Array) -> TimeStep:
        state = WORLD.step(None, before.state, a)
        return time_step(state, jnp.where(ends(state)[0], 2, 1))


def bare() -> World:
    def reset(key: Array) -> tuple[Any, Array]:
        state = WORLD.reset(key)
        return state, WORLD.observe(state)

    def step(key: Array, state: Any, a: Array) -> tuple[Any, ...]:
        state = WORLD.step(key, state, a)
        return state, WORLD.observe(state), task_reward(state), *ends(state)

    sizes: Any = {"num_actions": 3, "num_steps": LONGEST}
    return world_of_steps("none", frame=WORLD.frame, read=lambda o: o, reset=reset, step=step, **sizes)


OWN: Any = {"frame": WORLD.frame, "read": lambda o: o, "place": lambda s: s.state.t}
DIALECTS = {
    "same step": lambda: from_gymnax(SameStep()),
    "next step": lambda: from_navix(NextStep(), **OWN),
    "none": bare,
    "dm_env": lambda: from_xminigrid(DmEnv(), SimpleNamespace(max_steps=LONGEST), **OWN),
}


class ByTheStep(eqx.Module):
    """A policy whose actions depend on the frame and on the action before it."""

    size: int = eqx.field(static=True, default=2)

    def step(self, o_t: Array, a_tm1: Array, h_tm1: Array) -> tuple[Array, Array]:
        best = (o_t[0, 0, :4].sum() + o_t[0, 0, 8] + a_tm1) % 3
        return h_tm1 + 1, (jnp.arange(3) == best).astype(jnp.float32)


@cache
def stream_of(make: Any) -> Slots:
    world = make()

    def play(key: Array) -> Slots:
        actor = new_actor(world.reset(key), 2)
        return play_slots(world, ByTheStep(), key, actor, jnp.float32(0.2), SLOTS, longest=3)[1]

    return jax.device_get(once(play)(jax.random.key(3)))


def ours() -> World:
    return WORLD


@pytest.mark.parametrize("name", DIALECTS)
def test_each_dialect_yields_the_same_stream(name):
    expected = stream_of(ours)
    assert expected.is_first.sum() > 5
    assert 0 < expected.is_terminal.sum() < expected.is_first.sum()
    assert expected.task_t.any()
    for one, two in zip(jax.tree.leaves(stream_of(DIALECTS[name])), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_read_of_ones_own_is_honoured_beside_the_frame_of_the_space():
    """`read` turns every tile and bit into 1 minus itself; without `frame`, the frame is the space's own."""
    tiles = SimpleNamespace(shape=(1, 2, 3), dtype=np.uint8)
    seen = jnp.array([[[1, 0, 1], [0, 0, 1]]], jnp.uint8)

    class Navix(NextStep):
        observation_space = tiles

        def reset(self, key: Array) -> TimeStep:
            return eqx.tree_at(lambda step: step.observation, super().reset(key), seen)

    class XMiniGrid(DmEnv):
        def observation_shape(self, params: Any) -> tuple[int, int, int]:
            return 1, 2, 2

        def reset(self, params: Any, key: Array) -> TimeStep:
            return eqx.tree_at(lambda step: step.observation, super().reset(params, key), seen[..., :2])

    read: Any = {"read": lambda o: 1 - o}
    key = jax.random.key(0)
    bits = from_gymnax(SameStep(), **read)
    np.testing.assert_array_equal(bits.observe(bits.reset(key)), 1 - np.asarray(WORLD.observe(WORLD.reset(key))))
    for world, expected in [
        (from_navix(Navix(), place=lambda s: s.state.t, **read), [[[0, 1, 0], [1, 1, 0]]]),
        (from_xminigrid(XMiniGrid(), SimpleNamespace(max_steps=LONGEST), **read), [[[0, 1], [1, 1]]]),
    ]:
        np.testing.assert_array_equal(world.observe(world.reset(key)), expected)


@pytest.mark.parametrize(("value", "is_symbolic"), [((10, 255, 254), True), ((11, 0, 0), False), ((0, 6, 0), False)])
def test_a_picture_is_not_taken_for_symbolic_tiles(value, is_symbolic):
    """By NAVIX's tables: entities 0 to 10, colours 0 to 5 or 255 for none, and a locked door's state may be 254."""

    class Shown(NextStep):
        observation_space = SimpleNamespace(shape=(1, 2, 3), dtype=np.uint8)

        def reset(self, key: Array) -> TimeStep:
            seen = jnp.array([[[0, 0, 0], value]], jnp.uint8)
            return eqx.tree_at(lambda step: step.observation, super().reset(key), seen)

    if is_symbolic:
        world = from_navix(Shown(), place=lambda s: s.state.t)
        assert world.observe(world.reset(jax.random.key(0)))[0, 1].tolist() == [10, 6, 3]
    else:
        with pytest.raises(NdigoError, match="are not symbolic ones: hand over a frame"):
            from_navix(Shown())


def test_an_empty_ruleset_is_a_world_without_goal_and_task():
    for goal, has_goal in [([0, 0, 0, 0, 0], False), ([1, 3, 4, 0, 0], True)]:
        params = SimpleNamespace(max_steps=LONGEST, ruleset=SimpleNamespace(goal=np.array(goal, np.uint8)))
        world = from_xminigrid(DmEnv(), params, **OWN)
        assert (world.events, world.task_reward is not None) == (("goal",) if has_goal else (), has_goal)
        check_world(world)


def test_an_unknown_suite_is_named_with_the_nearest():
    with pytest.raises(NdigoError, match=r"unknown suite 'gymnx'; nearest: gymnax; known: .*"):
        suite_world("gymnx::Breakout-MinAtar")
    with pytest.raises(NdigoError, match=r"unknown suite 'gym'; nearest: gymnasium::CartPole-v1; known: "):
        suite_world("gym::CartPole-v1")


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_that_is_not_installed_names_its_extra(suite, monkeypatch):
    monkeypatch.setitem(sys.modules, suite, None)
    with pytest.raises(NdigoError, match=rf"{suite} is not installed: pip install 'ndigo\[{SUITES[suite]}\]'"):
        suite_world(f"{suite}::any")


def test_a_suite_that_lacks_a_package_of_its_own_names_that(monkeypatch, tmp_path):
    (tmp_path / "navix.py").write_text("import no_such_package_anywhere")
    monkeypatch.delitem(sys.modules, "navix", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(NdigoError, match="navix needs no_such_package_anywhere, which is not installed: pip install"):
        suite_world("navix::any")


def unread() -> Any:
    raise AssertionError("a space that tells its frame by itself asks for no observation")


def test_continuous_actions_and_observations_that_fit_no_frame_are_refused():
    env = SameStep()
    env.action_space = lambda params: SimpleNamespace(low=-1, high=1, shape=(2,))
    with pytest.raises(NdigoError, match="expected a Discrete space"):
        from_gymnax(env)
    far_out = SimpleNamespace(low=1e6, high=np.inf, shape=(4,))
    message = r"its observations \(SimpleNamespace of numbers with shape \(4,\)\) fit no frame"
    with pytest.raises(NdigoError, match=message):
        frame_of("far out", far_out, unread)


def test_what_is_no_environment_and_what_is_no_frame_are_refused():
    pair: Any = (SameStep(), None)
    with pytest.raises(NdigoError, match=r"^from_gymnax: env is a tuple, expected an environment: from_gymnax"):
        from_gymnax(pair)
    with pytest.raises(NdigoError, match="same step: frame is a str, expected one"):
        from_gymnax(SameStep(), frame="bits")  # type: ignore[arg-type]


def test_fractions_are_bits_only_where_a_reset_shows_0_and_1():
    space = SimpleNamespace(low=0, high=1, shape=WORLD.shape, dtype=jnp.float32)

    class Fractions(SameStep):
        scale = 1.0

        def observation_space(self, params: Any) -> Any:
            return space

        def reset_env(self, key: Array, params: Any) -> tuple[Array, Any]:
            o_0, state = super().reset_env(key, params)
            return self.scale * o_0, state

    world = from_gymnax(Fractions())
    key = jax.random.key(1)
    np.testing.assert_array_equal(world.observe(world.reset(key)), WORLD.observe(WORLD.reset(key)))
    shades = Fractions()
    shades.scale = 0.5
    with pytest.raises(NdigoError, match=r"show 0\.5, which lies between the bits 0 and 1: hand over frame="):
        from_gymnax(shades)
    read: Any = lambda o: (o > 0).astype(jnp.uint8)  # noqa: E731
    world = from_gymnax(shades, read=read)
    np.testing.assert_array_equal(world.observe(world.reset(key)), WORLD.observe(WORLD.reset(key)))


def test_numbers_outside_of_the_bounds_that_a_space_declares_are_refused_and_by_name_read_without_them(capsys):
    """They would be in the outer bins. Not so where one reads them, or gives them a frame."""

    class Numbers(SameStep):
        high = LONGEST - 1.0  # which the last frame of an episode of all steps is beyond

        def observation_space(self, params: Any) -> Any:
            return SimpleNamespace(low=np.array([0.0, -np.inf]), high=np.array([self.high, np.inf]), shape=(2,))

        def reset_env(self, key: Array, params: Any) -> tuple[Array, Any]:
            return jnp.array([0.0, 1e9]), WORLD.reset(key)

        def step_env(self, key: Array, state: Any, a: Array, params: Any) -> tuple[Any, ...]:
            _, state, *rest = super().step_env(key, state, a, params)
            return jnp.array([state.t, 1e9], float), state, *rest

    says = r"^world same step: entry 0 of an observation is 5, but its space lies between 0 and 4: correct"
    with pytest.raises(NdigoError, match=says):
        from_gymnax(Numbers())
    fine = Numbers()
    fine.high = LONGEST
    assert from_gymnax(fine).frame.spec.shape == (2,)
    of_ones_own: list[Any] = [{"frame": frames.vector(2, low=0, high=4)}, {"read": lambda o: jnp.minimum(o, 4)}]
    for own in of_ones_own:
        assert from_gymnax(Numbers(), **own).frame.spec.shape == (2,)
    suite = SimpleNamespace(registered_envs=["Numbers"], make=lambda id_: (Numbers(), Numbers.default_params))
    world = by_name(suite, "Numbers")  # by which nobody can correct the space: symlogs, of which those of 0 and 1e9
    np.testing.assert_allclose(world.observe(world.reset(jax.random.key(0))), [0, np.log(1 + 1e9)], rtol=1e-6)
    assert isinstance(world.frame, frames.Vector)
    np.testing.assert_allclose(world.frame.high, np.log(101), rtol=1e-6)
    said = "world gymnax::Numbers leaves the bounds that it declares: its numbers are read without them\n"
    assert capsys.readouterr().err == said


def test_numbers_without_bounds_are_read_alike_by_numpy_and_inside_a_program():
    frame, read = frame_of("cart pole", SimpleNamespace(low=-np.inf, high=np.inf, shape=(4,)), unread)
    o = np.array([-1e30, -0.5, 0, 7], np.float32)
    np.testing.assert_allclose(jax.jit(read)(o), read(o), rtol=1e-6)
    np.testing.assert_allclose(read(o), [np.sign(x) * np.log(1 + abs(float(x))) for x in o], rtol=1e-6)
    assert frame.wrong(read(o)[None]) is None
