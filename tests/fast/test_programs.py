"""A program that one process has traced is run by the next without being traced, and only where it is the same one."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_runs import FLAGS, numbers, start

from ndigo.cli import main
from ndigo.config import Config
from ndigo.fast import compile_cache, programs
from ndigo.fast.programs import kept, settings_text
from ndigo.interop.finding import find_world

TREE = {"x": jnp.arange(3.0), "n": jnp.int32(2)}
KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(programs, "by_source", lambda: tmp_path / "by-source")
    return tmp_path / "by-source"


def add(tree: dict[str, jax.Array], key: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    return {"x": tree["x"] + tree["n"], "n": tree["n"] + 1}, jax.random.split(key)[0]


def untraceable(tree: Any, key: Any) -> Any:
    raise AssertionError("traced")


def found(function: Any, name: str = "add", settings: str | None = "settings", **options: Any) -> Any:
    return kept(name, function, settings, **options)


def assert_added(result: Any) -> None:
    tree, key = result
    np.testing.assert_array_equal(tree["x"], [2, 3, 4])
    assert int(tree["n"]) == 3
    assert bool(key == jax.random.split(KEY)[0])


def test_what_was_traced_once_is_not_traced_again():
    program = found(add)
    assert_added(program(TREE, KEY))
    later = found(untraceable)
    assert_added(later(TREE, KEY))
    tree, _ = later(*later(TREE, KEY))  # results, bound to their device, are arguments too
    assert int(tree["n"]) == 4


class Pair(eqx.Module):
    first: jax.Array | None
    second: jax.Array | None = None


@pytest.mark.parametrize(
    "made",
    [
        lambda tree, key: (tree, Pair(tree["x"] + 1)),
        lambda tree, key: Pair(None, Pair(tree["n"], tree["x"])),  # type: ignore[arg-type]
        lambda tree, key: ((), (key, (None, tree["x"]))),
        lambda tree, key: {"another": tree["x"] + 1},  # no outline: traced each time
    ],
)
def test_a_result_has_its_structure_with_fields_that_may_be_missing(made):
    expected = made(TREE, KEY)
    for _ in range(2):  # traced, then looked up
        result = found(made)(TREE, KEY)
        assert jax.tree.structure(result) == jax.tree.structure(expected)
        for ours, theirs in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
            assert bool((ours == theirs).all())


def test_another_name_settings_argument_or_source_is_another_program(monkeypatch):
    found(add)(TREE, KEY)
    wider = TREE | {"x": jnp.arange(4.0)}
    others = [({"name": "other"}, TREE), ({"settings": "others"}, TREE), ({}, wider)]
    for options, tree in others:
        with pytest.raises(AssertionError, match="traced"):
            found(untraceable, **options)(tree, KEY)
    monkeypatch.setattr(programs, "_surroundings", lambda: ["acting.py, with another line"])
    with pytest.raises(AssertionError, match="traced"):
        found(untraceable)(TREE, KEY)


def test_the_sources_are_all_of_the_package_and_a_changed_line_is_seen(monkeypatch):
    programs._surroundings.cache_clear()
    before = programs._surroundings()
    for name in ("training/learner.py", "worlds/grid_world.py", "networks.py"):
        assert sum(text.startswith(f"{name} ") for text in before) == 1
    read = Path.read_bytes
    changed = lambda path: read(path) + (b"\n" if path.name == "networks.py" else b"")  # noqa: E731
    monkeypatch.setattr(Path, "read_bytes", changed)
    programs._surroundings.cache_clear()
    (other,) = set(programs._surroundings()) - set(before)
    programs._surroundings.cache_clear()
    assert other.startswith("networks.py ")


def subtract(tree: dict[str, jax.Array], key: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    return {"x": tree["x"] - tree["n"], "n": tree["n"]}, key


def test_where_programs_are_kept_is_no_part_of_what_they_are(monkeypatch):
    def key() -> list[str]:
        programs._surroundings.cache_clear()
        return programs._surroundings()

    before = key()
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/another/home/.cache/ndigo/jax")
    assert key() == before
    monkeypatch.setenv("JAX_DEFAULT_MATMUL_PRECISION", "highest")
    assert set(key()) - set(before) == {"JAX_DEFAULT_MATMUL_PRECISION=highest"}
    programs._surroundings.cache_clear()


@pytest.mark.parametrize("damage", ["empty", "no program", "cut short", "one bit", "another's", "junk, well sealed"])
def test_a_damaged_program_is_traced_and_replaced(folder, damage):
    found(subtract, "other")(TREE, KEY)
    (other,) = folder.iterdir()
    found(add)(TREE, KEY)
    (path,) = set(folder.iterdir()) - {other}
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    damaged = {
        "empty": b"",
        "no program": b"not a program",
        "cut short": path.read_bytes()[:-200],
        "one bit": data,
        "another's": other.read_bytes(),
        "junk, well sealed": programs._bound(path, b"junk") + b"\njunk",
    }
    path.write_bytes(damaged[damage])
    assert_added(found(add)(TREE, KEY))
    assert_added(found(untraceable)(TREE, KEY))


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(folder):
    folder.write_text("a file in its place")
    assert_added(found(add)(TREE, KEY))


def test_the_oldest_programs_go(folder, monkeypatch):
    monkeypatch.setattr(programs, "MOST_KEPT", 2)
    folder.mkdir()
    (folder / "a diary").write_text("not ours")
    for name in ("first", "second", "third"):
        found(add, name)(TREE, KEY)
    assert len(list(folder.iterdir())) == 2 + 1
    found(untraceable, "third")(TREE, KEY)


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_is_donated_is_gone_and_the_rest_stays(is_kept):
    tree, key = jax.tree.map(jnp.copy, TREE), jax.random.key(0)
    found(add, settings="settings" if is_kept else None, donate=0)(tree, key)
    assert tree["x"].is_deleted()
    assert not key.is_deleted()


def test_a_record_of_the_users_own_is_traced_each_time(folder):
    world = find_world("exp1")
    for config in (Config(world="custom_world:world"), Config(reward="mine:reward"), Config(world="<mine>")):
        assert settings_text(config, world) is None
    assert settings_text(Config(), world) != settings_text(Config(gamma=0.5), world)
    found(add, settings=None)(TREE, KEY)
    assert not folder.exists()


def test_only_a_process_of_the_command_line_looks_programs_up(monkeypatch, capsys):
    """Elsewhere a function may have been replaced since its file was read."""
    monkeypatch.setattr(compile_cache, "_is_command", False)
    assert main(["worlds", "exp1"]) == 0
    assert compile_cache.by_source() is None
    monkeypatch.setattr("sys.argv", ["ndigo", "worlds", "exp1"])
    monkeypatch.setattr("sys.path", sys.path[:])
    monkeypatch.setattr("warnings.showwarning", warnings.showwarning)
    assert main() == 0
    assert compile_cache.by_source() is not None
    capsys.readouterr()


# What JAX has compiled stays where it is: that takes most of a minute, and is not what is tested. The world of the tiny
# runs has a name of ours here: of a user's own, programs are not kept.
KEPT_IN = """
import custom_world
from ndigo import worlds
from ndigo.fast import compile_cache

compile_cache._jax_folder = lambda: {folder!r}
worlds.WORLDS["doors"] = lambda: custom_world.world
"""
NO_TRACING = """
from ndigo.training import learner

def q_loss(*_, **__):
    raise AssertionError("traced")

learner.q_loss = q_loss
"""


@pytest.mark.slow
def test_a_second_command_trains_without_tracing_and_has_the_numbers_of_one_that_traced(finished, tmp_path):
    where = KEPT_IN.format(folder=str(tmp_path / "cache"))
    words = ["train", "doors", *FLAGS, "--reward", "ndigo-1"]
    for name, first in (("one", where), ("two", where + NO_TRACING)):
        process = start(*words, "--out", str(tmp_path / name), first=first)
        out, err = process.communicate(timeout=250)
        assert (process.returncode, err) == (0, ""), out
        assert (tmp_path / "cache" / "by-source").stat().st_mode & 0o777 == 0o700
    assert numbers(tmp_path / "one") == numbers(tmp_path / "two") == numbers(finished.path)
