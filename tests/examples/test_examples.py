"""The examples are short, and run."""

import ast
import runpy
from pathlib import Path

import belief_as_representation
import jax
import purejaxrl_ppo
import pytest
from probe_worlds import two_arms
from tiny_runs import EXAMPLES, FLAGS, TINY, WORLD

import ndigo
from ndigo.cli import main
from ndigo.config import preset
from ndigo.interop.gymnax import GymnaxWorld
from ndigo.storage.run_folder import RunFolder

LONGEST = {"custom_world.py": 40, "custom_reward.py": 30, "ndigo_in_one_file.py": 401}

SIZES = {"belief_size": 16, "num_features": 16, "num_filters": 4, "predictor_hidden": 32, "num_ahead": 2}
RATES = {"window": 8, "batch": 16, "model_rate": 1e-2, "updates_per_round": 4, "replay_steps": 4000}
SMALL = preset("cpu", **SIZES, **RATES)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short(path):
    assert len(path.read_text().splitlines()) < LONGEST.get(path.name, 60)


def packages_of(name: str) -> set[str]:
    """What an example imports, and what the examples that it imports do."""
    found = set()
    for node in ast.walk(ast.parse((EXAMPLES / f"{name}.py").read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            found |= {name.split(".")[0] for name in names}
    return found.union(*(packages_of(other) for other in found if (EXAMPLES / f"{other}.py").exists()))


def test_the_loop_in_pytorch_needs_no_stable_baselines3():
    assert {"torch", "minigrid", "ndigo"} <= packages_of("cleanrl_ppo")
    assert "stable_baselines3" in packages_of("sb3_recurrent_ppo")
    assert "stable_baselines3" not in packages_of("cleanrl_ppo")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["custom_world", "custom_reward"])
def test_an_example_runs_as_a_script(name, tmp_path, monkeypatch, capsys):
    """With the cpu preset made tiny: what is tested is the script, not what the agent learns."""
    monkeypatch.chdir(tmp_path)
    tiny = {**TINY, "rounds_per_chunk": 10}  # one chunk is a whole tiny run
    monkeypatch.setitem(ndigo.PRESETS, "cpu", ndigo.Config(**{k: v for k, v in tiny.items() if k != "preset"}))
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    last = capsys.readouterr().out.splitlines()[-1]
    run = Path(last.split()[0])
    assert RunFolder.open(run).evaluations()


@pytest.mark.slow
def test_ppo_in_one_jit_is_led_by_curiosity_to_the_object_and_not_to_the_noise():
    """The object's symbol is worth ln 8 nats once it was seen; the noise, new at every step, nothing."""
    world, N, T = two_arms(), 16, 16
    curiosity = ndigo.curiosity("ndigo-1", world.frame, world.num_actions, SMALL)
    sizes = {"N": N, "T": T, "num_rollouts": 150, "rate": 1e-2, "gamma": 0.9}
    train = jax.jit(lambda key: purejaxrl_ppo.train(key, GymnaxWorld(world), curiosity, **sizes))
    nats, o_t = jax.device_get(train(jax.random.key(0)))
    noise, thing = o_t.reshape(150, -1, o_t.shape[-1]).mean(axis=1)[-20:, -2:].mean(axis=0)
    assert thing > 0.6 > 0.2 > noise
    assert nats[-20:].mean() > 0.1


@pytest.mark.slow
def test_a_belief_remembers_behind_which_door_the_light_was():
    """A frame that shows no light leaves two doors: it is right in two of three cases, at best."""
    right = belief_as_representation.main()
    assert right["frame"] < 0.75
    assert right["belief"] > 0.9


def test_a_reward_of_ones_own_is_named_on_the_command_line(tmp_path, capsys):
    words = ["--reward", "custom_reward:reward", "--out", str(tmp_path / "run"), "--minutes", "0.00001"]
    assert main(["train", WORLD, *FLAGS, *words]) == 0
    assert (tmp_path / "run" / "checkpoints" / "step_4").exists()
