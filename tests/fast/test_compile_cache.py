"""Where compiled programs lie: in a folder of the user's alone, or nowhere."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.compilation_cache import compilation_cache

from ndigo.fast import compile_cache
from ndigo.fast.compile_cache import is_private

NOT_KEPT = "ndigo: compiled programs are not kept: "


@pytest.fixture(autouse=True)
def asked_anew():
    is_private.cache_clear()
    yield
    is_private.cache_clear()


def test_the_folder_is_made_for_the_user_alone_whatever_the_umask(tmp_path, capsys):
    before = os.umask(0)
    try:
        assert is_private(tmp_path / "jax")
    finally:
        os.umask(before)
    assert (tmp_path / "jax").stat().st_mode & 0o777 == 0o700
    assert capsys.readouterr().err == ""


def test_one_that_others_could_only_read_is_closed_to_them(tmp_path):
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax").chmod(0o755)
    assert is_private(tmp_path / "jax")
    assert (tmp_path / "jax").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702])
def test_one_that_others_can_write_is_refused_in_one_line_said_once(mode, tmp_path, capsys):
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax").chmod(mode)
    assert not is_private(tmp_path / "jax")
    assert not is_private(tmp_path / "jax")
    folder = tmp_path / "jax"
    assert capsys.readouterr().err == (
        f"{NOT_KEPT}others can write {folder}; delete it, and it is made anew for you alone\n"
    )


def test_one_that_belongs_to_another_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "jax").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not is_private(tmp_path / "jax")
    assert capsys.readouterr().err == f"{NOT_KEPT}{tmp_path}/jax belongs to another user\n"


@pytest.mark.parametrize(("mode", "is_fit"), [(0o777, False), (0o1777, True), (0o755, True)])
def test_a_folder_above_in_which_anybody_can_replace_it_is_refused(mode, is_fit, tmp_path, capsys):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(mode)
    assert is_private(tmp_path / "open" / "jax") == is_fit
    if not is_fit:
        assert capsys.readouterr().err == f"{NOT_KEPT}everybody can write {tmp_path}/open, in which they would lie\n"


def test_a_link_to_such_a_folder_is_refused(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "jax").symlink_to(tmp_path / "open")
    assert not is_private(tmp_path / "jax")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, capsys):
    (tmp_path / "jax").write_text("a file in its place")
    assert not is_private(tmp_path / "jax")
    assert capsys.readouterr().err == f"{NOT_KEPT}{tmp_path}/jax: File exists\n"


def test_without_a_private_folder_jax_gets_none(tmp_path, monkeypatch, capsys):
    """As before JAX is imported: by its variable."""
    (tmp_path / "ndigo" / "jax").mkdir(parents=True)
    (tmp_path / "ndigo" / "jax").chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(compile_cache.VARIABLE)
    monkeypatch.delitem(sys.modules, "jax")
    compile_cache.keep_compiled_programs()
    assert compile_cache.VARIABLE not in os.environ
    is_private.cache_clear()
    (tmp_path / "ndigo" / "jax").chmod(0o700)
    compile_cache.keep_compiled_programs()
    assert os.environ[compile_cache.VARIABLE] == str(tmp_path / "ndigo" / "jax")
    assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture
def jax_folder(tmp_path) -> Iterator[Path]:
    """JAX's own cache, elsewhere for a while."""
    before = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue] - made at run time
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    compilation_cache.reset_cache()
    yield tmp_path
    jax.config.update("jax_compilation_cache_dir", before)
    compilation_cache.reset_cache()


def fresh() -> Callable[[int], jax.Array]:
    """A function that this process has not compiled, and of the same text each time."""

    def add_ninety_one(x: int) -> jax.Array:
        return jnp.add(x, 91)

    return add_ninety_one


def test_a_compiled_program_that_jax_cannot_read_is_made_anew_and_other_warnings_are_shown(jax_folder, monkeypatch):
    shown: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_, **__: shown.append(str(message)))
    compile_cache._drop_what_is_damaged()
    warnings.simplefilter("always")  # until the end of this test
    for is_damaged in (False, True, False):
        if is_damaged:
            for path in jax_folder.glob("jit_add_ninety_one-*-cache"):
                path.write_bytes(b"junk")
        assert jax.jit(fresh())(1) == 92
        (path,) = jax_folder.glob("jit_add_ninety_one-*-cache")
        assert path.read_bytes() != b"junk"
    warnings.warn("something else", stacklevel=1)
    assert shown == ["something else"]


def test_a_user_without_a_home_keeps_none_and_is_told_so(monkeypatch, capsys):
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    monkeypatch.setenv(compile_cache.VARIABLE, "/a/folder/of/the/users")
    compile_cache.keep_compiled_programs()
    assert capsys.readouterr().err == ""  # they are kept, where the user says
    monkeypatch.delenv(compile_cache.VARIABLE)
    compile_cache.keep_compiled_programs()
    assert capsys.readouterr().err == f"{NOT_KEPT}this user has no home; name a folder in HOME or XDG_CACHE_HOME\n"
