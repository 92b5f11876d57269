"""The NumPy face: the same pay, saves that go on bit for bit, and errors that change nothing."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import gymnasium
import jax
import numpy as np
import pytest
import safetensors.numpy
from probe_worlds import two_arms
from stream_of_episodes import end_to_end, play

import ndigo
from ndigo import frames
from ndigo.config import preset
from ndigo.curiosity import host, make_curiosity, saving
from ndigo.curiosity.host import arrays
from ndigo.curiosity.record import check_frames
from ndigo.errors import NdigoError
from ndigo.frames.join import outside
from ndigo.storage.lock import one_writer
from ndigo.storage.run_folder import RunFolder
from ndigo.storage.seal import seal, unseal

WORLD = two_arms()
LENGTHS = [[5, 7, 3, 8, 8], [8, 8, 8], [2, 8, 6, 8]]
N, T = len(LENGTHS), 8
CONFIG = preset(
    "cpu",
    belief_size=16,
    num_features=16,
    num_filters=4,
    predictor_hidden=16,
    num_ahead=2,
    window=4,
    batch=4,
    updates_per_round=2,
    replay_steps=300,
)


def made(**changes) -> ndigo.Curiosity:
    arguments = {"reward": "ndigo-1", "frame": WORLD.frame, "num_actions": WORLD.num_actions, "num_envs": N}
    return ndigo.Curiosity(**{**arguments, "config": CONFIG, **changes})


@pytest.fixture(scope="module")
def rolled():
    played = play(WORLD, sum(map(len, LENGTHS)), WORLD.num_steps)
    return end_to_end(played, LENGTHS, 3 * T, within_step=False)


def walk(bonus: ndigo.Curiosity, rolled, steps) -> np.ndarray:
    return np.stack([bonus.pay(rolled.a_t[t], rolled.o_tp1[t], rolled.is_first[t])[0] for t in steps])


def leaves(bonus: ndigo.Curiosity) -> list[np.ndarray]:
    tree = (bonus.state, bonus.carry, jax.random.key_data(bonus._key))
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_rollouts_as_cleanrl_keeps_them_are_paid_as_step_by_step(rolled):
    """observations[t] is what actions[t] was chosen for; dones[t] says that it begins an episode."""
    step_by_step, in_rollouts = made(), made()
    expected = walk(step_by_step, rolled, range(2 * T + 1))
    paid = []
    for begin in (0, T):
        now, then = slice(begin, begin + T), begin + T
        paid.append(
            in_rollouts.pay_rollout(
                rolled.a_t[begin + 1 : then + 1],
                rolled.o_tp1[now],
                next_observations=rolled.o_tp1[then],
                is_first=rolled.is_first[now].astype(np.float32),
                next_is_first=rolled.is_first[then],
            )
        )
    np.testing.assert_allclose(np.concatenate(paid), expected[1:], atol=1e-6)
    assert np.abs(expected).max() > 0
    assert in_rollouts.num_pending == 2 * T
    np.testing.assert_allclose(in_rollouts.believe(), step_by_step.believe(), atol=1e-6)
    skipped = rolled.o_tp1[:T], rolled.is_first[:T]
    with pytest.raises(NdigoError, match="not the next_observations of the rollout before"):
        in_rollouts.pay_rollout(
            rolled.a_t[:T],
            skipped[0],
            next_observations=skipped[0][0],
            is_first=skipped[1],
            next_is_first=skipped[1][0],
        )


def test_a_save_goes_on_bit_for_bit_and_a_damaged_one_is_named(rolled, tmp_path):
    """Saved with steps that are paid and not yet learned from; the newest save is damaged, so the one before counts."""
    first, second = made(seed=1), made(seed=2)
    walk(first, rolled, range(T))
    first.learn()
    walk(first, rolled, range(T, T + 3))
    first.save(tmp_path)
    second.load(tmp_path)
    assert (second.clock, second.num_pending) == (T + 3, 3)
    for bonus in (first, second):
        bonus.paid = walk(bonus, rolled, range(T + 3, 2 * T))  # type: ignore[attr-defined]
        numbers = bonus.learn()
        assert numbers is not None
        assert np.isfinite(numbers.model_loss).all()
        told = f"Numbers(updates={numbers.updates}, model_loss={numbers.model_loss.mean():.3g}, reward="
        assert repr(numbers).startswith(told)
        assert len(repr(numbers)) < 80
    np.testing.assert_array_equal(first.paid, second.paid)  # type: ignore[attr-defined]
    for one, other in zip(leaves(first), leaves(second), strict=True):
        np.testing.assert_array_equal(one, other)

    newest = first.save(tmp_path) / "state.safetensors"
    data = bytearray(newest.read_bytes())
    data[-1] ^= 1
    newest.write_bytes(data)
    with pytest.warns(UserWarning, match=r"step_16 is damaged \(state.safetensors does not match its sha256\)"):
        second.load(tmp_path)
    assert second.clock == T + 3
    others = {
        r"num_envs 3, expected 2": (CONFIG, WORLD.frame, 2),
        r"frame bits uint8\[1, 1, 5\] .*, expected tiles uint8\[1, 1, 5\] .*": (CONFIG, frames.tiles((2,) * 5, 1), N),
        r"belief_size 16, expected 32": (dataclasses.replace(CONFIG, belief_size=32), WORLD.frame, N),
    }
    for message, (config, frame, num_envs) in others.items():
        other = saving.settings(make_curiosity("ndigo-1", frame, WORLD.num_actions, config), num_envs, None)
        with pytest.raises(NdigoError, match=f"was saved with {message}"):
            saving.load(tmp_path, other, like=None, frame=frame)
    shutil.rmtree(tmp_path)
    with pytest.raises(NdigoError, match="holds no saved curiosity"):
        second.load(tmp_path)


def resaved(folder: Path, change: Callable[[dict[str, np.ndarray]], object]) -> None:
    """The newest save with other arrays, and with digests as if it had been written so."""
    step = max(folder.glob("step_*"))
    arrays = safetensors.numpy.load((step / "state.safetensors").read_bytes())
    change(arrays)
    data = safetensors.numpy.save(arrays)
    (step / "state.safetensors").write_bytes(data)
    manifest, _ = unseal((step / "manifest.json").read_bytes().removesuffix(b"\n"))
    manifest["state"] = hashlib.sha256(data).hexdigest()
    (step / "manifest.json").write_bytes(seal(json.dumps(manifest).encode()) + b"\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda a: a.pop("pending00000000:[1]"),
            "configuration: 'pending00000000:\\[1\\]' of the steps not yet learned",
        ),
        (lambda a: a.update({"pending00000000:[0]": np.zeros((1, N))}), r"pending00000000:\[0\] is float64\[1, 3\]"),
        (lambda a: a.update({"seen:": a["seen:"][:1]}), r"seen: is uint8\[1, 1, 1, 5\]"),
        (
            lambda a: a.update({"[0].step": np.full(1, 0.5, np.float32)}),
            r"\[0\].step is float32\[1\], expected int32\[\]",
        ),
        (lambda a: a["[0].params.model.core.gru.weight"].fill(np.nan), "gru.weight holds numbers that are not finite"),
    ],
)
def test_a_save_that_somebody_else_made_is_refused_and_changes_nothing(change, message, rolled, tmp_path):
    bonus = made()
    walk(bonus, rolled, range(2))
    bonus.save(tmp_path)
    before = leaves(bonus)
    resaved(tmp_path, change)
    with pytest.raises(NdigoError, match=message):
        bonus.load(tmp_path)
    assert bonus.clock == 2
    for one, other in zip(before, leaves(bonus), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_save_without_a_name_is_one_line_and_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (made().save, made().load):
        with pytest.raises(NdigoError, match=r"^the path is empty: name a file or a folder$"):
            call("")
    assert list(tmp_path.iterdir()) == []


def test_a_save_takes_the_place_of_no_later_and_of_no_other_one(rolled, tmp_path):
    """Else the newest, which `load` takes, would be the old one; and the new one, the oldest, would be cleared away."""
    old, new = made(seed=1), made(seed=2)
    walk(old, rolled, range(3))
    old.save(tmp_path)
    walk(old, rolled, range(3, 5))
    later = old.save(tmp_path)
    walk(new, rolled, range(1))
    with pytest.raises(NdigoError, match="has a save of step 5, later than 1: load that, or save elsewhere"):
        new.save(tmp_path)
    with pytest.raises(NdigoError, match="was saved with reward ndigo-1, expected pe"):
        saving.save(tmp_path, new._settings() | {"reward": "pe"}, 9, {}, [], None)
    (later / "manifest.json").write_bytes(b"")
    (tmp_path / "step_3" / "manifest.json").write_bytes(b"")
    assert new.save(tmp_path).is_dir()  # what is damaged is in nobody's way
    with pytest.warns(UserWarning, match=r"step_[35] is damaged"):
        old.load(tmp_path)
    assert old.clock == 1


def test_a_save_that_was_put_aside_when_its_process_was_killed_is_loaded_and_taken_back(rolled, tmp_path):
    bonus, other = made(seed=1), made(seed=2)
    walk(bonus, rolled, range(T))
    saved = bonus.save(tmp_path)
    os.replace(saved, tmp_path / ".step_8.old.tmp")
    (tmp_path / ".step_8.tmp").mkdir()
    other.load(tmp_path)
    for one, same in zip(leaves(bonus), leaves(other), strict=True):
        np.testing.assert_array_equal(one, same)
    walk(other, rolled, range(T, T + 1))
    other.save(tmp_path)
    assert {path.name for path in tmp_path.glob("*step*")} == {"step_8", "step_9"}


def test_a_curiosity_is_saved_in_no_run_and_among_no_runs_checkpoints(rolled, tmp_path):
    """Of checkpoints the newest two are kept, whosever they are."""
    run = RunFolder.create(tmp_path / "run", {})
    for step in (4, 8):
        (run.checkpoints / f"step_{step}").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    for folder in (run.path, run.checkpoints):
        with pytest.raises(NdigoError, match=f"^{folder} holds a run or its checkpoints; save a curiosity in a folder"):
            made().save(folder)
    assert sorted(tmp_path.rglob("*")) == before
    assert made().save(run.path / "curiosity").is_dir()


def test_one_writer_at_a_time(rolled, tmp_path):
    bonus = made()
    with one_writer(tmp_path), pytest.raises(NdigoError, match=f"is being written by process {os.getpid()} on"):
        bonus.save(tmp_path)
    assert bonus.save(tmp_path).is_dir()


def test_scaled_pay_is_in_units_of_the_deviation_of_all_returns_so_far(rolled):
    """Against float64: R <- gamma R + r, anew with every episode; the variance over every R so far.

    Each stream begins with a 0, and a frame that begins an episode, to which no step led, adds none.
    """
    plain, scaled, in_a_rollout = made(), *(made(scale="return-std", gamma=0.9) for _ in range(2))
    r = walk(plain, rolled, range(2 * T)).astype(np.float64)
    got = walk(scaled, rolled, range(2 * T))
    R, seen = np.zeros(N), [0.0] * N
    for t in range(2 * T):
        is_step = ~rolled.is_first[t]
        R = np.where(is_step, 0.9 * R + r[t], 0.0)
        seen += R[is_step].tolist()
        np.testing.assert_allclose(got[t], r[t] / np.sqrt(np.var(seen) + 1e-8), rtol=2e-4, atol=1e-6)
    assert rolled.is_first[1 : 2 * T].any()
    now, then = slice(0, 2 * T - 1), 2 * T - 1
    at_once = in_a_rollout.pay_rollout(
        rolled.a_t[1 : 2 * T],
        rolled.o_tp1[now],
        next_observations=rolled.o_tp1[then],
        is_first=rolled.is_first[now],
        next_is_first=rolled.is_first[then],
    )
    np.testing.assert_allclose(at_once, got[1:], atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"o": np.zeros((N, 1, 1, 4), np.uint8)},
            r"observations has the shape \[3, 1, 1, 4\], expected \[3, 1, 1, 5\]",
        ),
        (
            {"o": np.zeros((2, 1, 1, 5), np.uint8)},
            r"observations has the shape \[2, 1, 1, 5\], expected \[3, 1, 1, 5\]",
        ),
        ({"o": np.zeros((N, 1, 1, 5))}, r"observations are float64, expected whole numbers \(uint8\)"),
        (
            {"o": np.full((N, 1, 1, 5), 7, np.uint8)},
            r"after 1 steps: in the binary channel 'bit0' of frame 0 the value 7",
        ),
        ({"o": np.zeros((N, 1, 1, 5), complex)}, r"observations are complex128, expected whole numbers \(uint8\)"),
        ({"o": np.zeros((N, 1, 1, 5), object)}, r"observations are object, expected whole numbers \(uint8\)"),
        ({"a": np.array([0, 1, 3])}, r"actions reach from 0 to 3, expected 0 to 2"),
        ({"a": np.array([0.0, 1.0, 2.0])}, r"actions are float64\[3\], expected whole numbers \[3\]"),
        ({"first": np.array([0, 2, 0])}, r"is_first is int64\[3\], expected True or False \[3\]"),
    ],
    ids=lambda x: "" if isinstance(x, dict) else x[:24],
)
def test_bad_input_is_one_line_and_leaves_everything_as_it_was(rolled, changes, message):
    bonus = made()
    bonus.reset(rolled.o_tp1[0])
    before = leaves(bonus)
    good = {"a": np.zeros(N, int), "o": rolled.o_tp1[1], "first": np.zeros(N, bool)}
    with pytest.raises(NdigoError, match=message):
        bonus.pay(*{**good, **changes}.values())
    for one, other in zip(before, leaves(bonus), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("has_last", [False, True], ids=["without last frames", "with them"])
def test_of_more_steps_than_the_replay_holds_it_has_the_newest(rolled, has_last):
    """No episode ends within them, so every step is one frame: slot i of a ring of L has the last frame t = i mod L."""
    bonus, go, nobody = made(), np.zeros(N, int), np.zeros(N, bool)
    L = bonus.state.streams.is_first.shape[1]
    bonus.reset(rolled.o_tp1[0])
    seen = [rolled.o_tp1[t % (3 * T)] for t in range(L + 5)]
    for o in seen[1:]:
        bonus.pay(go, o, nobody, finals=0 * o if has_last else None)
    assert bonus.num_pending == L + 4
    numbers = bonus.learn()
    assert numbers is not None
    assert (int(numbers.updates), bonus.num_pending) == (2, 0)
    held = jax.device_get(bonus.state.streams)
    np.testing.assert_array_equal(held.num_frames, [L + 5] * N)
    expected = np.stack([seen[i + L if i < 5 else i] for i in range(L)], axis=1)
    np.testing.assert_array_equal(WORLD.frame.unpack(held.o), expected)
    bonus.reset(rolled.o_tp1[0])
    bonus.pay(go, rolled.o_tp1[1], nobody)
    assert bonus.learn() is not None


def test_what_was_paid_before_a_reset_is_learned_from_after_it(rolled):
    """Episodes of 3 steps: every reset's frame has a slot of its own, and none is a step that was paid."""
    bonus, o, nobody = made(), rolled.o_tp1, np.zeros(N, bool)
    for episode in range(3):
        bonus.reset(o[4 * episode])
        for t in range(4 * episode + 1, 4 * episode + 4):
            bonus.pay(rolled.a_t[t], o[t], nobody)
    bonus.reset(o[12])
    assert (bonus.num_pending, bonus.clock) == (9, 13)
    numbers = bonus.learn()
    assert numbers is not None
    assert (int(numbers.updates), bonus.num_pending) == (2, 0)
    assert bonus.learn() is None
    held = jax.device_get(bonus.state.streams)
    np.testing.assert_array_equal(held.num_frames, [13] * N)
    np.testing.assert_array_equal(held.is_first[:, :13], [[t % 4 == 0 for t in range(13)]] * N)
    np.testing.assert_array_equal(WORLD.frame.unpack(held.o[:, :13]), o[:13].swapaxes(0, 1))
    actions = np.where(held.is_first[:, :13], 0, rolled.a_t[:13].T)
    np.testing.assert_array_equal(held.a_tm1[:, :13], actions)


def test_learn_learns_nothing_and_says_so_until_every_stream_has_a_window(rolled):
    """A window of 4 steps is 5 frames, the reset's among them; what came before is kept, and counts."""
    bonus, nobody = made(), np.zeros(N, bool)
    assert bonus.learn() is None
    bonus.reset(rolled.o_tp1[0])
    before = jax.device_get(bonus.state.params)
    for t in range(1, 4):
        bonus.pay(rolled.a_t[t], rolled.o_tp1[t], nobody)
        assert bonus.learn() is None
    assert bonus.numbers is None
    assert (int(bonus.state.step), bonus.num_pending) == (0, 0)
    jax.tree.map(np.testing.assert_array_equal, before, jax.device_get(bonus.state.params))
    bonus.pay(rolled.a_t[4], rolled.o_tp1[4], nobody)
    numbers = bonus.learn()
    assert numbers is not None
    assert numbers is bonus.numbers
    assert (int(numbers.updates), int(bonus.state.step)) == (2, 2)
    assert np.isfinite(numbers.model_loss).all()


def test_a_last_frame_is_kept_only_where_the_world_gave_one(rolled):
    """Episodes that end without a last frame, then with one: only the second has a slot of its own in the replay."""
    bonus, o, go = made(), rolled.o_tp1, np.zeros(N, int)
    everyone, nobody = np.ones(N, bool), np.zeros(N, bool)
    bonus.reset(o[0])
    bonus.pay(go, o[1], everyone)
    bonus.pay(go, o[2], nobody, finals=o[3])
    bonus.pay(go, o[4], everyone, finals=o[5])
    bonus.learn()
    held = jax.device_get(bonus.state.streams)
    np.testing.assert_array_equal(held.num_frames, [5] * N)
    np.testing.assert_array_equal(held.is_first[:, :5], [[True, True, False, False, True]] * N)
    shown = np.asarray(WORLD.frame.unpack(held.o[:, :5]))
    np.testing.assert_array_equal(shown, np.stack([o[0], o[1], o[2], o[5], o[4]], axis=1))


def test_an_episode_that_ended_without_its_last_frame_is_refused(rolled):
    """Else its last action would be paid for the first frame of the next."""
    bonus, o, go = made(), rolled.o_tp1, np.zeros(N, int)
    ended = np.array([False, True, False])
    of_another, right, missing = (np.empty(N, object) for _ in range(3))
    of_another[0], right[1] = o[2][0], o[2][1]
    bonus.reset(o[0])
    before = leaves(bonus)
    for finals in (of_another, missing):
        with pytest.raises(NdigoError, match=r"environment 1 ended an episode, and finals\[1\] is None"):
            bonus.pay(go, o[1], ended, finals)
    with pytest.raises(NdigoError, match=r"finals has the shape \[2\], expected \[3\]"):
        bonus.pay(go, o[1], ended, right[:2])
    for wrong, told in (
        (o[2][1][:, :-1], "has the shape .*, expected"),
        ({"image": o[2][1]}, "is a dictionary with image, expected an array"),
        (o[2][1] + 0.5, "are float64, expected whole numbers"),
    ):
        mixed = right.copy()
        mixed[1] = wrong
        with pytest.raises(NdigoError, match=rf"^finals\[1\] {told}"):
            bonus.pay(go, o[1], ended, mixed)
    jax.tree.map(np.testing.assert_array_equal, before, leaves(bonus))
    bonus.pay(go, o[1], ended, right)
    begun = made()
    begun.pay(go, o[0], np.ones(N, bool), missing)  # before it nothing was seen that could have ended


def test_finals_are_taken_as_a_list_and_where_all_environments_end_at_once(rolled):
    """`np.array(..., dtype=object)` of frames of one shape is no array of frames, but one of all their numbers."""
    bonus, o, go = made(), rolled.o_tp1, np.zeros(N, int)
    one, everyone = np.array([False, True, False]), np.ones(N, bool)
    bonus.reset(o[0])
    for ended, finals in (
        (one, [None, o[2][1], None]),
        (one, (None, o[2][1], None)),
        (everyone, [*o[2]]),
        (everyone, np.array([*o[2]], dtype=object)),
    ):
        bonus.pay(go, o[1], ended, finals)
        *_, held = bonus._pending.rollouts[-1]
        np.testing.assert_array_equal(held[0], np.where(ended[:, None, None, None], o[2], o[1]))
    with pytest.raises(NdigoError, match=r"^finals has the shape \[2\], expected \[3\]$"):
        bonus.pay(go, o[1], one, [None, o[2][1]])
    with pytest.raises(NdigoError, match=r"^environment 1 ended an episode, and finals\[1\] is None"):
        bonus.pay(go, o[1], one, [None] * N)


def test_what_finals_hold_where_no_episode_ended_is_not_read(rolled):
    """An array of them is filled where one did: the sevens elsewhere are no bits."""
    (steps, whole, rollout), o, go = (made() for _ in range(3)), rolled.o_tp1, np.zeros(N, int)
    nobody, ended, sevens = np.zeros(N, bool), np.array([False, True, False]), np.full_like(o[:2], 7)
    sevens[1, 1] = o[3][1]
    paid = []
    for bonus, finals in ((steps, sevens[1]), (whole, np.where(ended[:, None, None, None], o[3], o[2]))):
        bonus.reset(o[0])
        bonus.pay(go, o[1], nobody)
        paid.append(bonus.pay(go, o[2], ended, finals)[0])
    assert paid[0][1] != 0
    np.testing.assert_array_equal(*paid)
    then = {"is_first": [nobody, nobody], "next_observations": o[2], "next_is_first": ended, "finals": sevens}
    np.testing.assert_allclose(rollout.pay_rollout(np.stack([go, go]), o[:2], **then)[1], paid[0], atol=1e-6)


def test_a_model_that_has_diverged_is_named_instead_of_paying_what_is_no_number(rolled):
    bonus = made()
    walk(bonus, rolled, range(2))
    good = bonus.state
    bonus.state = jax.tree.map(lambda x: np.nan * x if x.dtype == np.float32 else x, good)
    before, seen = leaves(bonus), bonus._seen
    message = r"paid nan after 2 steps: it has diverged; load a save .* below 0\.004"
    with pytest.raises(NdigoError, match=message):
        walk(bonus, rolled, range(2, 3))
    then = {"next_observations": rolled.o_tp1[T], "next_is_first": rolled.is_first[T]}
    rollout = {"is_first": rolled.is_first[1:T], **then}
    with pytest.raises(NdigoError, match=message):
        bonus.pay_rollout(rolled.a_t[2 : T + 1], rolled.o_tp1[1:T], **rollout)
    assert (bonus.clock, bonus.num_pending, bonus._seen) == (2, 2, seen)
    for one, other in zip(before, leaves(bonus), strict=True):
        np.testing.assert_array_equal(one, other)
    fresh = made()
    fresh.state = jax.tree.map(np.asarray, bonus.state)
    with pytest.raises(NdigoError, match="paid nan after 0 steps"):
        fresh.pay_rollout(rolled.a_t[2 : T + 1], rolled.o_tp1[1:T], **rollout)
    assert (fresh.clock, fresh.num_pending, fresh._seen) == (0, 0, None)
    bonus.state = good
    np.testing.assert_array_equal(walk(bonus, rolled, range(2, T)), walk(made(), rolled, range(T))[2:])


def test_counts_of_numpy_are_saved_and_loaded_as_any_others(rolled, tmp_path):
    """`envs.single_action_space.n` is a np.int64."""
    first = made(num_actions=np.int64(WORLD.num_actions), num_envs=np.int32(N), seed=3)
    expected = walk(first, rolled, range(T))
    first.save(tmp_path)
    second = made(seed=4)
    second.load(tmp_path)
    assert (second.clock, second.num_pending) == (T, T)
    np.testing.assert_array_equal(walk(second, rolled, range(T, T + 2)), walk(first, rolled, range(T, T + 2)))
    second.save(tmp_path)
    assert np.abs(expected).max() > 0
    pure = make_curiosity("ndigo-1", WORLD.frame, np.int64(WORLD.num_actions), CONFIG)
    assert type(pure.num_actions) is int
    with pytest.raises(NdigoError, match=r"num_actions is 3\.0, expected a whole number of at least 1"):
        made(num_actions=3.0)
    with pytest.raises(NdigoError, match=r"num_envs is True, expected a whole number of at least 1"):
        made(num_envs=True)


def test_a_dictionary_of_any_kind_is_read_by_its_names():
    """Stable-Baselines3's are ordered, and then their order is no longer that of their names."""
    found = arrays(OrderedDict(b=np.zeros(2), a={"c": [1, 2]}))
    assert jax.tree.structure(found) == jax.tree.structure({"a": {"c": [0, 0]}, "b": 0})
    assert found["a"]["c"] == [1, 2]


def test_of_frames_in_parts_the_part_that_is_wrong_is_named():
    parts = frames.join(pos=frames.tiles((9,), 1, 1), held=frames.join(lamp=frames.vector(2, low=0, high=1)))
    pos, lamp = np.zeros((4, 1, 1, 1), np.uint8), np.zeros((4, 2))
    for wrong, told in (
        ({"pos": pos[:, 0, 0, 0], "held": {"lamp": lamp}}, r"\['pos'\] has the shape \[4\], expected \[4, 1, 1, 1\]"),
        ({"pos": pos, "held": {"lamp": lamp[0]}}, r"\['held'\]\['lamp'\] has the shape \[2\], expected \[4, 2\]"),
        ({"pos": pos + 0.5, "held": {"lamp": lamp}}, r"\['pos'\] are float64, expected whole numbers"),
    ):
        with pytest.raises(NdigoError, match=f"^observations{told}"):
            check_frames("observations", parts, wrong, (4,))


def test_what_cannot_be_made_is_one_line():
    with pytest.raises(NdigoError, match=r"frame is a tuple, expected one of ndigo\.frames"):
        made(frame=(7, 7, 3))
    with pytest.raises(NdigoError, match=r"frame is a Discrete, expected .*; ndigo\.frame_of\(name, "):
        made(frame=gymnasium.spaces.Discrete(3))
    with pytest.raises(NdigoError, match=r"unknown scale 'std'; known: return-std"):
        made(scale="std")
    for seed in (1.5, -1, 2**40, "0"):
        with pytest.raises(NdigoError, match=r"seed is .*, expected a whole number from 0 to 4294967295"):
            made(seed=seed)
    for gamma in (1.5, -1, "x", float("nan")):
        with pytest.raises(NdigoError, match=r"gamma is .*, expected a number from 0 to 1"):
            made(scale="return-std", gamma=gamma)
    with pytest.raises(NdigoError, match=r"num_envs is 2\.5, expected a whole number of at least 1"):
        made(num_envs=2.5)
    with pytest.raises(NdigoError, match=r"config is a str, expected a Config, such as ndigo\.config\.preset"):
        made(config="cpu")
    with pytest.raises(NdigoError, match="reward is a int, expected a name, such as ndigo-4, or a record"):
        made(reward=3)
    nothing = np.zeros((0, N), int), np.zeros((0, N, 1, 1, 5), np.uint8)
    with pytest.raises(NdigoError, match="actions has no steps, expected a rollout of at least 1"):
        made().pay_rollout(*nothing, next_observations=None, is_first=None, next_is_first=None)
    with pytest.raises(NdigoError, match="reward task pays the world's own task"):
        made(reward="task")
    with pytest.raises(NdigoError, match="pay before the first frames"):
        made().pay(np.zeros(N, int), np.zeros((N, 1, 1, 5), np.uint8))
    nan = made(frame=frames.vector(2, low=0, high=1))
    with pytest.raises(NdigoError, match=r"in entry 1 of frame 0 the value nan, expected a finite number"):
        nan.reset(np.array([[0, np.nan], [0, 0], [0, 0]]))


def test_numbers_beyond_their_bins_are_told_once_by_entry_channel_and_range(rolled, monkeypatch):
    """Of entry 1's eight numbers two are 200, more than a fifth; of entry 0's one is, which is less."""
    numbers = frames.join(now=frames.vector(2, low=0, high=(1, 9), bins=4, names=("x", "y")))
    seen = np.full((4, 2, 2), 0.5, np.float32)
    assert outside(numbers, [{"now": seen}]) is None
    seen[1, 0] = seen[2, 1, 1] = 200
    told = r"part 'now', 25% .* entry 1 \(channel 'y'\), 0.5 to 200, lie outside 0 to 9: the"
    assert re.search(told, outside(numbers, [{"now": seen[:1]}, {"now": seen[1:]}]) or "")
    assert outside(frames.vector(2, low=0, high=1, bins=None), [seen]) is None  # a density tells them all apart

    bonus, handed = made(), []
    monkeypatch.setattr(host, "outside", lambda frame, rollouts: handed.append((frame, rollouts)) or "too far")
    walk(bonus, rolled, range(T))
    with pytest.warns(UserWarning, match="too far"):
        bonus.learn()
    ((frame, rollouts),) = handed
    assert frame is bonus.frame
    np.testing.assert_array_equal(np.concatenate(rollouts), rolled.o_tp1[:T])
    walk(bonus, rolled, range(T, 2 * T))
    bonus.learn()
    assert len(handed) == 1
