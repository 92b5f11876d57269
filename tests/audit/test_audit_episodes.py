"""The audit of untrained networks in a tiny world: each number against a slow way to the same."""

from __future__ import annotations

import dataclasses
import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle.tiny import TWO_ROOMS
from probe_worlds import two_arms
from random_weights import random_weights

from ndigo.agent import QNetwork, random_walker
from ndigo.agents.agent import Params, as_it_is
from ndigo.audit.episodes import audit_policy, audit_seekers
from ndigo.audit.seeking import seeker_of
from ndigo.cli import main
from ndigo.commands import audit as audit_command
from ndigo.config import preset
from ndigo.model import init_world_model, make_likelihood
from ndigo.model.probe import Probe
from ndigo.rewards import make_reward, pay_exactly
from ndigo.training.run import settings_of
from ndigo.training.trained import Trained
from ndigo.worlds import Object, grid_world, read_layout
from ndigo.worlds.rollout import rollout

S, K, EPISODES = 8, 2, 3
WORLD = grid_world(
    "fixed and brownian",
    read_layout(TWO_ROOMS, {"A": "A", "B": "B"}),
    [Object("fixed", "fixed", ("A",)), Object("brownian", "brownian", ("B",))],
    view=3,
    num_steps=S,
)
REWARD = make_reward("ndigo-1")


def make_mind(likelihood: str) -> Params:
    def make(key):
        keys = jax.random.split(key, 3)
        sizes = {"frame": WORLD.frame, "num_actions": 5, "num_features": 8, "num_filters": 2}
        model = init_world_model(
            keys[0],
            **sizes,
            likelihood=make_likelihood(likelihood, WORLD.frame),
            predictor="open_loop",
            num_ahead=K,
            belief_size=8,
            num_hidden=8,
        )
        probe = Probe(keys[2], belief_size=8, num_objects=2, num_cells=45, num_hidden=8)
        agent = QNetwork(keys[1], **sizes, state_size=8, num_hidden=8)
        return Params(model=model, reward=None, agent=agent, probe=probe)

    return random_weights(make)


@pytest.fixture(scope="module")
def mind() -> Params:
    return make_mind("categorical")


@pytest.fixture(scope="module")
def audited(mind):
    return audit_policy(WORLD, REWARD, lambda mind: random_walker(WORLD), [mind], jax.random.key(1), EPISODES)


@pytest.fixture(scope="module")
def episodes():
    """The same walks, played again."""
    keys = jax.random.split(jax.random.key(1), EPISODES)
    return jax.device_get(jax.jit(jax.vmap(lambda key: rollout(WORLD, random_walker(WORLD), key)))(keys))


def test_learned_reward_is_that_of_the_models_own_predictions_step_by_step(mind, audited, episodes):
    """Beliefs frame by frame, chances as the model and the probe tell them, -ln p by hand, and NDIGO-1's difference."""
    locate = jax.jit(lambda b_t: mind.probe.locate(b_t))
    step = jax.jit(lambda *frame: mind.model.core.step(*frame))
    predict = jax.jit(lambda b_t, a_k: mind.model.expect(b_t, a_k))
    for e in range(EPISODES):
        o_t, a_t = episodes.o_t[e], episodes.a_t[e]
        cells = episodes.truth_t.objects[e] @ [9, 1]
        b_t, a_tm1, loss = jnp.zeros(8), 0, {}
        for t in range(S):
            b_t = step(o_t[t], jnp.int32(a_tm1), b_t)
            where = np.asarray(locate(b_t), np.float64)[np.arange(2), cells[t]]
            np.testing.assert_allclose(audited.probe_loss[0, e, t], -np.log(where), rtol=1e-4)
            p = np.asarray(predict(b_t, jnp.asarray([a_t[t], a_t[min(t + 1, S - 1)]])), np.float64)
            for k in range(1, min(K, S - t) + 1):
                o, walls = o_t[t + k], p[k - 1, ..., 0]
                loss[t + k, t] = np.array(
                    [
                        -np.log(np.where(o[..., 0] == 1, walls, 1 - walls)).sum(),
                        *(
                            -np.log(
                                (p[k - 1, ..., c] * o[..., c]).sum() if o[..., c].any() else 1 - p[k - 1, ..., c].sum()
                            )
                            for c in (1, 2)
                        ),
                    ]
                )
            a_tm1 = a_t[t]
        expected = [np.zeros(3), *(loss[t + 1, t - 1] - loss[t + 1, t] for t in range(1, S))]
        np.testing.assert_allclose(audited.learned[0, e], expected, atol=2e-5)


def test_ideal_reward_floor_and_visits_are_those_of_the_same_episodes(audited, episodes):
    on_episode = make_reward("ideal-ndigo-1").on_episode
    assert on_episode is not None
    ideal = jax.jit(jax.vmap(partial(on_episode(WORLD), None)))(episodes.a_t, episodes.o_t)
    np.testing.assert_allclose(audited.ideal[0], ideal, atol=1e-5)
    # What a perfect model pays for objects does not depend on how it writes the walls.
    np.testing.assert_allclose(audited.attainable[..., 1:], audited.ideal[..., 1:], atol=1e-5)
    np.testing.assert_array_equal(audited.is_visible[0], episodes.o_t[:, :S, ..., 1:].max(axis=(2, 3)) > 0)
    # An object in view is known for certain; both rooms have six cells, of which none is seen at first.
    assert audited.floor[audited.is_visible].max() == pytest.approx(0, abs=1e-5)
    assert audited.floor[:, :, 0].min() == pytest.approx(np.log(6), abs=1e-5)


def test_perfect_model_of_a_mixture_takes_the_walls_together(mind):
    """And so pays them by the marginal chance of the whole view; cell by cell they are paid for more than once."""
    minds, many, key = [mind, make_mind("mixture")], 100, jax.random.key(2)
    by_cell, whole = audit_policy(WORLD, REWARD, lambda mind: random_walker(WORLD), minds, key, many).attainable
    walk = jax.jit(jax.vmap(lambda key: rollout(WORLD, random_walker(WORLD), key)))(jax.random.split(key, many))
    exact = jax.jit(jax.vmap(pay_exactly(REWARD, WORLD, lambda nats: nats.channels)))
    np.testing.assert_allclose(whole, exact(walk.a_t, walk.o_t)[0], atol=1e-4)
    np.testing.assert_allclose(whole[..., 1:], by_cell[..., 1:], atol=1e-4)
    assert np.abs(by_cell[..., 0]).sum() > 1.5 * np.abs(whole[..., 0]).sum() > 0


def test_a_seeker_passes_what_stands_in_its_way_and_stays_where_it_finds_what_it_seeks():
    """Through a room of three rows whose fixed object may stand anywhere, to one that stands in the last."""
    drawing = """
##############
#AAA#BBB#CCCC#
#APA BBB CCCC#
#AAA#BBB#CCCC#
##############
"""
    things = [Object("post", "fixed", ("b",), avoids_mouths=True), Object("lamp", "fixed", ("c",))]
    layout = read_layout(drawing, {"A": "a", "B": "b", "C": "c"})
    world = grid_world("passage", layout, things, view=3, num_steps=60)
    walk = jax.jit(jax.vmap(lambda key: rollout(world, seeker_of(world, "lamp"), key)))
    episodes = walk(jax.random.split(jax.random.key(0), 100))
    sees_lamp = np.asarray(episodes.o_t[..., 2]).max(axis=(2, 3)) > 0
    assert sees_lamp[:, -1].all()  # whatever stood in the way
    post = np.asarray(episodes.truth_t.objects[:, 0, 0])
    assert (post == (2, 6)).all(axis=1).any()  # on the straight way in some of them
    first = sees_lamp.argmax(axis=1)
    assert all(sees_lamp[e, first[e] :].all() for e in range(100))  # and from then on


def test_seekers_find_what_they_seek(mind):
    found = audit_seekers(WORLD, REWARD, None, jax.random.key(0), 4)
    assert list(found) == ["fixed", "brownian"]
    for i, seen in enumerate(found.values()):
        assert seen.is_visible[0, :, :, i].any(axis=1).all()
        assert not seen.is_visible[0, :, :, 1 - i].any()
        assert seen.learned is None


def test_agents_policy_is_greedy_in_its_own_network(mind):
    agent = mind.policy(WORLD, REWARD, as_it_is)
    o_t = jax.jit(lambda key: WORLD.observe(WORLD.reset(key)))(jax.random.key(0))
    state, h_t, a_t = agent.start(jax.random.key(0)), jnp.zeros(8), jnp.int32(0)
    step, act = jax.jit(lambda *frame: mind.agent.core.step(*frame)), jax.jit(agent.act)
    for _ in range(2):
        h_t = step(o_t, a_t, h_t)
        a_t, state = act(o_t, a_t, state)
        assert int(a_t) == int(jax.jit(lambda h_t: mind.agent.heads(h_t))(h_t).argmax())


def once(function):
    """Gives its first answer to every call."""
    answers = []

    def ask(*arguments):
        if not answers:
            answers.append(function(*arguments))
        return answers[0]

    return ask


@pytest.fixture
def trained(mind, monkeypatch) -> Trained:
    """`ndigo audit here` finds the untrained networks."""
    config = preset("cpu", num_ahead=K, reward="ndigo-1", world="<tiny>")
    params = jax.tree.map(lambda x: jnp.asarray(np.asarray(x)[None]), mind)
    trained = Trained(settings_of(config, WORLD, REWARD), config, WORLD, REWARD, params)
    monkeypatch.setattr("ndigo.commands.audit.load_trained", lambda path, **_: trained)
    return trained


def test_command_prints_tables_verdict_and_json_and_draws_the_figure(trained, tmp_path, monkeypatch, capsys):
    for name in ("audit_policy", "audit_seekers"):  # the same for both forms of what is said
        monkeypatch.setattr(audit_command, name, once(getattr(audit_command, name)))
    words = ["audit", "here", "--episodes", "3", "--policy", "random", "--out", str(tmp_path / "figures" / "a.png")]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [line["name"] for line in printed["pay"]] == ["all", "walls", "fixed", "brownian"]
    assert [line["name"] for line in printed["known"]] == ["fixed", "brownian"]
    assert printed["reward"] == "ndigo-1"
    assert len(printed["pay"][0]["learned"]) == 3
    assert (tmp_path / "figures" / "a.png").stat().st_size > 10_000
    assert main(words) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.split("figure:")[0].splitlines()[2:])) <= 80  # below the line that names the file
    conclusion = out[: out.index("reward, nats per episode")]  # before every table
    assert " ".join(printed["verdict"].split()) in " ".join(conclusion.split())
    assert all(f"{column}:" in out for column in ("learned", "perfect model", "bias", "by definition", "lost"))
    assert out.endswith(f"figure: {tmp_path}/figures/a.png\n")


def test_a_likelihood_whose_perfect_model_is_not_known_is_refused(trained, monkeypatch, capsys):
    other = dataclasses.replace(trained, config=dataclasses.replace(trained.config, likelihood="bernoulli"))
    monkeypatch.setattr("ndigo.commands.audit.load_trained", lambda path, **_: other)
    assert main(["audit", "here"]) == 2
    assert (
        capsys.readouterr().err == "ndigo: here has likelihood bernoulli: only categorical and mixture can be audited\n"
    )


def test_a_world_without_a_map_is_refused_by_what_can_be_audited(trained, monkeypatch, capsys):
    other = dataclasses.replace(trained, world=two_arms())
    monkeypatch.setattr("ndigo.commands.audit.load_trained", lambda path, **_: other)
    assert main(["audit", "here"]) == 2
    said = f"here: only grid worlds with objects can be audited; world {other.world.name} is none"
    assert capsys.readouterr().err == f"ndigo: {said}\n"


def test_episodes_that_end_by_themselves_are_refused_for_what_comes_after_them_means_nothing(
    trained, monkeypatch, capsys
):
    ending = dataclasses.replace(WORLD, name="ending", ends=lambda state: (state.agent < 0, state.agent < 0))
    other = dataclasses.replace(trained, world=ending)
    monkeypatch.setattr("ndigo.commands.audit.load_trained", lambda path, **_: other)
    assert main(["audit", "here"]) == 2
    said = "here: only episodes of one length can be audited; those of ending end earlier"
    assert capsys.readouterr().err == f"ndigo: {said}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--reward", "icm"], "--reward icm: it has no ideal to compare with"),
        (["--reward", "ndigo-4"], "reward ndigo-4 looks 5 steps ahead, and this agent's model 2"),
        (["--episodes", "1"], "--episodes 1: must be from 2"),
    ],
)
def test_what_cannot_be_judged_is_one_line(trained, words, message, capsys):
    assert main(["audit", "here", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"ndigo: {message}")


def test_what_is_neither_there_nor_an_experiment_names_the_nearest(capsys):
    assert main(["audit", "expp1"]) == 2
    assert capsys.readouterr().err.endswith("nearest: exp1; known: exp1, exp2, exp3, exp4, exp5\n")
