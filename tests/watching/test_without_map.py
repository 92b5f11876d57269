"""Recordings and sessions of worlds without a map: worlds whose every frame is known, and their own pictures."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from custom_world import world as three_doors
from stream_worlds import counting, read_count
from untrained import untrained

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.palette import OBJECTS
from ndigo.storage.episodes import load_episodes, save_episodes
from ndigo.watching.appearance import appearance_of
from ndigo.watching.drawing import drawn
from ndigo.watching.film import Measures
from ndigo.watching.movies import film_of
from ndigo.watching.recording import episode_key, record
from ndigo.watching.scenes import picture_scene
from ndigo.watching.session import Session
from ndigo.watching.snapshots import write_snapshots
from ndigo.worlds import World

WORLD = counting()
KEYS = [episode_key(0, i) for i in range(4)]


def drawn_by_hand(state) -> np.ndarray:
    """A picture that says the step."""
    return np.full((2, 3, 3), int(state.t), np.uint8)


@pytest.fixture(scope="module")
def agent():
    return untrained(dataclasses.replace(WORLD, draw=drawn_by_hand))


@pytest.fixture(scope="module")
def episodes(agent):
    return record(agent, KEYS)


@jax.jit
def first_frame(key) -> jax.Array:
    return WORLD.observe(WORLD.reset(jax.random.split(key, 3)[0]))


def test_an_episode_is_recorded_to_the_end_that_its_first_frame_announces(episodes):
    lengths = [int(read_count(first_frame(key))[1]) for key in KEYS]
    assert len(set(lengths)) > 1
    assert episodes.lengths.tolist() == lengths
    assert episodes.meta["num_steps"] == max(lengths)
    for e, length in enumerate(lengths):
        np.testing.assert_array_equal(episodes.drawn[e, : length + 1, 0, 0, 0], range(length + 1))


def test_the_pictures_tell_the_frames_bit_by_bit(episodes):
    for e, length in enumerate(episodes.lengths):
        for t in range(length + 1):
            lit = (episodes.seen[e, t, 0].max(axis=-1) > 60).astype(np.uint8)  # a bit that is 0 is nearly black
            step, total, _, last = read_count(lit[None, None])
            assert (int(step), int(total)) == (t, length)
            assert int(last) == (0 if t == 0 else episodes.a[e, t - 1])


def test_the_legend_names_each_channel_that_pictures_have_a_colour_for():
    bag = frames.vector(2, low=0, high=1, names=("wood", "stone"))
    world = dataclasses.replace(WORLD, frame=frames.join(map=frames.tiles((4, 2), 2), bag=bag))
    assert appearance_of(untrained(world)).legend == (("bag.wood", OBJECTS[0]), ("bag.stone", OBJECTS[1]))


def test_task_and_events_are_the_worlds(episodes):
    """The task pays step t+1 for action 1; events are "at two" and "after b"."""
    for e, length in enumerate(episodes.lengths):
        actions = episodes.a[e, :length].tolist()
        assert episodes.task[e, :length].tolist() == [t + 1 if a == 1 else 0 for t, a in enumerate(actions)]
        assert episodes.events[e, : length + 1].tolist() == [
            [t == 2, t > 0 and actions[t - 1] == 1] for t in range(length + 1)
        ]


def test_each_of_200_actions_is_recorded_as_itself():
    """A world whose frame has the action before it in eight bits; an agent at random takes most of them."""
    many = World(
        name="many",
        frame=frames.bits([f"bit{i}" for i in range(8)], 1),
        actions=tuple(map(str, range(200))),
        num_steps=60,
        reset=lambda key: jnp.int32(0),
        step=lambda key, state, a_t: jnp.asarray(a_t, jnp.int32),
        observe=lambda state: ((state >> jnp.arange(8)) & 1).astype(jnp.uint8)[None, None],
    )
    recorded = record(untrained(many, "random"), KEYS[:1])
    assert recorded.seen is not None
    lit = (recorded.seen[0, 1:, 0].max(axis=-1) > 60).astype(int)  # a bit that is 0 is nearly black
    assert recorded.a[0, :60].tolist() == (lit << np.arange(8)).sum(axis=-1).tolist()
    assert recorded.a.max() > 127


def test_a_world_that_takes_no_other_integers_than_a_policys_is_drawn_too(episodes):
    """As Craftax: its step puts the action beside int32, which for another type is an error."""

    def step(key, state, a_t):
        return WORLD.step(key, state, jax.lax.select(state.t >= 0, a_t, jnp.int32(0)))

    particular = dataclasses.replace(WORLD, step=step, draw=drawn_by_hand)
    again = record(untrained(particular), KEYS)
    np.testing.assert_array_equal(again.a, episodes.a)
    np.testing.assert_array_equal(again.drawn, episodes.drawn)


def test_left_alone_a_session_is_the_recording_frame_by_frame(agent, episodes):
    e = int(episodes.lengths.argmax())
    session, frames = Session(agent, KEYS[e]), []
    frames.append(session.frame())
    while not session.is_over:
        session.step()
        frames.append(session.frame())
    length = int(episodes.lengths[e])
    assert [frame["is_last"] for frame in frames] == [False] * length + [True]
    for name in ("seen", "drawn", "events"):
        np.testing.assert_array_equal([frame[name] for frame in frames], getattr(episodes, name)[e], err_msg=name)
    np.testing.assert_allclose([frame["loss_c"] for frame in frames], episodes.loss_c[e], atol=1e-4)
    np.testing.assert_allclose([frame["reward"] for frame in frames[1:]], episodes.reward[e, :length], atol=1e-4)
    np.testing.assert_array_equal([frame["task"] for frame in frames[1:]], episodes.task[e, :length])
    one_ahead = [frame["expected"][0] for frame in frames[:-1]]  # what it would do is what it did
    np.testing.assert_array_equal(one_ahead, episodes.expected[e, :length, 0])
    with pytest.raises(NdigoError, match=f"the episode is over after {length} steps"):
        session.step()


def test_surprise_is_minus_ln_of_the_chance_that_the_model_gave_to_the_frame(agent, episodes):
    state, o_t = agent.start(), []
    for t in range(2):
        o_t.append((episodes.seen[3, t, 0].max(axis=-1) > 60).astype(np.uint8)[None, None])
    _, state = agent.step(o_t[0], state)
    chances = agent.predict(state, np.full(agent.num_ahead, episodes.a[3, 0]))[0]
    by_hand = -np.log(np.where(o_t[1], chances, 1 - chances))[0, 0]
    np.testing.assert_allclose(episodes.loss_c[3, 1], by_hand, atol=1e-3)
    assert not episodes.loss_c[:, 0].any()


def test_a_films_line_of_surprise_begins_with_the_first_frame_that_was_predicted(episodes):
    """In a strip as wide as the episode has steps: nothing stands left of step 1's column."""
    e = int(episodes.lengths.argmax())
    film, length = film_of(episodes, e), int(episodes.lengths[e])
    (x, y), (width, height) = film.loss_at, film.strip_size
    strip = film.frame(length)[y : y + height - 1, x : x + width]
    is_drawn = (strip != strip[0, 0]).any(axis=(0, 2))
    begins = int(is_drawn.argmax())
    assert begins == pytest.approx(width / length, abs=3)
    assert is_drawn[begins : width - 3].mean() > 0.9


def test_a_recording_comes_back_from_its_file_and_makes_a_film(episodes, tmp_path):
    save_episodes(tmp_path / "episodes.npz", episodes)
    again = load_episodes(tmp_path / "episodes.npz")
    np.testing.assert_array_equal(again.expected, episodes.expected)
    film = film_of(again, 1)
    assert again.lengths is not None
    assert again.seen is not None
    assert len(film) == again.lengths[1] + 1
    panel, (rows, cols) = film.panels[1], again.seen.shape[2:4]
    assert panel.title == "it sees"
    (x, y), (height, width, _) = panel.at, panel.draw(1).shape  # type: ignore[union-attr]
    assert (height % rows, width % cols) == (0, 0)
    shown = film.frame(1)[y : y + height, x : x + width]
    cell = width // cols
    np.testing.assert_array_equal(shown[::cell, ::cell], again.seen[1, 1])
    with pytest.raises(NdigoError, match="a figure shows maps, and counting has none"):
        write_snapshots(tmp_path / "figure.png", again, 0)


def test_a_film_says_nats_where_the_pay_is_split_by_channel(episodes):
    def words(recording, e: int) -> str:
        return picture_scene(recording, e, recording.length(e), Measures(1)).rewards.words[0][0]

    tasked = dataclasses.replace(WORLD, task_reward=lambda state: jnp.float32(1.5))
    assert words(record(untrained(tasked, "task"), KEYS[:1]), 0) == "reward of each step (largest 1.5)"
    assert words(episodes, int(episodes.lengths.argmax())).endswith(" nats)")


def test_truth_without_a_map_is_drawn_on_an_empty_floor(shipped, recorded):
    """Objects, belief and discovery loss are those of the same world with its map."""
    unmapped = dataclasses.replace(shipped.world, grid=None)
    bare = record(dataclasses.replace(shipped, world=unmapped), [episode_key(0, 0)])
    assert bare.walls.shape == (19, 19)
    assert not bare.walls.any()
    assert [thing["name"] for thing in bare.meta["objects"]] == ["fixed", "noise"]
    np.testing.assert_array_equal(bare.objects[0], recorded.objects[0])
    np.testing.assert_allclose(bare.belief[0], recorded.belief[0], atol=5e-4)
    np.testing.assert_allclose(bare.discovery_loss[0], recorded.discovery_loss[0], atol=1e-4)
    assert bare.seen is not None
    assert bare.seen.shape[2:4] == (5, 5)
    assert bare.exact is None


def test_a_world_that_draws_what_is_no_picture_is_named():
    world: World = dataclasses.replace(three_doors, draw=lambda state: jnp.zeros((3, 3)))
    with pytest.raises(NdigoError, match=r"'three_doors': its draw returns float32\[3, 3\], expected uint8\[H, W, 3\]"):
        drawn(world, world.reset(KEYS[0]))
