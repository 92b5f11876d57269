"""The study on MiniGrid: its table is arithmetic on the lines of its runs, and its PPO adds up returns as it says."""

from __future__ import annotations

import importlib.util
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

STUDY = Path(__file__).parents[2] / "studies" / "minigrid-ppo"
TABLE = runpy.run_path(str(STUDY / "table.py"))


@pytest.fixture(scope="module")
def ppo() -> Any:
    spec = importlib.util.spec_from_file_location("study_ppo", STUDY / "ppo.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder: Path, reward: str, seed: int, solved: list[int]) -> None:
    """Ten rollouts of 100 steps, of 4 episodes each, all with a key; the pay is the number of the rollout."""
    head = {"world": "a world", "reward": reward, "tile": "plain", "seed": seed, "total": 1000}
    lines = [{"steps": 100 * (t + 1), "episodes": 4, "solved": n, "key": 4, "nats": t} for t, n in enumerate(solved)]
    text = "".join(json.dumps(line) + "\n" for line in (head, *lines))
    (folder / f"{reward}-plain-{seed}.jsonl").write_text(text)


def test_a_run_counts_by_its_last_tenth_and_seed_by_seed(tmp_path):
    write(tmp_path, "pe", 0, [4] * 9 + [1])
    write(tmp_path, "pe", 1, [0] * 9 + [3])
    write(tmp_path, "nothing", 0, [0] * 10)
    runs = TABLE["read"](tmp_path)
    assert [TABLE["at_end"](run, "solved") for run in runs["pe", "plain"]] == pytest.approx([0.25, 0.75])
    assert TABLE["table"](runs).splitlines()[2:] == [
        "| nothing | plain | 0.0 | 100.0 | 9.000 |",
        "| pe | plain | 25.0, 75.0 | 100.0, 100.0 | 9.000 |",
    ]
    TABLE["draw"](runs, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_cell_that_is_not_done_says_how_far_it_is_and_half_a_line_is_left_out(tmp_path):
    write(tmp_path, "pe", 0, [0] * 9 + [2])
    write(tmp_path, "pe", 1, [4] * 4)
    part = (tmp_path / "pe-plain-1.jsonl").rename(tmp_path / "pe-plain-1.part")
    part.write_text(part.read_text() + '{"steps": 500, "epis')
    (tmp_path / "pe-plain-2.part").write_text('{"world": "a world", "reward": "pe", "tile": "plain", "total": 1000}\n')
    rows = TABLE["table"](TABLE["read"](tmp_path)).splitlines()
    assert rows[2:] == ["| pe | plain | 50.0, 100.0 (after 40% of the steps) | 100.0, 100.0 | 6.000 |"]


def test_the_curve_is_the_share_of_the_last_rollouts_episodes_that_were_solved(tmp_path):
    write(tmp_path, "pe", 0, [1, 0, 4, 2, 0, 0, 3, 4])
    (run,) = TABLE["read"](tmp_path)["pe", "plain"]
    expected = [1 / 4, 1 / 8, 4 / 8, 6 / 8, 2 / 8, 0, 3 / 8, 7 / 8]
    assert TABLE["lately"](run, "solved", num=2).tolist() == pytest.approx(expected)


def test_the_tasks_return_ends_with_its_episode_and_the_pays_goes_on(ppo):
    """Against sums written out: lambda 1 makes an advantage a return, less the value."""
    rng, T, gamma = np.random.default_rng(0), 6, 0.9
    v, v_last, v_tp1 = rng.normal(size=(3, T, 1, 2))
    r, nats = rng.normal(size=(2, T, 1))
    is_last, is_terminal = np.zeros((2, T, 1), bool)
    is_last[[1, 3]], is_terminal[3] = True, True  # cut after step 1, at the goal after step 3
    v_tp1[:-1] = v[1:]
    nothing: dict[str, Any] = dict.fromkeys(ppo.Steps._fields)
    steps = ppo.Steps(
        **nothing | {"r_t": r, "nats": nats, "is_last": jnp.array(is_last), "is_terminal": jnp.array(is_terminal)}
    )
    v_last = np.where(is_last[..., None], v_last, v_tp1)  # elsewhere it is the next frame
    found = ppo.advantages(ppo.Settings(gamma=gamma, lambda_=1.0, weight=0.01), steps, v, v_last, v_tp1)[:, 0]
    task, pay = [0.0] * T, [0.0] * T
    for t in range(T):
        for s in range(t, T):
            task[t] += gamma ** (s - t) * r[s, 0]
            if is_last[s, 0] or s == T - 1:
                task[t] += 0 if is_terminal[s, 0] else gamma ** (s - t + 1) * v_last[s, 0, 0]
                break
        paid = 0.01 * (nats[:, 0] - nats.mean())
        pay[t] = sum(gamma ** (s - t) * paid[s] for s in range(t, T)) + gamma ** (T - t) * v_tp1[-1, 0, 1]
    np.testing.assert_allclose(found[:, 0], np.array(task) - v[:, 0, 0], rtol=1e-5)
    np.testing.assert_allclose(found[:, 1], np.array(pay) - v[:, 0, 1], rtol=1e-5)


def test_the_readme_shows_the_table_of_the_kept_runs():
    assert TABLE["table"](TABLE["read"](STUDY / "data")) in (STUDY / "README.md").read_text()
