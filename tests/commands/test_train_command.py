"""`ndigo train`: presets and flags, what it prints, and one line for every mistake."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import shutil
from pathlib import Path

import jax
import pytest
from tiny_runs import FLAGS, TRUST, WORLD, change_settings, numbers

import ndigo
from ndigo.cli import main
from ndigo.commands.train import minutes_in_words
from ndigo.devices import mesh as meshes


def error(words: list[str], capsys) -> str:
    assert main(["train", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("ndigo: ").rstrip()


def test_flags_train_the_run_that_python_trains(finished, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["train", WORLD, *FLAGS, "--reward", "ndigo-1", "--out", str(run)]) == 0
    first, second, *lines, last = capsys.readouterr().out.splitlines()
    assert first == f"ndigo-1 in {WORLD}: 2 seeds, 20 learner steps, preset cpu, in {run}"
    assert second == "compiling first, up to a minute"
    assert len(lines) == 3  # an evaluation each
    assert last == f"finished at step 20; see ndigo report {run}"
    assert numbers(run) == numbers(finished.path)


def test_a_run_stopped_by_its_minutes_says_how_to_continue_and_does(finished, tmp_path, capsys):
    run = tmp_path / "my run"
    assert main(["train", WORLD, *FLAGS, "--reward", "ndigo-1", "--out", str(run), "--minutes", "0.00001"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    command = re.fullmatch(
        r"stopped at step 4 \(after .* minutes: a chunk of 4 steps that is begun is finished\)"
        r" and saved; continue with ndigo (.*)",
        last,
    )
    assert command
    assert main(shlex.split(command[1])) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == f"ndigo-1 in {WORLD}: 2 seeds, 20 learner steps, continued in {run}"
    assert last.startswith("finished at step 20")
    assert numbers(run)[1:] == numbers(finished.path)[1:]


@pytest.mark.parametrize(
    ("minutes", "told"),
    [(1, "1 minute"), (1.0004, "1 minute"), (0.5, "0.5 minutes"), (12, "12 minutes"), (1440, "1440 minutes")],
)
def test_one_minute_is_no_minutes(minutes, told):
    assert minutes_in_words(minutes) == told


def test_settings_come_from_a_file_and_flags_override_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('preset = "paper"\nworld = "exp2"\nbatch = 7\nlambda = 1\nseeds = 3\n')
    assert main(["train", "--config", "mine.toml", "--seeds", "2", "--dry-run"]) == 0
    out = capsys.readouterr().out
    opening = "ndigo-4 in exp2: 2 seeds, 100,000 learner steps, settings of mine.toml over preset paper\n"
    assert out.startswith(opening)
    rows = dict(re.findall(r"^ ?(\S+)  +(\S+) *$", out, re.MULTILINE))
    # By file, file, flag; by the preset; and the world by a word.
    assert (rows["batch"], rows["lambda_"], rows["seeds"], rows["predictor"]) == ("7", "1", "2", "mlp")
    assert main(["train", "exp3", "--config=mine.toml", "--preset", "cpu", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("ndigo-2 in exp3: 3 seeds, 11,520 learner steps, settings of mine.toml over preset cpu\n")


@pytest.mark.parametrize("name", ["", "config.json"])
def test_settings_of_a_run_are_taken_whole(name, finished, capsys):
    source = finished.path / name
    assert main(["train", "exp1", "--config", str(source), "--reward", "pe", "--window", "9", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"pe in exp1: 2 seeds, 20 learner steps, settings of {source}\n")
    rows = dict(re.findall(r"^ ?(\S+)  +(\S+) *$", out, re.MULTILINE))
    assert (rows["batch"], rows["window"], rows["belief_size"]) == ("4", "9", "8")


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("bacth = 3\n", [], "unknown setting in mine.toml: 'bacth'; nearest: batch; ndigo train --help-all lists"),
        ("batch = 0.5\n", [], "mine.toml: batch 0.5: must be a whole number"),
        ("[grid]\nseed = [0]\n", [], "mine.toml has grid, so it is a sweep: ndigo sweep mine.toml"),
        ("batch = 3\n", [], "name a world to train in (ndigo train exp1), or a run to continue (--resume RUN)"),
        ('world = "json:dumps"\n', [], "world 'json:dumps' is named by a file, and to load it runs the module 'json'"),
        ('reward = "json:dumps"\n', ["exp1"], "reward 'json:dumps' is named by a file"),
        ('world = "json:dumps"\n', ["--trust", "json"], "world 'json:dumps': a function must need no arguments"),
        ("", ["--resume", "nowhere"], "--resume continues a run as it is: --config cannot be given with it"),
        ("", ["--config", "other.toml"], "other.toml cannot be read: No such file or directory"),
        ("", ["--config", "run.json"], "run.json is not the config.json of a run"),
        ("", ["--config", "run.json", "--preset", "cpu"], "--preset cpu: run.json has every setting; leave out one"),
    ],
)
def test_a_bad_file_of_settings_gets_one_line(text, words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "run.json").write_text("[1]")
    config = [] if "--config" in words else ["--config", "mine.toml"]
    assert error([*config, *words], capsys).startswith(message)


@pytest.mark.parametrize("name", ndigo.PRESETS)
def test_help_shows_the_presets_values_as_defaults(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--preset", name, "--help-all"])
    page = re.sub(r"\n {10,}", " ", capsys.readouterr().out)  # a line for each option
    for field in dataclasses.fields(ndigo.Config):
        value = getattr(ndigo.PRESETS[name], field.name)
        if field.name != "world" and value is not None and not isinstance(value, bool):
            flag = f"--{field.name.strip('_').replace('_', '-')}"
            (shown,) = re.findall(rf"^  {flag} .*\[(.*)\]$", page, re.MULTILINE)
            assert shown == value if isinstance(value, str) else float(shown) == pytest.approx(value), field.name


def test_a_dry_run_prints_settings_and_sizes_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "exp1", "--preset=paper", "--batch", "7", "--lambda", "0.5", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("ndigo-4 in exp1: 10 seeds, 100,000 learner steps, preset paper\n")
    rows = dict(re.findall(r"^ ?(\S.*?)  +(\S+(?: MB)?) *$", out, re.MULTILINE))
    assert (rows["batch"], rows["lambda_"], rows["predictor"]) == ("7", "0.5", "mlp")
    assert "bits [5, 5, 3]" in out
    # One episode of 400 steps for each of 100 actors and every 100 learner steps.
    assert rows["world steps, per seed"] == f"{400 * 100 * 1000:,}"
    # 64 hidden units on a belief of 128, and a categorical over 361 cells for each of two objects.
    assert rows["parameters of probe, per seed"] == f"{128 * 64 + 64 + 64 * 722 + 722:,}"
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_shows_every_value_that_is_varied(capsys):
    words = ["train", "exp1", "--preset", "cpu", "--vary", "gamma=0.99991,0.99992", "--dry-run"]
    assert main(words) == 0
    (gamma,) = [line.split(maxsplit=1)[1].strip() for line in capsys.readouterr().out.splitlines() if "gamma" in line]
    assert gamma == "0.99991, 0.99992"
    assert main([*words, "--json"]) == 0
    vary = json.loads(capsys.readouterr().out)["vary"]
    assert {name: own["gamma"] for name, own in vary.items()} == {"gamma-0.99991": 0.99991, "gamma-0.99992": 0.99992}


def test_a_presets_window_is_cut_to_an_episode_and_one_that_is_given_is_refused(tmp_path, monkeypatch, capsys):
    """Its episodes have 12 steps, and every preset's window 100."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(f'world = "{WORLD}"\nwindow = 100\n')
    assert main(["train", WORLD, "--preset", "cpu", "--dry-run"]) == 0
    _, line, *table = capsys.readouterr().out.splitlines()
    assert line.startswith("window 100 is cut to 12, the steps of an episode of ")
    assert [row.split() for row in table if row.startswith(" window ")] == [["window", "12"]]
    for words in ([WORLD, "--window", "100"], ["--config", "run.toml", "--trust", WORLD.partition(":")[0]]):
        assert error([*words, "--preset", "cpu", "--out", "run"], capsys).startswith("window 100: longer than an")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "actors", "note"),
    [((), 6, "actors 64 is set to 6, num_envs of CartPole-v1"), (("--actors", "8"), 8, None)],
)
def test_a_world_of_the_host_says_how_many_actors_it_wants_by_name_too(
    words, actors, note, tmp_path, monkeypatch, capsys
):
    lines = "import gymnasium", "from ndigo.interop.suites import from_gymnasium"
    made = 'world = from_gymnasium(lambda: gymnasium.make("CartPole-v1"), num_envs=6)'
    (tmp_path / "six_poles.py").write_text("\n".join([*lines, made]))
    monkeypatch.chdir(tmp_path)
    assert main(["train", "six_poles:world", "--preset=cpu", "--reward", "pe", *words, "--dry-run", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["settings"]["actors"] == actors
    assert printed["notes"] == ([note] if note else [])


class FakeMesh:
    """No devices: enough to be named, or refused."""

    def __init__(self, seeds: int, data: int):
        self.size, self.shape = seeds * data, {"seeds": seeds, "data": data}


def test_a_world_of_the_host_trains_on_one_device_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(jax, "device_count", lambda: 2)
    monkeypatch.setattr(meshes, "make_mesh", FakeMesh)
    words = ["--preset=cpu", "--reward", "pe", "--seeds", "2", "--dry-run"]
    for world, used in (("gymnasium::CartPole-v1", 1), ("exp1", 2)):
        assert main(["train", world, *words]) == 0
        assert capsys.readouterr().out.startswith(f"pe in {world}: 2 seeds on {used} of 2 devices, ")
    told = "--mesh seeds=2: world gymnasium::CartPole-v1 is stepped by the host, and trains on one device"
    assert error(["gymnasium::CartPole-v1", *words, "--mesh", "seeds=2"], capsys) == told


def test_seeds_that_leave_devices_idle_say_how_many_would_not(monkeypatch, capsys):
    monkeypatch.setattr(jax, "device_count", lambda: 8)
    monkeypatch.setattr(meshes, "make_mesh", FakeMesh)
    hint = " (a multiple of 8 would use all)"
    for seeds, used in ((10, f"5 of 8 devices{hint}"), (11, f"1 of 8 devices{hint}"), (6, "6 of 8 devices")):
        assert main(["train", "exp1", "--preset=cpu", "--seeds", str(seeds), "--dry-run"]) == 0
        assert capsys.readouterr().out.startswith(f"ndigo-2 in exp1: {seeds} seeds on {used}, ")


def test_a_horizon_that_raises_k_says_so(capsys):
    words = ["train", "exp1", "--preset=cpu", "--dry-run", "--reward"]
    assert main([*words, "ndigo-4"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "num_ahead 3 is raised to 5, which ndigo-4 needs"
    assert main([*words, "ndigo-4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == ["num_ahead 3 is raised to 5, which ndigo-4 needs"]
    for enough in ("ndigo-2", "icm"):
        assert main([*words, enough]) == 0
        assert "raised" not in capsys.readouterr().out


def test_without_a_preset_the_first_line_says_which_was_chosen_and_why(capsys):
    assert main(["train", "exp1", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("preset cpu (JAX found no GPU)")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a world to train in (ndigo train exp1), or a run to continue (--resume RUN)"),
        (["exp1", "--preset", "laptop"], "unknown preset 'laptop'; known: cpu, gpu, paper"),
        (["exp1", "--reward", "ndigo-0"], "reward ndigo-0: the horizon H must be a whole number of at least 1"),
        (["exp1", "--reward", "cim"], "unknown reward 'cim'; nearest: icm; known: icm"),
        (["exp1", "--batch", "0"], "batch 0: must be at least 1"),
        (["exp1", "--batch", "many"], "--batch 'many': must be a whole number"),
        (["exp1", "--minutes", "0"], "--minutes 0.0: must be above 0"),
        (["exp1", "--log", "tensorbord"], "unknown log 'tensorbord'; nearest: tensorboard; known: tensorboard, wandb"),
        (["exp1", "--log", "tensorbord", "--dry-run"], "unknown log 'tensorbord'; nearest: tensorboard; known: "),
        (["exp1", "--window", "401"], "window 401: longer than an episode of 400 steps"),
        (["exp7"], "unknown world or experiment 'exp7'; nearest: exp5; known: "),
        (["json:dumps"], "world 'json:dumps': a function must need no arguments and return a World"),
        (["exp1", "--reward", "json:dumps"], "reward 'json:dumps': a function must need no arguments and return a"),
        (["exp1", "--out", ""], "--out is empty: name a file or a folder"),
        (["exp1", "--config="], "--config is empty: name a file or a folder"),
        (["--resume", ""], "--resume is empty: name a file or a folder"),
        (["--resume", "nowhere"], "nowhere is not a run: it does not exist; name a folder that ndigo train made"),
        (["--resume", "nowhere", "--batch", "3"], "--resume continues a run as it is: --batch cannot be given with it"),
        (["--resume", "nowhere", "--seeds=1"], "--resume continues a run as it is: --seeds cannot be given with it"),
        (["exp1", "--window", "2"], "reward ndigo-2 looks 3 steps ahead, and a window has 2: it would pay nothing"),
        (["exp1", "--resume", "nowhere"], "--resume continues a run as it is: another WORLD cannot be given with it"),
    ],
)
def test_bad_input_gets_one_line_and_code_2_and_leaves_no_run(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert error(words, capsys).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_a_run_in_place_of_a_world_is_told_how_to_be_continued(finished, capsys):
    message = error([str(finished.path)], capsys)
    assert message == f"{finished.path} is a run, not a world; continue it with --resume {finished.path}"


def test_a_run_that_lies_in_a_folder_of_a_worlds_name_hides_no_world(tmp_path, monkeypatch):
    (tmp_path / "exp1").mkdir()
    (tmp_path / "exp1" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert main(["train", "exp1", "--preset", "cpu", "--dry-run"]) == 0


def spoil_metrics(run: Path) -> None:
    (run / "metrics.jsonl").write_bytes(b"")


def spoil_checkpoints(run: Path) -> None:
    for state in run.glob("checkpoints/*/state.safetensors"):
        state.write_bytes(b"")


def put_another_beside(run: Path) -> None:
    for name, batch in (("one", 4), ("other", 5)):
        shutil.copytree(run, run / name)
        change_settings(run / name, '"batch": 4', f'"batch": {batch}')
    (run / "config.json").unlink()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_metrics, r"\S+/metrics\.jsonl has lost the line of step 20; the run cannot be continued"),
        (spoil_checkpoints, r"no checkpoint in \S+ can be used: steps 20, 16"),
        (put_another_beside, r"\S+/one and \S+/other cannot train side by side: batch is 4 and 5; "),
    ],
)
def test_what_cannot_go_on_is_refused_before_it_is_announced(spoil, message, finished, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(finished.path, run)
    spoil(run)
    assert main(["train", "--resume", str(run), "--trust", *TRUST]) == 2
    out, err = capsys.readouterr()
    assert "continued in" not in out
    assert "compiling" not in out
    assert re.match(f"ndigo: {message}", err)


def test_a_dry_run_refuses_a_reward_that_parts_of_a_seed_cannot_share(monkeypatch, capsys):
    monkeypatch.setattr(jax, "device_count", lambda: 2)
    monkeypatch.setattr(meshes, "make_mesh", FakeMesh)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "extending"))
    words = ["exp1", "--preset=cpu", "--reward", "rnd:reward", "--mesh", "data=2", "--dry-run"]
    assert "remembers what it paid, which parts of a seed cannot share" in error(words, capsys)


@pytest.mark.parametrize("more", [[], ["--vary", "gamma=0.9,0.99"], ["--dry-run"]], ids=["alone", "beside", "dry"])
def test_a_folder_that_holds_a_run_is_not_trained_over_nor_into(more, finished, capsys):
    message = error([WORLD, *FLAGS, *more, "--out", str(finished.path)], capsys)
    assert message == (
        f"{finished.path} already holds a run; continue it with --resume {finished.path} or choose another --out"
    )


@pytest.mark.parametrize("command", ["worlds", "play"])
def test_a_world_of_ones_own_without_a_map_cannot_be_drawn_and_says_so(command, capsys):
    assert main([command, WORLD]) == 2
    assert capsys.readouterr().err.startswith("ndigo: world 'three_doors' has no map to draw")


def test_a_dry_run_as_json_has_the_settings_and_what_they_come_to(capsys):
    assert main(["train", "exp1", "--preset=paper", "--batch", "7", "--dry-run", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert ndigo.Config(**printed["settings"]) == dataclasses.replace(ndigo.PRESETS["paper"], batch=7)
    # One episode of 400 steps for each of 100 actors and every 100 learner steps.
    assert printed["sizes"]["world steps, per seed"] == 100_000 // 100 * 100 * 400
    assert error(["exp1", "--json"], capsys).startswith("--json belongs to --dry-run")
