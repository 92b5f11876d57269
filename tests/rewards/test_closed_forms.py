"""Our rewards fed with exact losses: what perfect knowledge earns in worlds whose answer is known.

The exact filter of `ndigo.oracle` plays the world model: its table of losses goes through the very
functions that pay the learned one. Expected values come by hand, or (Brownian motion) from an
independent computation of the information that a frame holds about a later one.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_windows import random_window
from walked_path import follow

from ndigo.agent import random_walker
from ndigo.oracle import make_filter
from ndigo.oracle.quantities import ideal_table
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.rewards import make_reward, ndigo_reward
from ndigo.types import Seen
from ndigo.worlds import Object, World, grid_world, read_layout
from ndigo.worlds.rollout import rollout

HORIZONS = [1, 2, 4, 5, 10]
UPPER_ROOM = """
###################
##uuuuuuuuuuuuuuu##
###uuuuuuuuuuuuu###
####uuuuuPuuuuu####
#####uuuuuuuuu#####
###################
"""


def upper_room(kind: str, num_steps: int = 60) -> World:
    """The upper room of 5 rooms with the agent parked at (3, 9), whence it sees 19 of the other 47 cells."""
    layout = read_layout(UPPER_ROOM, {"u": "upper"})
    return grid_world(kind, layout, [Object("thing", kind, ("upper",))], num_steps=num_steps)


@partial(jax.jit, static_argnums=1)
def paid(tables, H: int):
    """Each episode's."""
    return jax.vmap(lambda loss_tk: ndigo_reward(loss_tk, H))(tables)


def exact_tables(world: World, agent, num_episodes: int, T: int, K: int):
    """Exact loss_tk [episodes, T, K, C] of the first T steps, and where the objects were [episodes, N, 2]."""
    filter_ = make_filter(world)

    def table(key):
        episode = rollout(world, agent, key)
        a_t, o_t = episode.a_t[:T], episode.o_t[: T + 1]
        loss_tk = ideal_table(filter_, filter_.run(a_t, o_t), a_t, o_t, K).channels
        return jnp.nan_to_num(loss_tk), episode.truth_t.objects[0]

    return jax.jit(jax.vmap(table))(jax.random.split(jax.random.key(0), num_episodes))


@pytest.fixture(scope="module")
def watched_noise():
    """White noise seen by an agent that stands still, and by one that walks at random."""
    world = upper_room("white_noise")
    return {
        "still": exact_tables(world, follow(jnp.zeros(0, int)), 8, 60, 11)[0],
        "moving": exact_tables(world, random_walker(world), 8, 60, 11)[0],
    }


@pytest.mark.parametrize("agent", ["still", "moving"])
@pytest.mark.parametrize("H", HORIZONS)
def test_white_noise_pays_exactly_nothing(watched_noise, agent, H):
    np.testing.assert_allclose(paid(watched_noise[agent], H), 0, atol=1e-5)


def test_prediction_error_keeps_paying_on_white_noise(watched_noise):
    """19 of 47 cells in view: 19/47 ln 47 + 28/47 ln(47/28) = 1.865 nats a step, at the end as at the start."""
    expected = 19 / 47 * np.log(47) + 28 / 47 * np.log(47 / 28)
    window = random_window(0, T=60)

    @jax.jit
    @jax.vmap
    def pay(loss_tk):
        seen = Seen(window=window, z_t=jnp.zeros(61), b_t=jnp.zeros(61), loss_tk=loss_tk)
        return make_reward("pe").pay(None, None, None, seen).r_t

    r_t = np.asarray(pay(watched_noise["still"]))
    # 480 draws of standard deviation 1.63: a standard error of 0.075.
    assert np.mean(r_t) == pytest.approx(expected, abs=0.3)
    # Each step pays one of two amounts: ln 47 when the noise is in view, ln(47/28) when it is not.
    amounts = np.round(np.log([47, 47 / 28]), 3)
    assert set(np.round(np.concatenate(r_t), 3).tolist()) == set(amounts.astype(np.float32).round(3).tolist())


@pytest.fixture(scope="module")
def glance_at_the_upper_room():
    """Experiment 1, three steps up to (6, 9), whence 5 of the 48 cells show; then the agent stays."""
    world = EXPERIMENTS["exp1"].world
    tables, objects = exact_tables(world, follow(jnp.array([1, 1, 1])), 96, 24, 11)
    row, col = np.asarray(objects[:, 0]).T
    return np.asarray(tables), (row == 4) & (abs(col - 9) <= 2)


@pytest.mark.parametrize("H", HORIZONS)
def test_first_sight_of_a_fixed_object_pays_ln_48_and_then_nothing(glance_at_the_upper_room, H):
    """Frame 3 shows it, so step 3 + H - 1 is paid; an empty glance pays ln(48/43)."""
    tables, is_seen = glance_at_the_upper_room
    assert 3 <= is_seen.sum() <= 30
    r_t = np.asarray(paid(tables, H))[..., 1]
    expected = np.zeros_like(r_t)
    expected[:, 3 + H - 1] = np.where(is_seen, np.log(48), np.log(48 / 43))
    np.testing.assert_allclose(r_t, expected, atol=1e-4)


def test_no_frame_of_a_fixed_object_in_a_room_of_48_cells_pays_more_than_ln_48():
    """Walkers in the room itself: whatever they do, knowing the cell is worth no more."""
    world = upper_room("fixed")
    tables, _ = exact_tables(world, random_walker(world), 16, 40, 5)
    for H in (1, 4):
        r_t = np.asarray(paid(tables, H))[..., 1]
        assert r_t.max() <= np.log(48)


@pytest.fixture(scope="module")
def parked():
    """A Brownian object watched from (3, 9), past the steps in which the filter forgets the first frame.

    p[k] = P_{t+k|t} for k = 0 .. 11 over what can be seen, [episodes, steps, 21]; the object's true cell.
    """
    world = upper_room("brownian", num_steps=160)
    filter_ = make_filter(world)
    assert world.truth is not None

    def watched(key):
        episode = rollout(world, follow(jnp.zeros(0, int)), key)
        return filter_.run(episode.a_t, episode.o_t), episode.truth_t.objects[:, 0] @ jnp.array([19, 1])

    b_t, cells = jax.jit(jax.vmap(watched))(jax.random.split(jax.random.key(1), 192))
    b_t, cells = jax.tree.map(lambda x: np.asarray(x)[:, 60:], (b_t, cells))
    is_in_view = np.asarray(filter_.tables.in_view[0])[int(b_t.agent[0, 0])] == 1
    later = jax.jit(jax.vmap(jax.vmap(lambda b: filter_.predict(b, jnp.int32(0)))))
    p = []
    for _ in range(12):
        f = np.asarray(b_t.objects[0][..., 0, :], np.float64)
        p.append(np.concatenate([f[..., is_in_view], f[..., ~is_in_view].sum(-1, keepdims=True)], axis=-1))
        b_t = later(b_t)
    return p, np.asarray(cells)


@pytest.mark.parametrize(("H", "nats"), [(1, 0.336), (2, 0.192), (4, 0.086), (5, 0.064), (10, 0.021)])
def test_brownian_object_pays_a_parked_agent_its_known_rate(parked, H, nats):
    """Each loss of the table is averaged over the frame it is about, given h_t, which leaves out luck only.

    L[t+H | t-1] and L[t+H | t] are both averaged over o_{t+H} drawn from P_{t+H|t}. For the same reason
    the mean is taken over the object's 47 cells, which it visits equally often in the long run.
    """
    p, cells = parked
    after, before = p[H][:, 1:], p[H + 1][:, :-1]
    T = before.shape[1]
    loss_tk = np.zeros((len(after), T, H + 1), np.float32)
    loss_tk[:, :, H] = -_mean_log(after, before)
    loss_tk[:, 1:, H - 1] = -_mean_log(after, after)[:, :-1]
    r_t = np.asarray(paid(loss_tk, H))
    # Step t + H - 1 is paid for frame t.
    by_cell = [r_t[:, H:][cells[:, 1 : T - H + 1] == cell].mean() for cell in np.unique(cells)]
    assert len(by_cell) == 47
    # 2%, and half a unit of the last digit that the rates are known to.
    assert np.mean(by_cell) == pytest.approx(nats, abs=0.02 * nats + 0.0005)


def _mean_log(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """sum p ln q; what cannot happen counts nothing."""
    return np.where(p > 0, p * np.log(np.maximum(q, 1e-300)), 0).sum(axis=-1)
