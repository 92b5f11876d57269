"""Every mistake in the options is one line that says what is allowed."""

import io
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
import tyro

from ndigo.errors import NdigoError
from ndigo.terminal.options import read, unknown_option, within


@dataclass(frozen=True)
class Learner:
    learning_rate: float = 1e-3
    """Adam's."""


@dataclass(frozen=True)
class Arguments:
    """Do a thing."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Of the thing."""
    num_episodes: int = 100
    """How many."""
    predictor: Literal["mlp", "action_gru", "open_loop"] = "mlp"
    """Which."""
    is_loud: bool = False
    """Or quiet."""
    minutes: float | None = None
    """At most."""
    learner: Learner = Learner()


def mistake(words: str) -> str:
    with pytest.raises(NdigoError) as error:
        read(Arguments, "ndigo thing", words.split())
    assert "\n" not in str(error.value)
    return str(error.value)


def test_words_fill_the_dataclass():
    args = read(Arguments, "ndigo thing", ["a", "--num-episodes", "3", "--learner.learning-rate", "0.5", "--is-loud"])
    assert args == Arguments("a", num_episodes=3, is_loud=True, learner=Learner(0.5))
    assert read(Arguments, "ndigo thing", ["a", "--num_episodes=4"]).num_episodes == 4


@pytest.mark.parametrize("words", ["a --num-episode 3", "--num-episode=3 a", "--num-episode 3"])
def test_an_unknown_option_gets_the_known_ones_and_the_nearest(words):
    message = mistake(words)
    assert message.startswith("unknown option '--num-episode'; nearest: --num-episodes; known: --help, ")
    assert "--learner.learning-rate" in message


@pytest.mark.parametrize(
    ("flag", "meant"), [("--lr", "--model-rate, --agent-rate, --probe-rate"), ("--batch_size", "--batch")]
)
def test_an_option_of_other_libraries_is_told_by_its_name_here(flag, meant):
    known = ["--log", "--model-rate", "--agent-rate", "--probe-rate", "--batch"]
    message = str(unknown_option(flag, known, "ndigo train"))
    assert message.startswith(f"unknown option '{flag}'; nearest: {meant}; known: ")
    # Where there is no rate.
    assert "nearest: --log; " in str(unknown_option(flag, ["--log"], "ndigo train")) or flag != "--lr"


def test_an_option_is_known_by_its_first_word():
    known = ["--minutes", "--updates-per-round", "--rounds-per-chunk"]
    assert "nearest: --updates-per-round; " in str(unknown_option("--updtes", known, "ndigo train"))


def test_a_long_list_of_options_stays_on_its_help_page():
    known = [f"--option-{i}" for i in range(40)]
    message = str(unknown_option("--optoin-7", known, "ndigo train"))
    assert message == "unknown option '--optoin-7'; nearest: --option-7; ndigo train --help-all lists all 40"


def test_a_short_option_that_does_not_exist_is_unknown_too():
    assert mistake("a -q").startswith("unknown option '-q'; known: --help, ")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_value_of_the_wrong_type_is_named_with_what_the_option_takes(encoding, monkeypatch):
    # tyro draws its boxes with other characters on a terminal that has no Unicode.
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert mistake("a --num-episodes many") == "--num-episodes 'many': must be a whole number"
    assert mistake("a --minutes few") == "--minutes 'few': must be a number"
    assert mistake("a --learner.learning-rate fast") == "--learner.learning-rate 'fast': must be a number"


def test_a_value_that_is_no_choice_gets_the_choices_and_the_nearest(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")  # a narrow terminal breaks no message
    assert mistake("a --predictor mpl") == (
        "unknown value of --predictor 'mpl'; nearest: mlp; known: action_gru, mlp, open_loop"
    )


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


@pytest.mark.parametrize("stdout", [io.TextIOWrapper, Terminal], ids=["a pipe", "a terminal"])
def test_what_is_missing_or_too_much_is_named_in_our_own_words(stdout, monkeypatch):
    # On a terminal tyro colours its boxes, word by word.
    monkeypatch.setattr(sys, "stdout", stdout(io.BytesIO(), encoding="utf-8"))
    monkeypatch.setenv("TERM", "xterm-256color")
    assert mistake("a --num-episodes") == "--num-episodes needs a value; see ndigo thing --help"
    assert mistake("--is-loud") == "ndigo thing needs NAME; see ndigo thing --help"
    assert mistake("a b c") == "b, c is more than ndigo thing takes; see ndigo thing --help"
    assert mistake("a --num-episodes many") == "--num-episodes 'many': must be a whole number"


def test_a_value_outside_its_range_names_option_and_range():
    within("--seed", 0, 0, 10)
    within("--seed", 10, 0, 10)
    with pytest.raises(NdigoError, match=r"^--seed 11: must be from 0 to 10$"):
        within("--seed", 11, 0, 10)
