"""`ndigo sweep` on this machine: rows that end, fail and are stopped, and one line for every mistake."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict

import pytest
from sweep_files import write_sweep
from tiny_runs import EXAMPLES, numbers, start, wait_for_lines

from ndigo.cli import main
from ndigo.errors import install
from ndigo.scale.status import look
from ndigo.scale.sweep import MOVE_AWAY, read_sweep
from ndigo.storage.run_folder import RunFolder

TRUST = ["--trust", "custom_world"]


@pytest.mark.slow
def test_rows_are_trained_one_that_fails_is_told_and_the_others_go_on(finished, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The second row diverges, which only its job finds out.
    file = write_sweep(tmp_path / "sweep.toml", "[[rows]]\nwindow = 6\n[[rows]]\nmodel_rate = 1e30\n")
    process = start("sweep", str(file), "--out", str(tmp_path / "rows"), "--jobs", "2", *TRUST)
    out, err = process.communicate(timeout=250)
    assert (process.returncode, err) == (1, "")
    first, where, *lines, last, again, look_at = out.splitlines()
    assert first == f"2 rows: 2 waiting, in {tmp_path / 'rows'}"
    status = f"ndigo sweep status {file} --out {tmp_path / 'rows'}"
    assert where == f"training 2 of them on this machine, 2 at once on the CPU; to see how far they are: {status}"
    failed, done = sorted(line.split("] ")[1] for line in lines)
    assert "is not finite at learner step" in failed.removeprefix("model-rate-1e30: failed: ")
    assert done == "window-6: done at step 20"
    assert last == "2 rows: 1 done, 1 failed"
    assert again == "the same command tries the others again"
    assert look_at == f"see ndigo report {tmp_path / 'rows'}"
    assert numbers(tmp_path / "rows" / "window-6") == numbers(finished.path)
    assert "step      20" in (tmp_path / "rows" / "window-6" / "job.log").read_text()

    monkeypatch.setenv("COLUMNS", "200")
    assert main(status.split()[1:]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "window-6 done 20 of 20" in out
    assert "model-rate-1e30 failed" in out
    assert out.endswith("2 rows: 1 done, 1 failed")


@pytest.mark.slow
def test_ctrl_c_saves_the_rows_that_run_and_begins_no_other(tmp_path):
    file = write_sweep(tmp_path / "sweep.toml", "[grid]\nseed = [0, 1]\n", learner_steps=1_000_000)
    process = start("sweep", str(file), "--out", str(tmp_path / "rows"), *TRUST)
    first, second = (tmp_path / "rows" / f"seed-{seed}" for seed in (0, 1))
    wait_for_lines(process, first, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=250)
    assert (process.returncode, err) == (130, "")
    assert "SIGINT: finishing this chunk, then saving" in out
    assert out.endswith("2 rows: 1 stopped, 1 waiting\nthe same command goes on from here\n")
    saved, waiting = (look(row) for row in read_sweep(file, tmp_path / "rows").rows)
    assert (saved.state, waiting.state) == ("stopped", "waiting")
    assert (first / "checkpoints" / f"step_{saved.step}").is_dir()
    assert not second.exists()


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_sweep(tmp_path / "sweep.toml", "[grid]\nseed = [0, 1]\n", world="exp1", window=100)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name one file: ndigo sweep FILE.toml trains it, ndigo sweep status FILE.toml looks at it"),
        (["status"], "name one file: "),
        (["sweep.toml", "more.toml"], "name one file: "),
        (["swep.toml"], "swep.toml cannot be read: No such file or directory"),
        (["sweep.toml", "--on", "kubernetes"], "unknown value of --on 'kubernetes'; known: local, ray, slurm"),
        (["sweep.toml", "--jobs", "0"], "--jobs 0: must be from 1 to 1000"),
        (["sweep.toml", "--on", "ray", "--jobs", "3"], "--jobs belongs to --on local, not to --on ray"),
        (["sweep.toml", "--address", "here:1"], "--address belongs to --on ray, not to --on local"),
    ],
)
def test_bad_input_gets_one_line_and_code_2_and_leaves_nothing(words, message, file, capsys):
    assert main(["sweep", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.removeprefix("ndigo: ").startswith(message)
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(("name", "value", "message"), [("world", "exp7", "exp7"), ("reward", "cim", "nearest: icm")])
def test_rows_are_checked_before_any_is_trained(name, value, message, file, capsys):
    write_sweep(file, **{"world": "exp1", name: value})
    assert main(["sweep", "sweep.toml"]) == 2
    assert message in capsys.readouterr().err
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 100}, "window 100: longer than an episode of 12 steps; window 12 is the longest"),
        ({"window": 6, "reward": "ndigo-7"}, "reward ndigo-7 looks 8 steps ahead, and a window has 6"),
        ({"task_weight": 0.5}, "task_weight 0.5: world three_doors has no task reward"),
        ({"curiosity_weight": 0}, "nothing to learn from: --curiosity-weight and --task-weight are both 0"),
    ],
)
def test_rows_that_their_world_cannot_have_are_refused_before_any_is_trained(
    settings, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("ndigo.gate.check_world", lambda world: None)  # tests/extending has what it finds
    monkeypatch.chdir(EXAMPLES)
    file = write_sweep(tmp_path / "sweep.toml", "[grid]\nseed = [0, 1]\n", **settings)
    assert main(["sweep", str(file), "--dry-run", *TRUST]) == 2
    assert capsys.readouterr().err.startswith(f"ndigo: {message}")


def test_a_presets_window_is_cut_to_the_worlds_episodes_as_ndigo_train_does(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ndigo.gate.check_world", lambda world: None)
    monkeypatch.chdir(EXAMPLES)
    file = tmp_path / "sweep.toml"
    file.write_text('preset = "cpu"\nworld = "custom_world:world"\n[grid]\nseed = [0, 1]\n')
    assert main(["sweep", str(file), "--dry-run", *TRUST]) == 0
    cut, rows = capsys.readouterr().out.splitlines()[:2]
    assert cut == "window 100 is cut to 12, the steps of an episode of three_doors"
    assert rows == "2 rows: 2 waiting, in runs/sweep"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["sweep", str(file), "--dry-run", *TRUST]) == 0
    assert " ".join(capsys.readouterr().out.splitlines()[:2]) == cut  # broken between words


def test_status_says_where_a_folder_has_a_run_of_other_settings(tmp_path, capsys):
    file = tmp_path / "sweep.toml"
    file.write_text('preset = "cpu"\nbatch = 5\n')
    words = ["sweep", "status", str(file), "--out", str(tmp_path / "rows")]
    (row,) = read_sweep(file, tmp_path / "rows").rows
    # The window is the preset's, and a world may have cut it.
    RunFolder.create(row.path, {"config": asdict(row.config) | {"window": 12}})
    assert main(words) == 0
    assert "was begun with" not in capsys.readouterr().out
    file.write_text('preset = "cpu"\nbatch = 6\n')
    assert main(words) == 0
    assert f"{row.path} was begun with batch 5, now it is 6: {MOVE_AWAY}" in capsys.readouterr().out


def test_a_file_runs_no_module_that_is_not_trusted(file, capsys):
    (file.parent / "mine.py").write_text("raise SystemExit('was run')\n")
    write_sweep(file, world="mine:world")
    assert main(["sweep", "sweep.toml"]) == 2
    assert "if you trust that, add --trust mine" in capsys.readouterr().err
    assert main(["sweep", "sweep.toml", "--trust", "mine"]) == 2
    assert "was run" in capsys.readouterr().err


@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_an_engine_whose_extra_is_missing_says_how_to_install_it(engine, package, file, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    assert main(["sweep", "sweep.toml", "--on", engine]) == 2
    err = capsys.readouterr().err
    assert err == f"ndigo: --on {engine} needs {package}: {install(engine)}\n"
    assert list(file.parent.iterdir()) == [file]


def test_status_as_json_has_every_row(file, capsys):
    """Of 18 steps in chunks of 4 a row makes 20."""
    write_sweep(file, "[grid]\nseed = [0, 1]\n", learner_steps=18)
    assert main(["sweep", "status", str(file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert main(["sweep", "status", str(file)]) == 0
    table = capsys.readouterr().out
    assert rows
    assert all(row["row"] in table and (row["state"], row["step"], row["of"]) == ("waiting", 0, 20) for row in rows)
    assert table.count("0 of 20") == len(rows)


def test_a_dry_run_lists_the_rows_and_trains_nothing(file, capsys):
    assert main(["sweep", "sweep.toml", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 rows: 2 waiting, in runs/sweep\n")
    assert "seed-0   waiting" in out
    assert "steps per s" not in out  # no row has any yet
    assert list(file.parent.iterdir()) == [file]


def test_a_dry_run_on_an_engine_asks_no_word_for_anothers_table(file, capsys):
    file.write_text(file.read_text() + '[slurm]\nslurm_setup = ["touch here"]\n')
    assert main(["sweep", "sweep.toml", "--dry-run", "--on", "ray"]) == 0
    assert main(["sweep", "sweep.toml", "--dry-run", "--on", "slurm"]) == 2
    assert "add --trust slurm" in capsys.readouterr().err


def test_long_names_of_rows_are_whole_in_a_narrow_terminal(file, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    file.write_text(file.read_text() + "model_rate = [0.00123]\nlast_epsilon = [0.00045]\nlast_model_rate = [0.5]\n")
    assert main(["sweep", "sweep.toml", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80
    names = "".join(line.split()[0] for line in out.splitlines()[1:] if line.strip())
    assert "seed-0-model-rate-0.00123-last-epsilon-0.00045-last-model-rate-0.5" in names
