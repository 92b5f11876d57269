"""From Python: agents that act, runs that are opened again, records of one's own."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import shutil
import subprocess
import sys

import custom_reward
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_runs import TINY, TRUST, train_tiny

import ndigo
from ndigo import frames
from ndigo.config import preset
from ndigo.errors import NdigoError
from ndigo.from_module import from_module
from ndigo.naming import default_path
from ndigo.storage import checkpoint
from ndigo.training.trained import from_file
from ndigo.worlds import Channel, World

TINY_MAP = {**TINY, "window": 5, "learner_steps": 4}  # for worlds drawn as maps, with episodes of 5 steps


def walk(agent, world, seed: int = 0) -> tuple[list[int], list[np.ndarray]]:
    """An episode stepped by hand: actions and beliefs."""
    keys = jax.random.split(jax.random.key(seed), world.num_steps + 1)
    reset, observe, step = map(jax.jit, (world.reset, world.observe, world.step))
    state, memory = reset(keys[0]), agent.start()
    actions, beliefs = [], []
    for key in keys[1:]:
        a_t, memory = agent.step(observe(state), memory)
        actions.append(a_t)
        beliefs.append(np.asarray(memory.b_t))
        state = step(key, state, a_t)
    return actions, beliefs


def test_a_loaded_agent_acts_greedily_on_its_own_unrolled_networks(finished):
    agent, world = ndigo.load(finished.path, seed=1, trust=TRUST), finished.world
    actions, beliefs = walk(agent, world)
    # The same episode in one go: the world replayed under those actions, the networks unrolled over it.
    keys = jax.random.split(jax.random.key(0), world.num_steps + 1)
    reset, observe, step = map(jax.jit, (world.reset, world.observe, world.step))
    state, frames = reset(keys[0]), []
    for key, a_t in zip(keys[1:], actions, strict=True):
        frames.append(observe(state))
        state = step(key, state, a_t)

    @jax.jit
    def unroll(params, o_t, a_tm1):
        model, q = params.model, params.agent
        b_t = model.core.unroll(model.core.encoder(o_t), a_tm1, jnp.zeros(model.core.size))
        h_t = q.core.unroll(q.core.encoder(o_t), a_tm1, jnp.zeros(q.core.size))
        return b_t, q.heads(h_t).argmax(axis=-1)

    b_t, best = unroll(agent.params, np.stack(frames), np.array([0, *actions[:-1]]))
    np.testing.assert_allclose(np.stack(beliefs), b_t, atol=1e-5)
    assert actions == best.tolist()


def test_two_seeds_are_two_agents_and_a_third_is_an_error(finished):
    weights = [np.asarray(finished.agent(seed).params.agent.core.gru.weight) for seed in (0, 1)]
    assert not np.allclose(weights[0], weights[1])
    with pytest.raises(NdigoError, match=r"^seed 2: there are seeds 0 to 1$"):
        ndigo.load(finished.path, seed=2, trust=TRUST)


def test_an_exported_agent_is_the_runs_agent_in_half_precision(finished, tmp_path):
    path = finished.export_agent(tmp_path / "agents" / "one.safetensors", seed=1)
    loaded = checkpoint.named_arrays(ndigo.load(path, trust=TRUST).params)
    for name, array in checkpoint.named_arrays(finished.agent(1).params).items():
        np.testing.assert_array_equal(loaded[name], array.astype(np.float16).astype(array.dtype))
    assert path.stat().st_size < (finished.path / "checkpoints" / "step_20" / "state.safetensors").stat().st_size / 4


def test_an_agents_file_that_is_exported_again_keeps_the_seed_it_was_trained_as(finished, tmp_path):
    once = finished.export_agent(tmp_path / "once.safetensors", seed=1)
    again = from_file(once, finished.config, finished.world, finished.reward).export(tmp_path / "again.safetensors")
    assert [ndigo.load(path, trust=TRUST).about["seed"] for path in (once, again)] == [1, 1]


def test_what_the_agent_predicts_are_probabilities_for_each_step_ahead(finished):
    agent = finished.agent()
    _, memory = agent.step(np.zeros(finished.world.shape, np.uint8), agent.start())
    predicted = agent.predict(memory, [0, 1])
    assert predicted.shape == (2, *finished.world.shape)
    assert ((predicted >= 0) & (predicted <= 1)).all()
    with pytest.raises(NdigoError, match="has no truth, so no probe was trained"):
        agent.believe(memory)


def test_evaluation_repeats_under_the_same_seed_and_counts_episodes(finished):
    first, again, other = finished.evaluate(7), finished.evaluate(7), finished.evaluate(7, seed=1)
    assert first.visits.shape == (2, 7, 1)  # seeds, episodes, objects
    assert first.discovery_loss.shape == (2, 7, 0)  # no truth, no probe
    np.testing.assert_array_equal(first.visits, again.visits)
    assert (np.asarray(first.visits) != other.visits).any()
    is_seen = np.asarray(first.visits) > 0
    np.testing.assert_array_equal(first.frequency, is_seen)
    np.testing.assert_array_equal(np.asarray(first.first_visit) < finished.world.num_steps, is_seen)


def test_a_map_of_ones_own_trains_with_a_probe_that_locates(tmp_path, capsys):
    layout = ndigo.worlds.read_layout("#####\n#Paa#\n#aaa#\n#####", {"a": "only"})
    ball = ndigo.worlds.Object("ball", "brownian", ("only",))
    world = ndigo.worlds.grid_world("cell", layout, [ball], view=3, num_steps=5)
    said = "world <cell> is a record made in Python: hand it over to go on, as ndigo.resume(path, world=...)"
    said += "; for commands, train MODULE:NAME\n"
    run = ndigo.train(world, "pe", out=tmp_path / "run", **TINY_MAP)
    assert capsys.readouterr().out.startswith(said)
    assert np.shape(run.metrics()[-1]["evaluation"]["discovery_loss"]) == (2, 1)
    agent = ndigo.load(run.path, world=world)
    first = jax.jit(lambda key: world.observe(world.reset(key)))(jax.random.key(0))
    _, memory = agent.step(first, agent.start())
    located = agent.believe(memory)
    assert located.shape == (1, 4, 5)  # objects, rows, columns
    assert located.sum() == pytest.approx(1.0, abs=1e-5)
    # Settings keep no code: the record has to be handed over again.
    with pytest.raises(NdigoError, match=r"^world <cell> was a record made in Python; hand it over again"):
        ndigo.load(run.path)


@pytest.mark.parametrize("kind", ["binary", "one_hot"])
def test_a_world_of_one_kind_of_channel_with_other_actions_trains(kind, tmp_path, capsys):
    """A lamp in a row of three cells, moved left or right by two actions."""
    lamp = ndigo.World(
        name="lamp",
        frame=frames.bits([Channel("lamp", kind)], 3),
        actions=("left", "right"),
        num_steps=6,
        reset=lambda key: jax.random.randint(key, (), 0, 3),
        step=lambda key, cell, a_t: jnp.clip(cell + 2 * a_t - 1, 0, 2),
        observe=lambda cell: (jnp.arange(9).reshape(3, 3, 1) == 3 + cell).astype(jnp.uint8),
    )
    run = ndigo.train(lamp, "ndigo-1", out=tmp_path / "run", quiet=True, **{**TINY_MAP, "window": 6})
    assert capsys.readouterr().out == ""
    line = run.metrics()[-1]
    assert np.shape(line["evaluation"]["visits"]) == (2, 1 if kind == "one_hot" else 0)
    assert np.isfinite(line["learning"]["model_loss"]).all()
    assert set(walk(run.agent(), lamp)[0]) <= {0, 1}


def test_an_experiments_own_record_and_reward_keep_their_names(tmp_path):
    run = ndigo.api.create_run(ndigo.EXPERIMENTS["exp2"].world, ndigo.REWARDS["pe"], preset="cpu", out=tmp_path / "run")
    assert (run.config.world, run.config.reward) == ("exp2", "pe")
    assert ndigo.open_run(run.path).world is ndigo.EXPERIMENTS["exp2"].world


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (
            "custom_wrld:world",
            r"^world 'custom_wrld:world': there is no module 'custom_wrld'; run from",
        ),
        (
            "custom_world:wrld",
            r"^world 'custom_world:wrld': module custom_world \(\S+/custom_world.py\) has no 'wrld'; it has world$",
        ),
        ("custom_world:NUM_DOORS", r"^world 'custom_world:NUM_DOORS': expected a record of World, got int$"),
        ("exp9", r"^unknown world or experiment 'exp9'"),
        (":world", r"^world ':world': '' is no module's name; write MODULE:NAME$"),
        ("..:world", r"^world '..:world': '..' is no module's name; write MODULE:NAME$"),
    ],
)
def test_a_world_that_is_not_there_is_one_line(world, message, tmp_path):
    with pytest.raises(NdigoError, match=message):
        train_tiny(tmp_path / "run", world=world)


def test_unknown_settings_and_presets_list_the_known(tmp_path):
    with pytest.raises(NdigoError, match=r"^unknown setting 'batches'; nearest: batch; ndigo train --help-all lists"):
        ndigo.train("exp1", batches=3)
    for named in (lambda **settings: ndigo.train("exp1", **settings), lambda **settings: preset("cpu", **settings)):
        with pytest.raises(
            NdigoError, match=r"^unknown setting 'learning_rate'; nearest: model_rate, agent_rate, probe_"
        ):
            named(learning_rate=1e-3)
    with pytest.raises(NdigoError, match=r"^unknown setting 'minute'; nearest: minutes; "):
        ndigo.train("exp1", minute=1)
    with pytest.raises(NdigoError, match=r"^unknown experiment 'exp9'; nearest: exp5; known: exp1, "):
        ndigo.EXPERIMENTS["exp9"]
    with pytest.raises(NdigoError, match=r"^unknown preset 'laptop'; known: cpu, gpu, paper"):
        ndigo.train("exp1", preset="laptop")


def test_what_is_no_world_reward_or_number_is_one_line(tmp_path):
    for world in (custom_reward, 3):
        with pytest.raises(NdigoError, match=r"^world is a \w+, expected a name, such as exp1, or a record of World$"):
            ndigo.train(world, "ndigo-2", out=tmp_path / "run")  # type: ignore[arg-type]
    with pytest.raises(
        NdigoError, match=r"or a record of World; from_gymnasium\(lambda: env\) of ndigo\.interop\.suites makes"
    ):
        ndigo.train(gymnasium.Env(), "ndigo-2", out=tmp_path / "run")  # type: ignore[arg-type]
    with pytest.raises(
        NdigoError, match=r"^world 'gymnasium:Env': expected a record of World, got Env; .*from_gymnasium"
    ):
        from_module("gymnasium:Env", "world", World)
    with pytest.raises(NdigoError, match=r"^reward is a int, expected a name, such as ndigo-2, or a record of Intrins"):
        ndigo.train("exp1", reward=3, out=tmp_path / "run")  # type: ignore[arg-type]
    with pytest.raises(NdigoError, match=r"^minutes is '1', expected a number$"):
        ndigo.train("exp1", minutes="1", out=tmp_path / "run")  # type: ignore[arg-type]
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"world": "maze"}, "world 'maze' is a name, expected a record"),
        ({"reward": "pe"}, "reward 'pe' is a name, expected a record"),
        ({"seed": "0"}, "seed '0': there are seeds 0 to 1"),
        ({"trust": None}, r"trust None: expected a list of modules' names, such as \['my_module'\]"),
        ({"trust": [3]}, "trust '3': no module has such a name"),
    ],
)
def test_what_is_no_record_seed_or_list_is_one_line_where_an_agent_is_opened(options, says, finished):
    with pytest.raises(NdigoError, match=f"^{says}"):
        ndigo.load(finished.path, **{"trust": TRUST} | options)


def test_what_is_no_mesh_or_list_of_logs_is_one_line(tmp_path):
    for logs in (None, "wandb"):
        with pytest.raises(NdigoError, match=rf"^logs {logs!r}: expected a list of names, such as \['tensorboard'\]"):
            ndigo.train("exp1", out=tmp_path / "run", logs=logs, **TINY)  # type: ignore[arg-type]
    with pytest.raises(NdigoError, match=r"^mesh 4: expected text, such as 'seeds=4,data=2'"):
        ndigo.train("exp1", out=tmp_path / "run", mesh=4, **TINY)  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda run: ndigo.train("exp1", out="", **TINY),
        lambda run: ndigo.resume(""),
        lambda run: ndigo.open_run(""),
        lambda run: ndigo.load(""),
        lambda run: run.export_agent(""),
    ],
    ids=["train", "resume", "open_run", "load", "export_agent"],
)
def test_an_empty_path_is_one_line_and_no_folder(call, finished, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NdigoError, match=r"^the path is empty: name a file or a folder$"):
        call(finished)
    assert list(tmp_path.iterdir()) == []


def test_a_run_whose_metrics_are_lost_says_so_and_is_not_taken_for_one_that_has_not_begun(finished, tmp_path):
    shutil.copytree(finished.path, tmp_path / "run")
    (tmp_path / "run" / "metrics.jsonl").write_bytes(b"")
    run = ndigo.open_run(tmp_path / "run", trust=TRUST)
    for read in (run.metrics, run.rows, run.plot):
        with pytest.raises(NdigoError, match=r"metrics\.jsonl has lost the line of step 20"):
            read()


def test_training_says_at_once_what_begins_and_that_it_compiles(tmp_path, capsys):
    out = tmp_path / "run"
    tiny = {**TINY, "learner_steps": 4, "out": out}
    ndigo.train("custom_world:world", "ndigo-1", minutes=0.5, **tiny)
    first = capsys.readouterr().out.splitlines()[0]
    assert first == f"ndigo-1 in custom_world:world for 0.5 min, in {out}; compiling first, up to a minute"


def test_a_run_has_a_name_of_its_own_when_none_is_given(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    config = dataclasses.replace(ndigo.PRESETS["cpu"], world="my.module:world", reward="<mine>")
    first = default_path(config)
    assert first.match("runs/my.module-world-mine-*")
    first.mkdir(parents=True)
    assert default_path(config) != first


def test_a_reward_of_ones_own_pays_by_channel(tmp_path):
    run = train_tiny(tmp_path / "run", reward=custom_reward.reward)
    split = np.asarray(run.metrics()[-1]["learning"]["reward_c"])
    assert (split[:, 0] == 0).all()  # the first channel pays nothing
    assert (split[:, 1:] > 0).all()
    with pytest.raises(NdigoError, match=r"^reward <object-surprise> was a record made in Python"):
        ndigo.open_run(run.path, trust=TRUST)


def test_python_finds_every_public_name_where_type_checkers_do():
    lines = [node for node in ast.walk(ast.parse(inspect.getsource(ndigo))) if isinstance(node, ast.ImportFrom)]
    homes = {name.asname: str(line.module) for line in lines for name in line.names if name.asname}
    assert set(homes) == set(ndigo._HOME_OF)
    for name, home in homes.items():
        assert ndigo.__getattr__(name) is getattr(importlib.import_module(home), name)


DOTTED = (
    *("config.preset", "curiosity.PureCuriosity", "curiosity.host.Curiosity", "curiosity.paymaster.Paymaster"),
    *("curiosity.gymnasium.CuriousVectorEnv", "curiosity.gymnax.CuriousGymnax", "frames.tiles"),
)


def test_what_documents_name_with_dots_is_found_at_the_first_use_and_at_the_second():
    """Each in a library that has loaded nothing else; the function is the same folder."""
    code = """
import importlib, sys
for name in sys.argv[1:]:
    for module in [module for module in sys.modules if module.split(".")[0] == "ndigo"]:
        del sys.modules[module]
    ndigo = importlib.import_module("ndigo")
    first, second = (eval(f"ndigo.{name}") for _ in range(2))
    assert first is second, name
    c = ndigo.curiosity
    assert c is ndigo.curiosity and callable(c) and hasattr(c, "record") and not hasattr(c, "nothing"), name
"""
    assert subprocess.run([sys.executable, "-c", code, *DOTTED]).returncode == 0


def test_importing_the_library_loads_neither_jax_nor_numpy():
    code = "import sys, ndigo; sys.exit(','.join({'jax', 'numpy'} & set(sys.modules)) or 0)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("command", ["train", "evaluate", "play"])
def test_a_command_that_draws_nothing_loads_no_matplotlib(command):
    code = f"import sys, ndigo.commands.{command}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("is_first", [True, False], ids=["before jax", "after a compilation"])
@pytest.mark.parametrize("chosen", [None, "mine"])
def test_compiled_programs_are_kept_where_the_user_wants_else_in_the_cache_folder(is_first, chosen, tmp_path):
    compile_something = "import jax; jax.jit(lambda x: x * 2 + 1)(1.0)"
    code = f"""
{"" if is_first else compile_something}
from ndigo.fast.compile_cache import keep_compiled_programs
keep_compiled_programs()
import jax; jax.jit(lambda x: x * 3 - 1)(1.0)
"""
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    if chosen:
        variables |= {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / chosen)}
        variables |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    subprocess.run([sys.executable, "-c", code], env=variables, check=True)
    (folder,) = [tmp_path / chosen] if chosen else [tmp_path / ".cache" / "ndigo" / "jax"]
    assert list(folder.glob("*"))
    assert not chosen or not (tmp_path / ".cache" / "ndigo").exists()
