"""Gymnasium's environments as worlds: what fits, what is refused, and processes that step them."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import re
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from stream_worlds import CountingEnv

import ndigo
from ndigo import frames
from ndigo.cli import main
from ndigo.config import preset
from ndigo.errors import NdigoError
from ndigo.gate import check_records
from ndigo.interop.finding import find_world
from ndigo.interop.suites import from_gymnasium, suite_world
from ndigo.interop.suites.spaces import read_bits
from ndigo.rewards import IntrinsicReward, make_reward, paid, table
from ndigo.types import ahead
from ndigo.worlds.host import Host, Told


class Still(gymnasium.Env):
    """Shows one observation for ever."""

    def __init__(self, space: spaces.Space, observation: Any, actions: spaces.Space | None = None):
        self.observation_space, self.observation = space, observation
        self.action_space = spaces.Discrete(2) if actions is None else actions

    def reset(self, **_: Any) -> Any:
        return self.observation, {}

    def step(self, action: Any) -> Any:
        self.observation_space.contains(self.observation)
        return self.observation, 0.0, False, False, {}


def stepped(world: Any, num: int, num_processes: int, a_t: list[np.ndarray]) -> list[Told]:
    envs = world.host.open(num, num_processes)
    seen = [jax.tree.map(np.array, envs.reset(5))]
    for a in a_t:
        envs.send(a)
        seen.append(jax.tree.map(np.array, envs.receive()))
    envs.close()
    return seen


def test_processes_tell_what_the_environments_tell_by_themselves():
    """Four environments in two processes against a loop over the same four, reset by hand."""
    make = partial(CountingEnv, 3)
    world = from_gymnasium(make, name="counting", place=lambda env: (env.t, (env.length,)))
    a_t = list(np.random.default_rng(0).integers(0, 3, (12, 4)))
    envs = [make() for _ in range(4)]
    frame, is_over = [env.reset(seed=5 + i)[0] for i, env in enumerate(envs)], [False] * 4
    found = stepped(world, 4, 2, a_t)
    num_ends = 0
    for t, now in enumerate(found):
        for i, env in enumerate(envs):
            reward, is_terminal, is_cut = 0.0, False, False
            if t and is_over[i]:
                frame[i] = env.reset()[0]
            elif t:
                frame[i], reward, is_terminal, is_cut, _ = env.step(int(a_t[t - 1][i]))
            is_over[i] = is_terminal or is_cut
            num_ends += is_over[i]
            np.testing.assert_array_equal(now.o_t[i], frame[i])
            assert (now.reward[i], now.is_terminal[i], now.is_last[i]) == (reward, is_terminal, is_over[i])
            assert now.place[i].tolist() == [env.t, env.length]
    assert num_ends > 5


def test_actions_are_counted_from_where_their_space_begins():
    class Told(CountingEnv):
        def __init__(self):
            super().__init__()
            self.action_space = spaces.Discrete(3, start=-1)

        def step(self, action: int) -> Any:
            return super().step(action + 1)

    world = from_gymnasium(Told, name="counting", events={"b": lambda env, _: env.last_action == 1})
    found = stepped(world, 1, 0, [np.array([1])])
    assert found[1].happens.tolist() == [[True]]


# By hand from MiniGrid's tables: floors, keys, balls and boxes in six colours, doors in three states, the rest once.
MINIGRID_TILES = [
    *((kind, colour, 0) for kind in (3, 5, 6, 7) for colour in range(6)),
    *((4, colour, state) for colour in range(6) for state in range(3)),
    *((0, 0, 0), (1, 0, 0), (2, 5, 0), (8, 1, 0), (9, 0, 0), (10, 0, 0), (10, 0, 1), (10, 0, 2), (10, 0, 3)),
]
FITS = {
    "one of many": (spaces.Discrete(500, start=3), 300, frames.tiles((500,), 1, 1, names=("number",)), 297),
    "bits": (spaces.Box(0, 1, (2, 2, 1), np.int8), np.ones((2, 2, 1), np.int8), frames.bits(["channel0"], 2), 1),
    "numbers": (
        *(spaces.Box(-1, 1, (2, 2), np.float64), np.full((2, 2), 0.5), frames.vector(4, low=[-1.0] * 4, high=1.0), 0.5),
    ),
    "MiniGrid's": (
        spaces.Dict({"image": spaces.Box(0, 255, (7, 7, 3), np.uint8), "direction": spaces.Discrete(4)}),
        {"image": np.full((7, 7, 3), (3, 3, 0), np.uint8), "direction": 1},
        frames.tiles(names=("object", "colour", "state"), listed=MINIGRID_TILES),
        (3, 3, 0),
    ),
    "no numbers but one": (*(spaces.Box(-1, 1, ()), np.array(0.5, np.float32), frames.vector(1, low=-1, high=1), 0.5),),
    "several of many": (
        *(spaces.MultiDiscrete([2, 5], start=[0, 3]), np.array([1, 4])),
        *(frames.vector(2, low=[0.0, 3.0], high=[1.0, 7.0], bins=5), [1, 4]),
    ),
    "one of one": (*(spaces.MultiDiscrete([1]), np.array([0])), *(frames.vector(1, low=0, high=1, bins=2), [0])),
    "a row of bits": (spaces.MultiBinary(3), np.array([0, 1, 1]), frames.vector(3, low=0, high=1, bins=2), [0, 1, 1]),
    "a map of bits": (*(spaces.MultiBinary((2, 2, 1)), np.ones((2, 2, 1), np.int8), frames.bits(["channel0"], 2), 1),),
    "layers of whole numbers": (
        *(spaces.Box(0, np.full((2, 3, 2), [3, 5]), dtype=np.int64), np.full((2, 3, 2), [3, 4])),
        *(frames.tiles((4, 6), 2, 3), [3, 4]),
    ),
    "a constant": (
        *(spaces.Box(np.array([4, 0]), np.array([4, 2]), dtype=np.float32), np.array([4, 1], np.float32)),
        *(frames.vector(2, low=[4.0, 0.0], high=[8.0, 2.0]), [4, 1]),
    ),
}


WIDE = (
    spaces.Box(np.array([-np.inf, -1], np.float32), np.array([np.inf, 1], np.float32)),
    np.array([3, 0.5], np.float32),
)


def test_each_part_of_a_space_has_its_frame_also_an_image_beside_an_inventory():
    """Two cells of three layers, one held thing, a hand and a coin; nothing is turned, and nothing left out."""
    image = np.array([[[0, 1, 2]], [[3, 0, 1]]], np.uint8)
    inner = spaces.Tuple((spaces.Discrete(3), spaces.Box(0, 1, (), np.int8)))
    inventory = spaces.Box(0, 1, (2,), np.float32)
    space = spaces.Dict({"image": spaces.Box(0, 3, (2, 1, 3), np.uint8), "inventory": inventory, "table": inner})
    seen = {"image": image, "inventory": np.array([0.25, 1], np.float32), "table": (2, np.array(1, np.int8))}
    world = from_gymnasium(lambda: Still(space, seen), name="parts")
    number = frames.tiles((3,), 1, 1, names=("number",))
    assert world.frame == frames.join(
        image=frames.tiles((4, 4, 4), 2, 1),
        inventory=frames.vector(2, low=0, high=1),
        table=frames.join(part0=number, part1=frames.vector(1, low=0, high=1, bins=2)),
    )
    check_records(preset("cpu"), world, make_reward("ndigo-1"))
    for num_processes in (0, 1):
        shown = stepped(world, 1, num_processes, [])[0].o_t
        np.testing.assert_array_equal(shown["image"][0], image)
        assert shown["inventory"].tolist() == [[0.25, 1]]
        assert shown["table"]["part0"].tolist() == [[[[2]]]]
        assert shown["table"]["part1"].tolist() == [[1]]


def test_a_part_that_fits_no_frame_or_leaves_its_bounds_is_named():
    bits, text = spaces.MultiBinary(2), spaces.Text(4)
    says = "its observations under 'seen.part1' (Text) fit no frame by themselves"
    assert says in refused(
        lambda: Still(spaces.Dict({"seen": spaces.Tuple((bits, text))}), {"seen": (np.ones(2), "a")})
    )
    space = spaces.Dict({"held": spaces.Tuple((bits, spaces.Box(0, 5, (2,))))})
    says = "entry 1 of an observation's 'held.part1' is 9, but its space lies between 0 and 5"
    assert says in refused(lambda: Still(space, {"held": (np.ones(2), np.array([5.0, 9.0]))}))
    either = spaces.OneOf((bits, spaces.Discrete(2)))
    assert "(OneOf) fit no frame" in refused(lambda: Still(either, (1, 1)))
    pixels = spaces.Box(0, 255, (8, 8, 1), np.uint8)
    assert "fit no frame" in refused(lambda: Still(pixels, np.zeros((8, 8, 1), np.uint8)))


def test_what_is_no_bit_is_not_read_as_one():
    """By hand: a fraction, a number that 8 bits would cut to 0, and what is neither."""
    assert read_bits(np.array([0, 1, 0.5, np.nan, 256])).tolist() == [0, 1, 2, 2, 2]
    assert read_bits(np.array([0, 1, 256])).tolist() == [0, 1, 2]
    assert read_bits(np.array([0, 1, -1], np.int8)).tolist() == [0, 1, 255]
    assert read_bits(np.array([False, True])).tolist() == [0, 1]


@pytest.mark.parametrize("name", FITS)
def test_a_space_that_says_enough_has_its_frame(name):
    space, observation, frame, value = FITS[name]
    world = from_gymnasium(lambda: Still(space, observation), name=name)
    assert world.frame == frame
    check_records(preset("cpu"), world, make_reward("ndigo-1"))
    assert (stepped(world, 1, 0, [])[0].o_t == value).all()


@pytest.mark.parametrize("name", [*FITS, "parts"])
def test_what_reads_one_observation_reads_many_too(name):
    """Two environments, and three steps of each; in a program what is an array there."""
    parts = {"place": "no numbers but one", "state": "one of many", "wide": "wide"}
    fits = {**{key: value[:2] for key, value in FITS.items()}, "wide": WIDE}
    fits["parts"] = (spaces.Dict({k: fits[v][0] for k, v in parts.items()}), {k: fits[v][1] for k, v in parts.items()})
    space, one = fits[name]
    frame, read = ndigo.frame_of("mine", space, lambda: one)
    alone = read(one)
    jax.tree.map(lambda x, spec: np.testing.assert_equal(np.shape(x), spec.shape), alone, frame.spec)
    for lead in ((1,), (2,), (3, 2)):
        many = jax.tree.map(lambda x: np.broadcast_to(x, (*lead, *np.shape(x))), one)  # noqa: B023
        for seen in (read(many), jax.jit(read)(many)):
            jax.tree.map(
                lambda x, y: np.testing.assert_allclose(x, np.broadcast_to(y, (*lead, *y.shape)), rtol=1e-6),  # noqa: B023
                seen,
                alone,
            )


def test_an_observation_of_another_size_than_its_space_is_named():
    _, read = ndigo.frame_of("mine", spaces.Dict({"place": spaces.Box(-1, 1, (2, 2))}), lambda: None)
    assert read({"place": np.zeros(4)})["place"].shape == (4,)
    with pytest.raises(
        NdigoError, match=r"^world mine: an observation under 'place' has the shape \[3\], expected \[2, 2\]$"
    ):
        read({"place": np.zeros(3)})


UNIT = spaces.Box(0, 1, (2, 2, 1), np.float32)
SHADES = np.array([[[0.0], [1.0]], [[0.25], [1.0]]], np.float32)


def test_fractions_that_are_all_0_or_1_are_bits():
    world = from_gymnasium(lambda: Still(UNIT, np.round(SHADES)))
    assert world.frame == frames.bits(["channel0"], 2)
    check_records(preset("cpu"), world, make_reward("ndigo-1"))
    assert stepped(world, 1, 0, [])[0].o_t.ravel().tolist() == [0, 1, 0, 1]


def test_shades_of_a_picture_are_no_bits_unless_they_are_read_as_such():
    says = "show 0.25, which lies between the bits 0 and 1: hand over frame=... and read=... "
    assert f"its observations (Box of float32 with shape (2, 2, 1)) {says}" in refused(lambda: Still(UNIT, SHADES))
    world = from_gymnasium(lambda: Still(UNIT, SHADES), read=lambda o: (o > 0.5).astype(np.uint8))
    check_records(preset("cpu"), world, make_reward("ndigo-1"))
    assert stepped(world, 1, 0, [])[0].o_t.ravel().tolist() == [0, 1, 0, 1]


def test_shades_that_come_after_the_first_frame_are_refused_too():
    class Dawn(Still):
        def step(self, action: Any) -> Any:
            return SHADES, 0.0, False, False, {}

    said = refused(lambda: Dawn(UNIT, np.zeros((2, 2, 1), np.float32)))
    assert "in the binary channel 'channel0' of frame 1 the value 2, expected 0 or 1" in said


def test_numbers_without_bounds_are_read_by_their_symlog_and_the_others_as_they_are():
    """By hand: +-(e - 1) are +-1, and +-100 the ends of the range; CartPole's places and angles have bounds."""
    space = spaces.Box(np.array([-np.inf, 0, -2], np.float32), np.array([np.inf, np.inf, 2], np.float32))
    world = from_gymnasium(lambda: Still(space, np.array([1 - np.e, 100, 1.5], np.float32)), name="wide")
    far = float(np.log(101))
    assert isinstance(world.frame, frames.Vector)
    np.testing.assert_allclose([world.frame.low, world.frame.high], [[-far, 0, -2], [far, far, 2]], rtol=1e-6)
    seen = stepped(world, 1, 0, [])[0].o_t[0]
    np.testing.assert_allclose(seen, [-1, far, 1.5], rtol=1e-6)
    assert world.frame.likelihood().target(seen).tolist() == [25, 63, 56]  # of 64: floor(64 (x - low) / (high - low))
    cart = suite_world("gymnasium::CartPole-v1")
    check_records(preset("cpu"), cart, make_reward("ndigo-1"))
    assert isinstance(cart.frame, frames.Vector)
    np.testing.assert_allclose(cart.frame.high, [4.8, far, 0.41887903, far], rtol=1e-6)


def test_a_minigrid_view_has_rows_first():
    """MiniGrid's image[2, 5] is the cell in column 2 and row 5."""
    image = np.zeros((7, 7, 3), np.uint8)
    image[2, 5] = 4, 1, 2
    world = from_gymnasium(
        lambda: Still(spaces.Dict({"image": spaces.Box(0, 255, (7, 7, 3), np.uint8)}), {"image": image})
    )
    assert [tuple(cell) for cell in np.argwhere(stepped(world, 1, 0, [])[0].o_t[0, ..., 0])] == [(5, 2)]


def test_a_tile_that_minigrid_does_not_have_is_refused_unless_a_frame_is_handed_over():
    """A red wall; its frame would have it in one class with all that no MiniGrid shows."""
    image = np.full((7, 7, 3), (1, 0, 0), np.uint8)
    image[2, 5] = 2, 0, 0
    space, shown = spaces.Dict({"image": spaces.Box(0, 255, (7, 7, 3), np.uint8)}), {"image": image}
    says = "its image shows (2, 0, 0), which no cell of MiniGrid's does: hand over frame=... and read=..."
    assert says in refused(lambda: Still(space, shown))
    own = from_gymnasium(lambda: Still(space, shown), frame=frames.tiles(), read=lambda o: o["image"])
    check_records(preset("cpu"), own, make_reward("ndigo-1"))


def refused(make: Any, **options: Any) -> str:
    with pytest.raises(NdigoError) as error:
        check_records(preset("cpu"), from_gymnasium(make, **options), make_reward("ndigo-1"))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_does_not_fit_is_refused_in_one_line():
    bits, one = spaces.Box(0, 1, (2, 2, 1), np.uint8), np.ones((2, 2, 1), np.uint8)
    continuous = spaces.Box(-1, 1, (2,), np.float32)
    assert "expected a Discrete space" in refused(lambda: Still(bits, one, continuous))
    picture = spaces.Box(0, 255, (84, 84, 3), np.uint8)
    says = "fit no frame by themselves: hand over frame=... and read=... (from_gymnasium and from_gymnax take both)"
    assert says in refused(lambda: Still(picture, np.zeros((84, 84, 3), np.uint8)))
    assert "raised ZeroDivisionError" in refused(lambda: 1 // 0)
    assert "read returned float64[2,2,1], expected uint8[2,2,1]" in refused(
        lambda: Still(bits, one), read=lambda o: o.astype(float), frame=frames.bits(["a"], 2)
    )
    assert "the value 2, expected 0 or 1" in refused(
        lambda: Still(bits, one), read=lambda o: o + np.uint8(1), frame=frames.bits(["a"], 2)
    )
    with pytest.raises(NdigoError, match=r"unknown Gymnasium environment 'CartPol-v1'.*nearest: CartPole-v1"):
        suite_world("gymnasium::CartPol-v1")


@pytest.mark.parametrize(
    ("reward", "says"),
    [
        (None, "step 1 of it returned the reward nan, expected a finite number"),
        (float("nan"), "step 1 of it returned the reward nan, expected a finite number"),
        (np.zeros(1), "step 1 of it: its rewards returned float32[2,1], expected floating[2]"),
    ],
)
def test_a_reward_that_is_no_number_is_refused_in_one_line(reward, says):
    class Paying(Still):
        def step(self, action: Any) -> Any:
            return self.observation, reward, False, False, {}

    bits, one = spaces.Box(0, 1, (2, 2, 1), np.uint8), np.ones((2, 2, 1), np.uint8)
    assert says in refused(lambda: Paying(bits, one))


def test_rewards_of_ones_own_are_tried_on_its_episodes():
    """Their ends among them: half of the windows' frames begin or end one."""
    world, config = from_gymnasium(CountingEnv, name="counting"), dataclasses.replace(preset("cpu"), reward="<mine>")
    check_records(config, world, IntrinsicReward("mine", reads=((1, -1.0), (2, 1.0))))
    pe = make_reward("pe")
    check_records(config, world, IntrinsicReward("mine", lambda *seen: pe.pay(*seen), reads=((1, 1.0),)))
    with pytest.raises(NdigoError, match=r"reward mine: reads sum to .* where pay's r_t is .*, expected the same"):
        check_records(config, world, IntrinsicReward("mine", lambda *seen: pe.pay(*seen), reads=((1, 2.0),)))
    with pytest.raises(NdigoError, match="reward mine: pay raised ValueError: 2 steps ahead of a table"):
        check_records(config, world, IntrinsicReward("mine", lambda p, m, o, seen: paid(ahead(table(seen)[:, :1], 2))))


@pytest.mark.parametrize(("asked", "measured"), [(None, 1000), (7, 7), (5000, 5000)])
def test_an_episode_is_measured_as_long_as_asked(asked, measured):
    assert from_gymnasium(CountingEnv, num_steps=asked).num_steps == measured


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"num_steps": 0}, "num_steps is 0, expected a whole number of at least 1"),
        ({"num_envs": -1}, "num_envs is -1, expected a whole number of at least 1"),
        ({"num_envs": 2.5}, r"num_envs is 2\.5, expected a whole number of at least 1"),
        ({"events": [len]}, "events is a list, expected functions by their names"),
        ({"make": "CartPole-v1"}, "make is a str, expected a function that makes"),
        ({"make": lambda: None}, r"make\(\) returned a NoneType, expected a Gymnasium environment"),
    ],
)
def test_arguments_that_nobody_can_mean_are_refused(arguments, says):
    with pytest.raises(NdigoError, match=f"^from_gymnasium: {says}"):
        from_gymnasium(**{"make": CountingEnv} | arguments)


def test_what_is_no_frame_is_refused():
    with pytest.raises(NdigoError, match="world counting: frame is a str, expected one"):
        from_gymnasium(CountingEnv, name="counting", frame="bits")  # type: ignore[arg-type]


def lacks_a_simulator(**_: Any) -> gymnasium.Env:
    raise gymnasium.error.DependencyNotInstalled("Physics is not installed, run `pip install physics`")


def test_an_id_that_needs_what_is_not_installed_is_one_line_and_no_traceback(capsys, monkeypatch):
    """The command line prints the frames of a user's own code; here is none."""
    gymnasium.register("Lacking-v0", entry_point=lacks_a_simulator)
    monkeypatch.setitem(sys.modules, "minigrid", None)
    try:
        for id_, says in [
            ("Lacking-v0", "DependencyNotInstalled: Physics is not installed, run `pip install physics`"),
            ("MiniGrid-Empty-5x5-v0", "minigrid is not installed (import of minigrid halted"),
            ("minigrid:MiniGrid-Empty-5x5-v0", "minigrid is not installed (import of minigrid halted"),
        ]:
            assert main(["train", f"gymnasium::{id_}"]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert line.startswith(f"ndigo: world gymnasium::{id_}: {says}")
            assert ("pip install 'ndigo[minigrid]'" in line) == ("minigrid" in says)
    finally:
        gymnasium.registry.pop("Lacking-v0")


@pytest.mark.parametrize(
    ("id_", "says"),
    [
        ("no_module_of_mine:Mine-v1", "run from the folder it lies in, or name that in PYTHONPATH"),
        ("no_module_of_mine.py:Mine-v1", "write gymnasium::no_module_of_mine:Mine-v1"),
    ],
)
def test_an_id_whose_module_is_not_there_is_told_as_a_world_of_ones_own_is(id_, says):
    module, missing = id_.partition(":")[0], "no_module_of_mine"
    with pytest.raises(NdigoError) as error:
        find_world(f"gymnasium::{id_}")
    assert str(error.value) == f"world 'gymnasium::{id_}': there is no module {missing!r}; {says}"
    with pytest.raises(NdigoError, match=f"there is no module '{missing}'; {says.replace('gymnasium::', '')}$"):
        find_world(f"{module}:Mine-v1")


def test_where_no_id_is_near_those_are_offered_that_can_be_trained():
    with pytest.raises(NdigoError, match=r"unknown Gymnasium environment ''; such as (.*) \(\d+ are known\)") as error:
        suite_world("gymnasium::")
    offered = re.findall(r"[\w-]+-v\d", str(error.value))
    assert offered == ["Acrobot-v1", "CartPole-v1", "FrozenLake-v1"]
    assert [suite_world(f"gymnasium::{id_}").num_actions for id_ in offered] == [3, 2, 4]


def test_whole_numbers_that_are_few_have_a_bin_each():
    space = spaces.Box(0, 8, (3, 3), np.uint8)
    frame = from_gymnasium(lambda: Still(space, np.zeros((3, 3), np.uint8))).frame
    target = frame.likelihood("categorical").target(np.arange(9, dtype=np.float32))
    assert np.asarray(target).tolist() == [*range(9)]
    wide = spaces.Box(0, 255, (2,), np.uint8)
    frame = from_gymnasium(lambda: Still(wide, np.zeros(2, np.uint8))).frame
    assert getattr(frame, "bins", None) == 32


def test_numbers_outside_of_the_bounds_that_a_space_declares_are_refused():
    """They would be in the outer bins. Not so what float32 rounds, what has no bound, and what is read otherwise."""
    square = spaces.Box(0, 5, (2,), np.float32)
    says = "entry 1 of an observation is 15, but its space lies between 0 and 5: correct the space, or hand over frame="
    assert f"world out: {says}" in refused(lambda: Still(square, np.array([5, 15], np.float32)), name="out")
    half = spaces.Box(np.array([-np.inf, -3], np.float32), np.array([1e6, np.inf], np.float32))
    assert "entry 0 of an observation is 2e+06" in refused(lambda: Still(half, np.array([2e6, 0], np.float32)))
    assert "entry 1 of an observation is -4" in refused(lambda: Still(half, np.array([0, -4], np.float32)))
    frame = frames.vector(2, low=0, high=5)
    fine: list[tuple[spaces.Box, list[float], dict[str, Any]]] = [
        (square, [-1e-9, 5.00001], {}),
        (half, [-1e30, 1e30], {}),
        (square, [0, 15], {"read": lambda o: np.minimum(o, 5)}),
        (square, [0, 15], {"frame": frame}),
    ]
    for space, seen, options in fine:
        world = from_gymnasium(partial(Still, space, np.array(seen, np.float32)), **options)
        check_records(preset("cpu"), world, make_reward("ndigo-1"))


def test_what_an_environment_raises_amid_a_run_is_an_error_in_one_line():
    class Breaks(CountingEnv):
        def step(self, action: int) -> Any:
            raise RuntimeError("out of order")

    world = from_gymnasium(Breaks, name="breaks")
    assert "world breaks: step 1 of it raised RuntimeError: out of order" in refused(Breaks, name="breaks")
    with pytest.raises(NdigoError, match="world breaks: its environments failed"):
        stepped(world, 2, 1, [np.zeros(2, int)])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_whole_group_stops_no_environment_and_closing_ends_them_all(number):
    """As a terminal's Ctrl-C, `timeout` and Slurm send it: the run finishes its chunk, for which it needs them."""
    host = from_gymnasium(CountingEnv, name="counting").host
    assert host is not None
    before = set(multiprocessing.active_children())
    envs = host.open(2, 2)
    envs.reset(0)
    processes = set(multiprocessing.active_children()) - before
    assert len(processes) == 2
    for process in processes:
        os.kill(process.pid or 0, number)
    for _ in range(3):
        envs.send(np.zeros(2, int))
        envs.receive()
    envs.close()
    assert not any(process.is_alive() for process in processes)


def test_functions_of_the_device_say_why_there_are_none():
    world = from_gymnasium(CountingEnv, name="counting", num_envs=7)
    with pytest.raises(NdigoError, match="stepped by processes of this machine"):
        world.reset(None)
    assert isinstance(world.host, Host)
    assert dataclasses.replace(world, name="other").host is world.host


def test_the_page_about_your_world_makes_the_world_it_shows():
    page = (Path(__file__).parents[2] / "docs" / "your-world.md").read_text()
    snippet, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)  # the other needs suites: tests/peers
    made: dict[str, Any] = {}
    exec(snippet, made)
    world = made["world"]
    check_records(preset("cpu"), world, make_reward("ndigo-1"))
    first = stepped(world, 1, 0, [np.array([1])])[1]
    assert first.o_t.shape == (1, 4)
    assert first.place.shape == (1, 1)
    assert first.happens.tolist() == [[True]]
    assert world.host.num_envs == 16
