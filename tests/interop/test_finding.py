"""Worlds by name, and experiments that build theirs when first asked."""

import dataclasses
import sys

import jax
import pytest

from ndigo.errors import NdigoError
from ndigo.interop.finding import find_world
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.rewards import make_reward


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiments_name_gives_its_world_with_the_options_asked_for(name):
    by_experiment = find_world(name, view=3, num_steps=7)
    by_world = find_world(EXPERIMENTS[name].world_name, view=3, num_steps=7)
    assert by_experiment.name == by_world.name == EXPERIMENTS[name].world.name
    assert by_experiment.shape == by_world.shape == (3, 3, EXPERIMENTS[name].world.shape[-1])
    assert by_experiment.num_steps == by_world.num_steps == 7


def test_an_unknown_name_lists_worlds_and_experiments_with_the_nearest():
    with pytest.raises(NdigoError, match=r"^unknown world or experiment 'mase'; nearest: maze; known: .*exp1.*; other"):
        find_world("mase")
    for name, suite in (("CartPole-v1", "gymnasium"), ("Navix-Empty-5x5-v0", "navix")):
        with pytest.raises(NdigoError, match=rf"^unknown world or experiment '{name}': did you mean {suite}::{name}$"):
            find_world(name)


@pytest.mark.parametrize("name", ["my_module", "my_module.py"])
def test_a_module_without_the_name_of_its_record_is_told_how_it_is_written(name, tmp_path, monkeypatch):
    """From the file that lies there, which is not run."""
    (tmp_path / "my_module.py").write_text("raise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NdigoError, match=r"; my_module\.py lies here: did you mean my_module:world$"):
        find_world(name)
    with pytest.raises(NdigoError, match=r"; my_module\.py lies here: did you mean my_module:reward$"):
        make_reward(name)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("there_is.py:world", "there_is:world"),
        ("there_is_none.py:world", "there_is_none:world"),
        ("maps/there_is.py:world", "there_is:world from the folder maps"),
    ],
)
def test_a_file_in_place_of_a_module_is_told_how_it_is_written(name, written, tmp_path, monkeypatch):
    (tmp_path / "there_is.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    with pytest.raises(NdigoError, match=rf"^world '{name}': .*; write {written}$"):
        find_world(name)


def test_a_suites_name_with_one_colon_is_told_of_the_other():
    with pytest.raises(NdigoError, match=r"a suite's worlds have two colons: gymnasium::CartPole-v1$"):
        find_world("gymnasium:CartPole-v1")


def test_a_world_first_asked_for_inside_jit_can_be_used_outside():
    experiment = dataclasses.replace(EXPERIMENTS["exp1"])  # a copy that has not built its world
    inside = jax.jit(lambda key: experiment.world.observe(experiment.world.reset(key)))(jax.random.key(0))
    outside = experiment.world.observe(experiment.world.reset(jax.random.key(0)))
    assert (inside == outside).all()
