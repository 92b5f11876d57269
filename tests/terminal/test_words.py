"""Words become options by what the command declares, whatever a value looks like; tyro, on the raw words, agrees."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import pytest
import tyro
from hypothesis import given, settings
from hypothesis import strategies as st

from ndigo.errors import NdigoError
from ndigo.terminal.options import Trust, read
from ndigo.terminal.words import value_in


@dataclass(frozen=True)
class Arguments:
    """Do a thing."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Of the thing."""
    others: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="PATH ...")] = ()
    """Of other things."""
    count: int = 1
    """How many."""
    minutes: float | None = None
    """At most."""
    label: str | None = None
    """On top."""
    kind: Literal["mlp", "gru"] = "mlp"
    """Which."""
    sizes: tuple[int, ...] = (1,)
    """How large."""
    formats: tuple[Literal["png", "pdf"], ...] = ("png",)
    """Of the files."""
    trust: Trust = ()
    """Whom."""
    is_loud: bool = False
    """Or quiet."""
    day: date | None = None
    """When."""
    out: Path | None = None
    """Where."""


def reading(*words: str) -> Arguments:
    return read(Arguments, "ndigo thing", words)


def mistake(*words: str) -> str:
    with pytest.raises(NdigoError) as error:
        reading(*words)
    return str(error.value)


def read_by_tyro(words: list[str]) -> Arguments | None:
    """None where tyro refuses the words."""
    with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        return tyro.cli(Arguments, args=words)
    return None


FLAGS = ["--count", "--minutes", "--label", "--kind", "--sizes", "--formats", "--trust", "--is-loud", "--no-is-loud"]
RIGHT = ["--count 3", "--count=-3", "--minutes -inf", "--minutes None", "--label a=b", "--label=--kind", "--kind gru"]
RIGHT += ["--sizes 1 -2", "--sizes=4", "--formats=pdf png", "--trust a", "--trust=", "--is_loud"]
RIGHT += ["a", "│", "-", "--", "-3 b"]
WRONG = [*FLAGS, *(f"{flag} 0.5" for flag in FLAGS), *(f"{flag}=gru" for flag in FLAGS)]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(RIGHT) | st.sampled_from(RIGHT + WRONG), max_size=5, unique_by=lambda text: text[:5]))
def test_what_is_read_is_what_tyro_reads_and_what_is_refused_tyro_refuses(texts):
    words = " ".join(texts).split()
    theirs = read_by_tyro(words)
    try:
        assert reading(*words) == theirs
    except NdigoError:
        # tyro takes `--is-loud=4` for two words, and an option of many values without any.
        is_stricter = any("is-loud=" in word for word in words) or (theirs and () in (theirs.sizes, theirs.formats))
        assert theirs is None or is_stricter


@pytest.mark.parametrize("value", ["│ --sizes │", "╭─ Parsing error ─╮", "a, 'b': c", "', 'pdf')", "\x1b[31m7", "a\nb"])
def test_a_value_that_looks_like_a_message_is_named_as_it_is(value):
    assert mistake("a", "--count", value) == f"--count {value!r}: must be a whole number"
    assert mistake("a", "--kind", value).startswith(f"unknown value of --kind {value!r}; known: gru, mlp")
    assert mistake("a", "b", "--sizes", "1", value) == f"--sizes {value!r}: must be a whole number"
    assert reading("a", "--label", value).label == value


@pytest.mark.parametrize("words", [["--out", ""], ["--out="]])
def test_an_empty_path_is_refused_and_not_taken_for_the_current_folder(words):
    assert mistake("a", *words) == "--out is empty: name a file or a folder"
    assert reading("a", "--out", ".").out == Path()


def test_a_value_longer_than_any_screen_is_named_whole():
    value = "word " * 1000
    assert mistake("a", "--minutes", value) == f"--minutes {value!r}: must be a number"
    assert mistake("a", "--count", "9" * 5000) == f"--count '{'9' * 5000}': must be a whole number"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--count", "few", "--kind", "mpl"], "--count 'few': must be a whole number"),
        (["--kind", "mpl", "--count", "few"], "unknown value of --kind 'mpl'; nearest: mlp; known: gru, mlp"),
        (["--count", "few", "--kidn", "mlp"], "unknown option '--kidn'; nearest: --kind; "),
        (["--is-loud", "--count"], "--count needs a value; see ndigo thing --help"),
        (["--sizes"], "--sizes needs a value; see ndigo thing --help"),
        (["--is-loud=yes", "--count", "few"], "--is-loud takes no value, but has 'yes'; see ndigo thing --help"),
        (["a", "--is-loud", "b", "--count", "2", "c"], "c is more than ndigo thing takes; see ndigo thing --help"),
        (["--sizes", "3"], "ndigo thing needs NAME; see ndigo thing --help"),
    ],
)
def test_of_several_mistakes_an_unknown_option_comes_first_then_the_first_value(words, said):
    assert mistake(*words).startswith(said)


def test_names_may_stand_anywhere_and_all_words_after_two_dashes_are_names():
    assert reading("--sizes", "1", "2", "a").name == "a"
    assert reading("--count", "2", "a", "--", "--kind", "-x").others == (Path("--kind"), Path("-x"))
    assert reading("--trust", "a", "--trust=--b", "c").trust == ("a", "--b")


def test_a_value_of_a_type_that_tyro_alone_knows_is_one_line_too(capsys):
    assert reading("a", "--day", "2026-01-31").day == date(2026, 1, 31)
    assert mistake("a", "--day", "soon") == "ndigo thing cannot read --day=soon -- a; see ndigo thing --help"
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ([], None),
        (["--preset", "cpu", "--preset=gpu"], "gpu"),
        (["--preset", "--seed"], None),  # which the command refuses
        (["--label=--preset", "--", "--preset", "gpu"], None),
    ],
)
def test_a_flags_value_is_its_last_and_not_that_of_another(words, value):
    assert value_in(words, "--preset") == value
