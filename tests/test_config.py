"""Settings: what the presets promise and what is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from ndigo.config import PRESETS, Config, preset
from ndigo.errors import NdigoError

# The appendix of the paper, read from its text; K, H and likelihood corrections stand in docs/deviations.md.
APPENDIX = {
    "predictor": "mlp",
    "num_ahead": 10,
    "belief_size": 128,
    "num_features": 256,
    "predictor_hidden": 64,
    "head_hidden": 128,
    "probe_hidden": 64,
    "model_rate": 5e-4,
    "agent_rate": 1e-4,
    "probe_rate": 5e-4,
    "batch": 256,
    "window": 100,
    "gamma": 0.99,
    "lambda_": 0.97,
    "target_period": 1024,
    "actors": 100,
    "updates_per_round": 100,
    "replay_steps": 1_000_000,
    "seeds": 10,
}


def test_paper_preset_holds_the_numbers_of_the_appendix():
    ours = dataclasses.asdict(PRESETS["paper"])
    assert {name: ours[name] for name in APPENDIX} == APPENDIX


def test_deviations_list_every_setting_in_which_the_rows_are_not_the_papers():
    """The table "Settings" of docs/deviations.md: name, the paper's value, ours."""
    text = (Path(__file__).parents[1] / "docs" / "deviations.md").read_text()
    section = text.split("## Settings")[1].split("\n## ")[0]
    rows = [line.split("|")[1:4] for line in section.splitlines() if line.startswith("| `")]
    listed = {name.strip(" `"): (theirs.strip(), ours.strip()) for name, theirs, ours in rows}
    paper, ours = (dataclasses.asdict(PRESETS[name]) for name in ("paper", "gpu"))
    assert listed == {name: (str(paper[name]), str(ours[name])) for name in paper if paper[name] != ours[name]}


def test_cpu_preset_trains_one_seed():
    assert PRESETS["cpu"].seeds == 1


def test_preset_takes_changes_and_leaves_the_rest():
    config = preset("cpu", reward="pe", batch=7)
    assert (config.reward, config.batch) == ("pe", 7)
    assert dataclasses.replace(config, reward="ndigo-2", batch=PRESETS["cpu"].batch) == PRESETS["cpu"]


def test_settings_cannot_change_during_a_run():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().batch = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "batch 0: must be at least 1"),
        ({"batch": 2.5}, "batch 2.5: must be a whole number"),
        ({"batch": True}, "batch True: must be a whole number"),
        ({"belief_size": 10**20}, "belief_size 100000000000000000000: must be at most 65536"),
        ({"longest_stretch": 10**9}, "longest_stretch 1000000000: must be at most 100000"),
        ({"learner_steps": 2**31}, "learner_steps 2147483648: must be at most 2147483647"),
        ({"seed": -1}, "seed -1: must be at least 0"),
        ({"seed": 2**32}, "seed 4294967296: must be at most 4294967295"),
        ({"world": 5}, "world 5: must be text"),
        ({"reward": None}, "reward None: must be text"),
        ({"gamma": "high"}, "gamma 'high': must be a number"),
        ({"num_ahead": -1}, "num_ahead -1: must be at least 1"),
        ({"model_rate": 0.0}, "model_rate 0.0: a learning rate must be above 0"),
        ({"model_rate": float("inf")}, "model_rate inf: a learning rate must be above 0, and finite"),
        ({"agent_rate": float("nan")}, "agent_rate nan: a learning rate must be above 0"),
        ({"gamma": 1.5}, "gamma 1.5: must lie between 0 and 1"),
        ({"lambda_": -0.1}, "lambda_ -0.1: must lie between 0 and 1"),
        ({"first_epsilon": 1.1}, "first_epsilon 1.1: must lie between 0 and 1"),
        ({"last_epsilon": float("nan")}, "last_epsilon nan: must lie between 0 and 1"),
        ({"plain": 1}, "plain 1: must be true or false"),
        ({"longest_stretch": 0}, "longest_stretch 0: must be at least 1"),
    ],
)
def test_impossible_setting_is_one_clear_error(change, message):
    with pytest.raises(NdigoError, match=message):
        preset("cpu", **change)


def test_seeds_are_those_of_a_key_of_32_bits():
    assert Config(seed=0).seed == 0
    assert Config(seed=2**32 - 1).seed == 2**32 - 1


def test_unknown_preset_and_setting_name_the_nearest():
    with pytest.raises(NdigoError, match=r"unknown preset 'gpus'; nearest: gpu; known: cpu, gpu, paper"):
        preset("gpus")
    with pytest.raises(NdigoError, match=r"unknown setting 'horizont'; .*ndigo train --help-all lists all \d+$"):
        preset("cpu", horizont=3)


def test_every_setting_says_what_it_is():
    """The command line shows these lines."""
    import inspect

    source = inspect.getsource(Config)
    for field in dataclasses.fields(Config):
        after = source.split(f"    {field.name}: ", 1)[1].split("\n")[1]
        assert after.strip().startswith('"""'), field.name
