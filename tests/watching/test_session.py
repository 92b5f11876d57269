"""A live session: left alone it is the recording; its world can be walked and disturbed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo.errors import NdigoError
from ndigo.watching.recording import episode_key
from ndigo.watching.session import Session

KEY = episode_key(seed=0, episode=0)
STAY, UP, DOWN, RIGHT, LEFT = range(5)


@pytest.fixture
def session(shipped):
    return Session(shipped, KEY)


def walk(session, actions):
    for a in actions:
        session.step(a)
    return session.frame()


def test_left_alone_it_is_the_recorded_episode_frame_by_frame(session, recorded):
    frames = [session.frame()]
    while not session.is_over:
        session.step()
        frames.append(session.frame())
    assert [frame["t"] for frame in frames] == list(range(401))
    for name in ("agent", "objects", "o", "a"):
        np.testing.assert_array_equal([frame[name] for frame in frames], getattr(recorded, name)[0], err_msg=name)
    assert [frame["a_tm1"] for frame in frames[1:]] == recorded.a[0, :-1].tolist()
    np.testing.assert_allclose([f["belief"] for f in frames], recorded.belief[0], atol=5e-4)
    np.testing.assert_allclose([f["discovery_loss"] for f in frames], recorded.discovery_loss[0], atol=1e-4)
    # A step's reward is determined by the frame after it.
    assert [f["reward_t"] for f in frames] == [-1, *range(400)]
    np.testing.assert_allclose([f["reward"] for f in frames[1:]], recorded.reward[0, :-1], atol=1e-4)
    np.testing.assert_allclose([f["reward_c"] for f in frames[1:]], recorded.reward_c[0, :-1], atol=1e-4)
    one_ahead = np.array([f["ahead"][0] for f in frames], int)  # the action it would take is the one it took
    assert abs(one_ahead - recorded.ahead[0, :, 0]).max() <= 1


def test_a_person_walks_and_the_belief_follows(session):
    frame = walk(session, [UP] * 6 + [STAY])
    assert frame["agent"].tolist() == [3, 9]
    assert frame["a_tm1"] == STAY
    row, col = frame["objects"][0]
    assert max(abs(row - 3), abs(col - 9)) > 2  # not in view: so it is in none of the cells that are
    assert frame["belief"][0, 1:6, 7:12].sum() < 0.3  # of one who knows the room and nothing else, 0.4
    assert walk(session, [DOWN] * 6)["agent"].tolist() == [9, 9]


def test_the_agent_chooses_by_the_actions_that_a_person_took(session, shipped):
    """By the Q-network alone, told what was done at every frame."""
    network, taken = shipped.networks.agent, [UP, UP, LEFT, DOWN, STAY, RIGHT] * 4
    step = jax.jit(lambda *frame: network.step(*frame))
    state, h_t, a_tm1 = shipped.start(), jnp.zeros(network.size), 0
    chosen = []
    for a_t in taken:
        o_t = session.frame()["o"]
        h_t, q_t = step(o_t, a_tm1, h_t)
        chosen.append(int(q_t.argmax()))
        by_agent, state = shipped.step(o_t, state)
        assert (session.frame()["a"], by_agent) == (chosen[-1], chosen[-1])
        session.step(a_t)
        state, a_tm1 = state.after(a_t), a_t
    assert chosen != taken


def test_a_dropped_object_is_there_in_the_next_frame_and_the_belief_sees_it(session):
    before = walk(session, [UP] * 6)
    assert before["agent"].tolist() == [3, 9]
    session.drop(0, row=2, col=8)
    moved = session.frame()
    assert moved["objects"][0].tolist() == [2, 8]
    np.testing.assert_array_equal(moved["o"], before["o"])  # it has not looked yet
    np.testing.assert_array_equal(moved["belief"], before["belief"])
    assert moved["discovery_loss"][0] == pytest.approx(-np.log(before["belief"][0, 2, 8]), rel=1e-4)
    after = walk(session, [STAY])
    assert after["objects"][0].tolist() == [2, 8]
    assert after["o"][1, 1, 1] == 1  # one up and one left of the middle
    assert after["belief"][0].argmax() == 2 * 19 + 8
    assert after["discovery_loss"][0] < moved["discovery_loss"][0]


def test_an_object_dropped_out_of_sight_breaks_the_belief(session):
    while session.frame()["discovery_loss"][0] > 0.1:
        session.step()
    col = session.frame()["objects"][0, 1]
    far = (1, 3) if col > 9 else (1, 15)
    session.drop(0, *far)
    assert session.frame()["discovery_loss"][0] > 3
    session.step()
    assert session.frame()["objects"][0].tolist() == list(far)


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ((0, 3), "there is a wall"),
        ((9, 9), "it lives in upper and never leaves"),
        ((5, 9), "it lives in upper and never leaves"),  # a door
        ((-1, 4), "the map has rows 0 to 18 and columns 0 to 18"),
        ((4, 9), "the agent is there"),
    ],
)
def test_where_an_object_cannot_stand_it_stays_and_one_line_says_why(session, where, why):
    before = walk(session, [UP] * 5)
    with pytest.raises(NdigoError, match=f"'fixed' cannot stand at row {where[0]}, column {where[1]}: {why}"):
        session.drop(0, *where)
    np.testing.assert_array_equal(session.frame()["objects"], before["objects"])


def test_impossible_requests_are_one_line(session):
    with pytest.raises(NdigoError, match="object 2: there are objects 0 to 1"):
        session.drop(2, 1, 3)
    with pytest.raises(NdigoError, match="action 5: must be from 0 to 4"):
        session.step(5)
    walk(session, [STAY] * 400)
    assert session.is_over
    assert session.frame()["a"] == -1
    with pytest.raises(NdigoError, match="the episode is over after 400 steps"):
        session.step()
