"""Pay step by step against the same reward on whole episodes, which knows nothing of streams."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_frames import bits_of
from stream_of_episodes import end_to_end, paid_by_windows, play

import ndigo
from ndigo.config import preset
from ndigo.curiosity import PureCuriosity, make_curiosity
from ndigo.curiosity.by_step import paying
from ndigo.curiosity.record import _step
from ndigo.errors import NdigoError
from ndigo.frames import bits, pixels, tiles, vector
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.rewards import IntrinsicReward, make_reward, paid, table
from ndigo.types import ahead

LENGTHS = [[7, 1, 12, 9], [3, 4, 2, 14, 5], [40]]
T = 26
SMALL = {"belief_size": 16, "num_features": 16, "num_filters": 4, "predictor_hidden": 16, "num_ahead": 5}


def pay_squares(params, memory, model, seen):
    """r_t = L_{t+1|t-1}^2: no sum over the table, so it is paid by windows."""
    loss = ahead(table(seen), 2)
    return paid(jnp.concatenate([jnp.zeros_like(loss[:1]), loss[:-1] ** 2]))


def pay_when_known(seen):
    """Two steps ahead, known where the frame has come."""
    r_tc = ahead(table(seen), 2)
    return paid(r_tc, (jnp.arange(len(r_tc)) < len(r_tc) - 1)[:, None])


OWN = IntrinsicReward(name="squares", pay=pay_squares, num_ahead=2)
CASES = [
    *((name, "open_loop") for name in ("pe", "pg", "icm", "ndigo-1", "ndigo-4", "ndigo-sum", OWN)),
    *(("pg", "action_gru"), ("ndigo-sum", "mlp")),
]
IN_BOTH_DIALECTS = ("ndigo-4", "icm")


@pytest.fixture(scope="module")
def world():
    return EXPERIMENTS["exp1"].world


@pytest.fixture(scope="module")
def played(world):
    return play(world, sum(map(len, LENGTHS)), max(map(max, LENGTHS)))


@pytest.fixture(params=[False, True], ids=["step by step", "at once"])
def way(request, monkeypatch):
    """How a rollout is paid: as on a CPU and as on a GPU."""
    monkeypatch.setattr(paying, "rollout_is_faster", lambda: request.param)


def made(world, reward, **changes) -> tuple[PureCuriosity, Any]:
    """With weights large enough for losses to differ, and for a memory that is another model."""
    curiosity = make_curiosity(reward, world.frame, world.num_actions, preset("cpu", **SMALL, **changes))
    like = jax.eval_shape(lambda key: curiosity.init(key, 3).params, jax.random.key(0))
    rng = np.random.default_rng(0)
    return curiosity, jax.tree.map(lambda x: rng.normal(0, 0.4, x.shape).astype(np.float32), like)


@pytest.mark.parametrize(("reward", "predictor"), CASES, ids=lambda x: getattr(x, "name", x))
@pytest.mark.usefixtures("way")
def test_pay_of_a_stream_is_the_windows_reward_across_resets(world, played, reward, predictor):
    reward = make_reward(reward) if isinstance(reward, str) else reward
    curiosity, params = made(world, reward, predictor=predictor)
    by_windows, pay = paid_by_windows(params, reward, played), jax.jit(curiosity.pay_rollout)
    for within_step in (True, False) if reward.name in IN_BOTH_DIALECTS else (True,):
        rolled = end_to_end(played, LENGTHS, T, within_step)
        _, r, is_known = pay(params, curiosity.start(3), *rolled[:4])
        is_step = rolled.step >= 0
        np.testing.assert_array_equal(is_known, is_step)
        np.testing.assert_allclose(
            r, np.where(is_step, by_windows[rolled.episode, rolled.step], 0), atol=2e-4, rtol=2e-4
        )
        if reward.name in ("ndigo-1", "ndigo-2", "ndigo-4"):
            H = reward.num_ahead - 1
            np.testing.assert_array_equal(r[is_step & (rolled.step < H)], 0.0)
            assert (np.abs(r[rolled.step >= H]) > 1e-3).all(), "the weights are such that every other step pays"


@pytest.mark.parametrize(
    ("reward", "predictor"), [("ndigo-4", "open_loop"), ("pg", "action_gru"), ("ndigo-sum", "mlp")]
)
def test_rollouts_of_any_length_are_the_loop_over_their_steps(world, played, reward, predictor, monkeypatch):
    """Some shorter than K, some paid in parts; with what the streams carry from one to the next."""
    curiosity, params = made(world, reward, predictor=predictor)
    rolled = end_to_end(played, LENGTHS, T, within_step=reward != "pg")
    pay, carry, expected = jax.jit(curiosity.pay), curiosity.start(3), []
    for t in range(T):
        carry, r, r_c = pay(params, carry, *(None if x is None else x[t] for x in rolled[:4]))
        assert r_c.shape == (3, len(curiosity.channels))
        np.testing.assert_allclose(r_c.sum(-1), r, atol=1e-5)
        expected.append(r)
    per_step = 3 * curiosity.reward.num_ahead * (16 + params.model.likelihood.num_outputs)
    monkeypatch.setattr(paying, "MOST_NUMBERS", 4 * per_step)
    monkeypatch.setattr(paying, "rollout_is_faster", lambda: True)
    rollout, flying, found = jax.jit(curiosity.pay_rollout), curiosity.start(3), []
    for begin, end in ((0, 1), (1, 3), (3, 11), (11, T)):  # in parts of 1, 2, 4 and 3 steps
        flying, r, _ = rollout(params, flying, *(None if x is None else x[begin:end] for x in rolled[:4]))
        found.append(r)
    np.testing.assert_allclose(np.concatenate(found), np.stack(expected), atol=1e-4)
    for ours, theirs in zip(jax.tree.leaves(flying), jax.tree.leaves(carry), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_a_rollout_in_bfloat16_is_the_loop_over_its_steps(world, played, monkeypatch):
    monkeypatch.setattr(paying, "rollout_is_faster", lambda: True)
    curiosity, params = made(world, "ndigo-2", precision="bfloat16")
    rolled = end_to_end(played, LENGTHS, T, True)
    _, r, _ = jax.jit(curiosity.pay_rollout)(params, curiosity.start(3), *rolled[:4])

    @jax.jit
    def loop(*steps):
        return jax.lax.scan(lambda carry, x: curiosity.pay(params, carry, *x)[:2], curiosity.start(3), steps)[1]

    expected = loop(*rolled[:4])
    np.testing.assert_allclose(r, expected, atol=0.02 * np.abs(expected).max())  # bfloat16 keeps 8 bits
    np.testing.assert_array_equal(np.asarray(r) == 0, np.asarray(expected) == 0)


@pytest.mark.usefixtures("way")
def test_streams_do_not_mix_under_vmap(world, played):
    """One stream at a time, mapped over streams, is all streams at once."""
    curiosity, params = made(world, "ndigo-2")
    a_t, o_tp1, is_first, o_last, *_ = end_to_end(played, LENGTHS, T, True)
    _, together, _ = jax.jit(curiosity.pay_rollout)(params, curiosity.start(3), a_t, o_tp1, is_first, o_last)

    def alone(a_t, o_tp1, is_first, o_last):
        one = (x[:, None] for x in (a_t, o_tp1, is_first, o_last))
        return curiosity.pay_rollout(params, curiosity.start(1), *one)[1][:, 0]

    apart = jax.jit(jax.vmap(alone, in_axes=1, out_axes=1))(a_t, o_tp1, is_first, o_last)
    np.testing.assert_allclose(apart, together, atol=1e-4)


@pytest.mark.usefixtures("way")
def test_a_stream_entered_in_mid_episode_is_known_once_its_pair_was_seen(world, played):
    curiosity, params = made(world, "ndigo-2")
    o_t, a_t = played.o_t[0], played.a_t[0]
    nobody = np.zeros((9, 1), bool)
    _, _, is_known = jax.jit(curiosity.pay_rollout)(
        params, curiosity.start(1), a_t[4:13, None], o_t[5:14, None], nobody
    )
    np.testing.assert_array_equal(is_known[:, 0], [False] * 3 + [True] * 6)


def test_arguments_that_do_not_fit_are_named(world):
    curiosity, params = made(world, "ndigo-2")
    o, a, first = np.zeros((3, 5, 5, 3), np.uint8), np.zeros(3, int), np.ones(3, bool)
    carry = curiosity.start(3)
    with pytest.raises(NdigoError, match=r"a_t has the shape \[4\], expected \[3\]"):
        curiosity.pay(params, carry, np.zeros(4, int), o, first)
    with pytest.raises(NdigoError, match=r"o_tp1 has the shape \[3, 7, 7, 3\], expected \[3, 5, 5, 3\]"):
        curiosity.pay(params, carry, a, np.zeros((3, 7, 7, 3), np.uint8), first)
    larger = make_curiosity("ndigo-2", bits_of(7, ["binary"] * 3), world.num_actions, curiosity.config)
    with pytest.raises(NdigoError, match=r"weights of another frame, reward or size: model\.\S+ is \[.*\], expected"):
        jax.jit(larger.pay)(params, larger.start(3), a, np.zeros((3, 7, 7, 3), np.uint8), first)
    one, other = (make_curiosity("ndigo-2", tiles(values, 1), 2, curiosity.config) for values in ((2, 3), (3, 2)))
    with pytest.raises(NdigoError, match=r"weights of another frame: .*\(2, 3\).*, expected .*\(3, 2\)"):
        other.pay(one.init(jax.random.key(0), 3).params, other.start(3), a, np.zeros((3, 1, 1, 2), np.uint8), first)
    with pytest.raises(NdigoError, match=r"params is a dict, expected the params of this curiosity's state"):
        curiosity.pay(cast(Any, {}), carry, a, o, first)
    with pytest.raises(NdigoError, match=r"^reward ndigo-8 looks 9 steps ahead, and a window has 8: its model would"):
        make_curiosity("ndigo-8", world.frame, world.num_actions, preset("cpu", window=8))
    with pytest.raises(NdigoError, match="reward ideal-pe is computed on whole episodes"):
        make_curiosity("ideal-pe", world.frame, world.num_actions)


BOOK = np.arange(2 * 4 * 3, dtype=np.uint8).reshape(2, 2, 2, 3)
FRAMES = {"bits": bits(["lamp"], 4), "tiles": tiles((11, 6, 4), 4), "pixels": pixels(4, patch=2, codebook=BOOK)}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_another_kind_of_numbers_are_refused_under_jit_too(kind):
    """As others divide their frames by 255: every tile would be of class 0, and paid for as such."""
    curiosity = make_curiosity("ndigo-1", FRAMES[kind], 2, preset("cpu", **SMALL))
    state, a, first = curiosity.init(jax.random.key(0), 3), np.zeros((1, 3), int), np.ones((1, 3), bool)
    for dtype in (np.float32, jnp.bfloat16, np.complex64):
        o = np.full((1, 3, *curiosity.frame.spec.shape), 0.5, dtype)
        message = rf"are {np.dtype(dtype)}, expected whole numbers \(uint8\)"
        with pytest.raises(NdigoError, match=f"o_tp1 {message}"):
            jax.jit(curiosity.pay)(state.params, curiosity.start(3), a[0], o[0], first[0])
        with pytest.raises(NdigoError, match=f"o_last {message}"):
            curiosity.pay_rollout(state.params, curiosity.start(3), a, np.zeros(o.shape, np.uint8), first, o)
        with pytest.raises(NdigoError, match=f"o_tp1 {message}"):
            curiosity.learn(jax.random.key(0), state, a, o, first)


@pytest.mark.parametrize("kind", FRAMES)
def test_whole_numbers_of_any_size_are_the_same_frame(kind):
    """Pixels in int32 are a picture, and no tokens; bits may be booleans."""
    curiosity = make_curiosity("ndigo-1", FRAMES[kind], 2, preset("cpu", **SMALL))
    params, step = curiosity.init(jax.random.key(0), 3).params, (np.zeros((4, 3), int), np.zeros((4, 3), bool))
    o = np.random.default_rng(0).integers(2, size=(4, 3, *curiosity.frame.spec.shape), dtype=np.uint8)
    pay = jax.jit(lambda o: curiosity.pay_rollout(params, curiosity.start(3), step[0], o, step[1])[1])
    assert (np.abs(pay(o)[2:]) > 0).any()
    for dtype in (np.int32, np.int64, np.uint16, bool):
        np.testing.assert_array_equal(pay(o.astype(dtype)), pay(o))


@pytest.mark.parametrize(
    ("dtype", "numbers", "held"),
    [
        (np.uint32, [0, 7, 4 * 10**9], [0, 7, 255]),
        (np.int64, [-4 * 10**9, 7, 4 * 10**9], [0, 7, 255]),
        (np.int8, [-5, 7, 127], [0, 7, 127]),
    ],
)
def test_what_a_frame_cannot_hold_is_the_nearest_that_it_can(dtype, numbers, held):
    frame, o = tiles((256,), 1, 1), np.array(numbers, dtype).reshape(3, 1, 1, 1)
    made = _step(frame, (3,), np.zeros(3, int), o, np.ones(3, bool), None).o_tp1
    assert made.dtype == np.uint8
    assert made.ravel().tolist() == held


def test_other_arguments_of_another_kind_are_named():
    curiosity = make_curiosity("ndigo-1", vector(2, low=0, high=1), 2, preset("cpu", **SMALL))
    params, carry = curiosity.init(jax.random.key(0), 3).params, curiosity.start(3)
    o, first = np.zeros((3, 2)), np.ones(3, bool)
    with pytest.raises(NdigoError, match="a_t is float32, expected whole numbers"):
        curiosity.pay(params, carry, np.full(3, 0.5, np.float32), o, first)
    with pytest.raises(NdigoError, match=r"o_tp1 are complex64, expected numbers \(float32\)"):
        curiosity.pay(params, carry, np.zeros(3, int), o.astype(np.complex64), first)
    with pytest.raises(NdigoError, match="a_t has no steps, expected a rollout of at least 1"):
        curiosity.pay_rollout(params, carry, np.zeros((0, 3), int), o[None][:0], first[None][:0])
    with pytest.raises(NdigoError, match=r"a_t has the shape \[\], expected \[3\]"):
        curiosity.pay_rollout(params, carry, 0, o, first)
    with pytest.raises(NdigoError, match="config is a str, expected a Config, such as"):
        make_curiosity("pe", curiosity.frame, 2, cast(Any, "cpu"))
    with pytest.raises(NdigoError, match="reward is a int, expected a name"):
        make_curiosity(cast(Any, 3), curiosity.frame, 2)


def pay_two_ahead(params, memory, model, seen):
    """r_t = L_{t+1|t-1}, and L_{1|0} for the window's first step; wrong where another episode begins within it."""
    one, two = ahead(table(seen), 1), ahead(table(seen), 2)
    return paid(jnp.concatenate([one[:1], two[:-1]]))


def test_a_reward_of_your_own_whose_reads_are_not_what_it_pays_is_refused():
    """A stream would be paid by one, and its windows by the other; right ones are made inside `jit` too."""
    frame, config, says = bits(["lamp"], 4), preset("cpu", **SMALL), "reward mine: reads sum to .* at step {} where pay"
    for name in ("pg", "ndigo-1"):
        ours = make_reward(name)
        right = dataclasses.replace(ours, name="mine", pay=lambda *args, ours=ours: ours.pay(*args))
        opposite = dataclasses.replace(right, reads=[(k, -w) for k, w in right.reads])
        with pytest.raises(NdigoError, match=says.format(r"\d")):
            make_curiosity(opposite, frame, 3, config)
        jax.jit(lambda x, right=right: (make_curiosity(right, frame, 3, config), x)[1])(0)
    forgets = IntrinsicReward("mine", pay_two_ahead, num_ahead=2, reads=((2, 1.0),))
    with pytest.raises(NdigoError, match=says.format(2)):  # the first of another episode
        ndigo.Curiosity(forgets, frame, 3, 2, config=config)
    wrong = dataclasses.replace(forgets, pay=lambda *_: paid(jnp.zeros((1, 1, 1))))
    with pytest.raises(NdigoError, match=r"reward mine: pay's r_t returned float32\[1,1\], expected floating\[4,2\]"):
        make_curiosity(wrong, frame, 3, config)


LOST = IntrinsicReward("lost", lambda p, m, model, seen: paid(ahead(table(seen), 1).sum(axis=-1)))
GROWS = IntrinsicReward(
    "grows",
    lambda p, m, model, seen: paid(ahead(table(seen), 1)),
    remember=lambda model: jnp.float32(0),
    after_update=lambda memory, model, paid, step: (memory, memory),
)


@pytest.mark.parametrize(
    ("reward", "says"),
    [
        (LOST, r"reward lost: pay's r_t returned float32\[3\], expected floating\[3,2\]"),
        (
            IntrinsicReward("float", cast(Any, lambda *seen: 1.0)),
            r"reward float: pay returned a float, expected a Paid record",
        ),
        (
            IntrinsicReward("one", cast(Any, lambda seen: seen)),
            r"reward one: pay raised TypeError: .* takes 1 positional argument",
        ),
        (
            IntrinsicReward("far", lambda p, m, model, seen: paid(ahead(table(seen), 4))),
            r"reward far: pay raised ValueError: 4 steps ahead of a table that looks 1\.\.1 ahead",
        ),
        (
            IntrinsicReward("zero", lambda p, m, model, seen: paid(ahead(table(seen), 1) / 0)),
            r"reward zero: pay's r_t is not finite at step 0 of a fresh model",
        ),
        (
            IntrinsicReward("late", lambda p, m, model, seen: paid(ahead(table(seen), 2)), num_ahead=2),
            r"reward late: pay's r_t at step t reads frames after t\+1, which no stream has",
        ),
        (
            IntrinsicReward("slow", lambda p, m, model, seen: pay_when_known(seen), num_ahead=2),
            r"reward slow: pay never knows a window's last step, and a stream is paid for no other",
        ),
        (GROWS, r"reward grows: after_update returned a tuple of .*, expected .* as what remember returned"),
        (IntrinsicReward("empty"), r"reward empty: it has neither pay, reads nor on_episode, expected one of them"),
    ],
    ids=lambda x: x.name if isinstance(x, IntrinsicReward) else "",
)
def test_a_wrong_reward_of_your_own_is_refused_in_one_line(reward, says):
    with pytest.raises(NdigoError, match=f"^{says}"):
        make_curiosity(reward, tiles((3,), 2), 3, preset("cpu", window=8))


def test_a_program_in_64_bits_is_told_so_at_once():
    """Its `learn` would end in a screen of types that differ."""
    with jax.enable_x64(True), pytest.raises(NdigoError, match=r"^JAX is set to 64 bits, .*: unset jax_enable_x64"):
        make_curiosity("pe", tiles((3,), 2), 3)
