"""`ndigo evaluate` and `ndigo discover`: rows beside Random's and the paper's."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import sys

import numpy as np
import pytest
from tiny_runs import TINY

import ndigo
from ndigo.cli import main
from ndigo.commands.discover import called_as, closing, shipped_agent
from ndigo.commands.evaluate import basis
from ndigo.paper.conclusion import conclusion
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.report.statistics import Estimate
from ndigo.report.tables import Line, line_of

# Experiment 1 with the smallest networks; shared by all tests here, because maps take long to compile.
SMALL = {**TINY, "seeds": 1, "window": 100, "learner_steps": 4}


@pytest.fixture(scope="module")
def exp1_run(tmp_path_factory) -> ndigo.Run:
    return ndigo.train("exp1", "ndigo-4", out=tmp_path_factory.mktemp("exp1") / "run", quiet=True, **SMALL)


def test_a_run_of_two_seeds_has_intervals_over_seeds(finished, capsys):
    assert main(["evaluate", str(finished.path), "--episodes", "6", "--trust", "custom_world"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        f"{finished.path}: custom_world:world, mean and the lowest to the highest (too few for 95%) over 2 seeds of 6"
    )
    expected = np.asarray(finished.evaluate(6).visits).mean()
    (row,) = re.findall(r"^  ndigo-1 +(\S+)", out, re.MULTILINE)
    assert float(row) == pytest.approx(expected, abs=0.05)
    assert "paper" not in out  # it prints nothing of this world


def test_one_seed_has_intervals_over_episodes_and_says_so_beside_the_papers_row(exp1_run, capsys):
    assert main(["evaluate", str(exp1_run.path), "--episodes", "5"]) == 0
    out = capsys.readouterr().out
    assert "one seed: mean and 95% bootstrap interval over its 5 episodes, not over seeds" in out
    assert re.search(r"^  paper: ndigo-4 +300\.4 ± 22\.2 +40\.8 ± 9\.7", out, re.MULTILINE)
    losses = np.asarray(exp1_run.evaluate(5).discovery_loss)[0].mean(axis=0)
    shown = re.findall(r"^  ndigo-4 .* (\d\.\d\d)(?: \(\S+\))?$", out, re.MULTILINE)
    np.testing.assert_allclose([float(x) for x in shown], losses, atol=0.006)


def test_one_episode_is_no_episodes_and_has_no_interval():
    assert basis(1, 1) == "one episode of one seed"
    assert basis(5, 1) == "mean and 95% bootstrap interval over 5 seeds of 1 episode"


def test_an_agents_file_evaluates_like_its_run(exp1_run, tmp_path, capsys):
    path = exp1_run.export_agent(tmp_path / "agent.safetensors")
    assert main(["evaluate", str(path), "--episodes", "5"]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: exp1, one seed")


def test_numbers_as_json_are_those_of_each_seed(finished, capsys):
    assert main(["evaluate", str(finished.path), "--episodes", "6", "--json", "--trust", "custom_world"]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = finished.evaluate(6)
    for name in ("visits", "first_visit", "frequency", "discovery_loss"):
        np.testing.assert_allclose(printed[name], np.asarray(getattr(result, name)).mean(axis=1))
    assert np.shape(printed["visits"]) == (2, len(printed["in_view"]))
    assert (printed["episodes"], printed["reward"]) == (6, "ndigo-1")


def test_discover_shows_the_shipped_agent_first_and_then_trains_one(exp1_run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = ndigo.Config(**{k: v for k, v in SMALL.items() if k != "preset"})
    monkeypatch.setitem(ndigo.PRESETS, "cpu", dataclasses.replace(small, learner_steps=1000))
    exp1_run.export_agent(tmp_path / "results" / "agents" / "exp1-ndigo-4.safetensors")
    assert main(["discover", "--minutes", "0.00001", "--episodes", "5", "--out", "run"]) == 0
    out = capsys.readouterr().out
    shipped, trained = out.split("Now one is trained here, from scratch.")
    assert "results/agents/exp1-ndigo-4.safetensors, one seed" in shipped
    for part, label in ((shipped, "shipped"), (trained, "yours")):
        labels = re.findall(r"^  (\S.*?)  +[\d.]+", part, re.MULTILINE)
        assert labels == ["random walker", label, "paper: random", "paper: ndigo-4"] * 2
    last = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    took = f"In {last['seconds'] / 60:.2g} min it"  # not what was asked for: a chunk that is begun is finished
    assert trained.index(took) < trained.index("random walker  ")  # the conclusion before its table
    seen = r"seen in (\d+% of episodes, first at step \d+|no episode) \(random walker: \d+%, step \d+\)\.$"
    assert re.search(rf"^{took} did not yet learn to find fixed: {seen}", trained, re.MULTILINE)
    assert re.search(
        r"^It knows the place to \d\.\d\d nats, where 3\.87 knows the room and 0 the cell\.", trained, re.M
    )
    assert "curves: run/curves.png" in trained
    assert (tmp_path / "run" / "curves.png").stat().st_size > 10_000
    assert trained.endswith("\n4 of the preset's 1,000 steps; to go on: ndigo train --resume run\n")


def test_the_shipped_agent_is_the_longest_horizons_also_beside_rewards_without_one(tmp_path):
    rewards = ("pe", "ndigo-sum", "ndigo-1", "ndigo-10", "ndigo-2")
    experiment = dataclasses.replace(EXPERIMENTS["exp1"], rewards=rewards)
    for name in ("ndigo-sum", "ndigo-1", "ndigo-10"):
        (tmp_path / f"exp1-{name}.safetensors").touch()
    assert shipped_agent(tmp_path, experiment, "ndigo-2") == tmp_path / "exp1-ndigo-10.safetensors"
    assert shipped_agent(tmp_path, experiment, "ndigo-sum") == tmp_path / "exp1-ndigo-sum.safetensors"


SAID = r"seen in (?:(\d+)% of episodes, first at step (\d+)|no episode), and known to ([\d.]+) nats"


def test_how_to_go_on_names_a_command_that_the_shell_finds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for called, is_on_path, expected in (
        (".venv/bin/ndigo", False, ".venv/bin/ndigo"),
        (os.path.abspath(".venv/bin/ndigo"), False, ".venv/bin/ndigo"),
        (".venv/bin/ndigo", True, "ndigo"),
        ("/usr/lib/ndigo/__main__.py", False, "ndigo"),
    ):
        monkeypatch.setattr(sys, "argv", [called])
        monkeypatch.setattr(shutil, "which", lambda name, there=is_on_path: "/bin/ndigo" if there else None)
        assert called_as() == expected


def test_a_second_name_behind_trust_is_told_how_it_is_given(capsys):
    assert main(["evaluate", "run", "--trust", "cnt", "rew"]) == 2
    said = "rew is more than ndigo evaluate takes; --trust takes one value, give it again: --trust rew; see ndigo evalu"
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_conclusion_stands_before_the_table_and_tells_its_means(exp1_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["evaluate", str(exp1_run.path), "--episodes", "5"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[2].endswith(" knows the room and 0 the cell.")  # whole, where no terminal would break it
    said = " ".join(out[: out.index("visits")].split())
    ((seen, first, loss),) = re.findall(SAID, said)
    result = exp1_run.evaluate(5)
    expected = [np.asarray(x)[0, :, 0].mean() for x in (result.frequency, result.first_visit, result.discovery_loss)]
    assert float(seen or 0) == pytest.approx(100 * expected[0], abs=0.51)
    assert float(first or 400) == pytest.approx(expected[1], abs=0.51)  # what no episode saw has no first visit
    assert float(loss) == pytest.approx(expected[2], abs=0.006)
    table = out[out.index("visits") :]
    assert max(map(len, table.splitlines())) <= 80
    assert "…" not in table


@pytest.mark.parametrize(("loss", "verb"), [(1.9, "discovers"), (2.0, "does not discover")])
def test_discovered_is_what_is_known_better_than_half_of_its_room(loss, verb):
    """Experiment 1's room has 48 cells: half of ln 48 is 1.94 nats."""
    line = agent_row(Estimate(20, 19, 21), 99, loss)
    assert conclusion(line, EXPERIMENTS["exp1"]).startswith(f" {verb} fixed: seen in 99% of episodes")


@pytest.mark.parametrize(
    ("step", "verb"),
    [(1536, "did not yet learn to find fixed in 1,536 of 11,520 steps"), (11520, "does not discover fixed")],
)
def test_a_run_that_has_not_ended_is_not_judged_as_one_that_has(step, verb):
    world = {"in_view": ["fixed"], "objects": ["fixed"]}
    settings = {"world": world, "reward": "ndigo-2", "config": {"learner_steps": 11_520}}
    measured = {"frequency": [[0.4]], "first_visit": [[300.0]], "visits": [[2.0]], "discovery_loss": [[2.0]]}
    line = line_of("ndigo-2", settings, {metric: np.array(x) for metric, x in measured.items()}, step)
    assert conclusion(line, EXPERIMENTS["exp1"]).startswith(f"ndigo-2 {verb}: seen in 40% of episodes")


def test_a_world_without_names_has_a_sentence_without_numbers():
    line = Line("pe", "pe", {"visits": {}, "first_visit": {}, "frequency": {}})
    assert conclusion(line, None) == "pe: its world names nothing that could be seen."


def test_a_folder_of_agents_is_answered_with_their_names(exp1_run, tmp_path, capsys):
    for name in ("a.safetensors", "b.safetensors"):
        exp1_run.export_agent(tmp_path / name)
    assert main(["evaluate", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert f"{tmp_path} is a folder of 2 runs or agents; name one" in err
    assert err.endswith("a.safetensors, b.safetensors\n")


def agent_row(first: Estimate, share: float, loss: float) -> Line:
    values = {"first_visit": first, "frequency": Estimate(share, share, share), "discovery_loss": Estimate(loss, 0, 9)}
    values["visits"] = Estimate(61, 50, 70)
    noise = Estimate(share / 5, 0, 99)
    return Line("", "", {metric: {"fixed": estimate, "noise": noise} for metric, estimate in values.items()})


def test_discover_closes_with_what_was_learned_and_how_it_compares():
    walker = agent_row(Estimate(320, 310, 330), 31, 0)
    found = agent_row(Estimate(21.4, 18, 25), 99.6, 1.936)
    assert closing(found, walker, EXPERIMENTS["exp1"], 5.0) == (
        "In 5 min it learned to find fixed: seen in 100% of episodes, first at step 21 "
        "(random walker: 31%, step 320).\n"
        "It knows the place to 1.94 nats, where 3.87 knows the room and 0 the cell. "
        "A located object pays nothing, so its visits say little. "
        "The noise is in view for 20 steps per episode (random walker: 6)."
    )
    assert closing(found, walker, EXPERIMENTS["exp1"], 119.96).startswith("In 120 min it learned")
    late = agent_row(Estimate(290, 260, 311), 40, 3.8)  # the intervals meet
    assert "it did not yet learn to find fixed: seen in 40%" in closing(late, walker, EXPERIMENTS["exp1"], 5.0)


def test_what_no_episode_saw_has_no_first_visit():
    """Its numbers are reckoned with the episode's length, 400, which is no step at which anything was seen."""
    never, walker = agent_row(Estimate(400, 400, 400), 0, 4.65), agent_row(Estimate(320, 310, 330), 31, 0)
    told = closing(never, walker, EXPERIMENTS["exp1"], 1.0)
    assert "did not yet learn to find fixed: seen in no episode (random walker: 31%, step 320)." in told
    assert " does not discover fixed: seen in no episode, and known to 4.65 nats" in conclusion(
        never, EXPERIMENTS["exp1"]
    )


def test_of_several_objects_each_is_told_by_its_name():
    """No mean says that a lamp that nobody saw was seen in half of the episodes, at step 30 of 60."""
    lamp, tv = Estimate(60, 60, 60), Estimate(0.4, 0, 1)
    values = {"first_visit": {"lamp": lamp, "tv": tv}, "visits": {"lamp": Estimate(0, 0, 0), "tv": Estimate(9, 8, 10)}}
    values |= {"frequency": {"lamp": Estimate(0, 0, 0), "tv": Estimate(100, 100, 100)}}
    told = conclusion(Line("pe", "pe", values), None)
    assert told == "pe: lamp seen in no episode; tv seen in 100% of episodes, first at step 0."
    values |= {"discovery_loss": {"lamp": Estimate(0.1, 0, 1), "tv": Estimate(2.38, 2, 3)}}
    told = conclusion(Line("pe", "pe", values), None)
    assert told == (
        "pe: lamp seen in no episode, and known to 0.10 nats; tv seen in 100% of episodes, first at step 0, "
        "and known to 2.38 nats; 0 would be certain."
    )
    names = "upper", "lower", "noise"
    walker = Line("", "", {m: {n: Estimate(x, x, x) for n in names} for m, x in FIRST_AND_SHARE.items()})
    losses = {"discovery_loss": {"upper": Estimate(1.0, 0, 2), "lower": Estimate(4.0, 3, 5)}}
    told = conclusion(Line("pe", "pe", {**walker.values, **losses}), EXPERIMENTS["exp3"])
    assert told.count("known to") == 2
    assert "step 320, and known to 4.00 nats; on average 2.50, where " in told
    told = closing(walker, walker, EXPERIMENTS["exp3"], 5.0)
    assert "upper seen in 31% of episodes, first at step 320; lower seen in 31%" in told
    assert "(random walker: 31%, step 320; 31%, step 320)" in told


FIRST_AND_SHARE = {"first_visit": 320, "frequency": 31, "discovery_loss": 3.0, "visits": 21}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "nowhere"], "nowhere does not exist; name a run's folder or an agent's file"),
        (["evaluate", "notes.txt"], "notes.txt cannot be read as an agent: it is no safetensors file, or a damaged"),
        (
            ["evaluate", "note.txt"],
            "note.txt does not exist; name a run's folder or an agent's file (nearest: notes.txt)",
        ),
        (["evaluate", "."], ". is not a run: it has no config.json"),
        (["evaluate", "nowhere", "--episodes", "0"], "--episodes 0: must be from 1 to"),
        (["discover", "exp9"], "unknown experiment 'exp9'"),
        (["discover", "--minutes", "0"], "--minutes 0.0: must be above 0"),
        (["discover", "--out", "notes.txt"], "notes.txt is a file; --out must name a folder"),
    ],
)
def test_bad_input_gets_one_line_and_code_2(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("not an agent, but long enough to have a header")
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"ndigo: {message}")
