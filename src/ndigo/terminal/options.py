"""A command's options from its words, with every mistake as one line.

tyro reads the options into the command's dataclass. It reports mistakes in boxes of several lines, coloured on a
terminal; we read the box and say the same in one line of our own words, with what is allowed and the nearest match.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from difflib import get_close_matches
from typing import Annotated, TypeVar

import tyro

from ndigo.errors import NdigoError, unknown_name
from ndigo.terminal.help import Groups, help_page, options_of

T = TypeVar("T")

# An option of every command that opens a run or an agent, each of which may be anybody's.
Trust = Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="MODULE")]

# What other libraries call an option, and what it is here.
RATES = ("--model-rate", "--agent-rate", "--probe-rate")
ELSEWHERE: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("lr", "learning-rate", "rate"), RATES),
    **dict.fromkeys(
        ("steps", "total-steps", "total-timesteps", "timesteps", "iterations", "epochs"), ("--learner-steps",)
    ),
    "batch-size": ("--batch",),
    "num-envs": ("--actors",),
    "num-seeds": ("--seeds",),
    **dict.fromkeys(("output", "output-dir", "logdir", "save"), ("--out",)),
    **dict.fromkeys(("device", "gpu", "cpu", "cuda"), ("--preset",)),
    **dict.fromkeys(("wandb", "tensorboard", "track"), ("--log",)),
    "buffer-size": ("--replay-steps",),
}

FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w.-]*")
BAD_CHOICE = re.compile(
    r"invalid choice '(?P<value>.*)' for argument '(?P<flag>.*)'\. Expected one of \((?P<known>.*)\)"
)
BAD_VALUE = re.compile(r"Error parsing (?P<flag>\S+):.*[:,] (?P<value>'.*')")
NO_VALUE = re.compile(r"Missing value for argument '(?P<flag>.*?)'")
TOO_MUCH = re.compile(r"Unrecognized options: (?P<words>.*)")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
MOST_LISTED = 16  # options in one message


def read(
    arguments: type[T], prog: str, words: Sequence[str], default: T | None = None, groups: Groups | None = None
) -> T:
    """The dataclass `arguments`, filled from the words of the command line, else from `default`.

    Asked for help, prints the page and exits; of `groups` of options --help has the first, --help-all every one.
    """
    if {"-h", "--help", "--help-all"} & {*words}:
        print(help_page(arguments, prog, default, groups or {}, is_whole="--help-all" in words))
        raise SystemExit(0)
    _check_flags(words, arguments, prog)
    box = io.StringIO()
    try:
        with _unwrapped(), contextlib.redirect_stderr(box):
            return _parse(arguments, prog, words, default)
    except SystemExit:
        raise _one_line(COLOUR.sub("", box.getvalue()), prog, arguments) from None


def within(option: str, value: float, low: float, high: float) -> None:
    """Raises an error that names the option unless low <= value <= high."""
    if not low <= value <= high:
        raise NdigoError(f"{option} {value}: must be from {low} to {high}")


def _parse(arguments: type[T], prog: str, words: Sequence[str], default: T | None = None) -> T:
    if default is None:
        return tyro.cli(arguments, prog=prog, args=words)
    return tyro.cli(arguments, prog=prog, args=words, default=default)


def _check_flags(words: Sequence[str], arguments: type, prog: str) -> None:
    """tyro complains of a missing name before an unknown option, and never lists the known ones."""
    known = {flag for option in options_of(arguments) for flag in option.flags} | {"--help", "--help-all"}
    for flag in (match[0] for word in words if (match := FLAG.match(word))):
        if flag.replace("_", "-") not in known:
            raise unknown_option(flag, known, prog)


def unknown_option(flag: str, known: Iterable[str], prog: str) -> NdigoError:
    """The error for an option that does not exist: first the nearest, or what others call so, then where all stand."""
    names = sorted(known)
    meant = [name for name in ELSEWHERE.get(flag.strip("-").replace("_", "-"), ()) if name in names]
    nearest = meant or get_close_matches(flag, names, n=1, cutoff=0.4)
    hint = f"nearest: {', '.join(nearest)}; " if nearest else ""
    is_short = len(names) <= MOST_LISTED
    rest = f"known: {', '.join(names)}" if is_short else f"{prog} --help-all lists all {len(names)}"
    return NdigoError(f"unknown option {flag!r}; {hint}{rest}")


def _one_line(box: str, prog: str, arguments: type) -> NdigoError:
    message, *details = _sections(box) or [""]
    if match := BAD_CHOICE.search(message):
        return unknown_name(f"value of {match['flag']}", match["value"], re.findall(r"'([^']*)'", match["known"]))
    if match := BAD_VALUE.search(message):
        # Under the message tyro repeats the option with what it takes: "--episodes INT".
        takes = re.search(rf"{re.escape(match['flag'])} \S+", " ".join(details))
        what = takes[0].replace("{None}|", "") if takes else match["flag"]
        return NdigoError(f"{match['value']} is no value for {what}")
    if match := NO_VALUE.search(message):
        return NdigoError(f"{match['flag']} needs a value; see {prog} --help")
    if match := TOO_MUCH.search(message):
        return NdigoError(f"{match['words']} is more than {prog} takes; see {prog} --help")
    needed = [option.name for option in options_of(arguments) if option.default is MISSING]
    return NdigoError(f"{prog} needs {' and '.join(needed) or 'other words'}; see {prog} --help")


def _sections(box: str) -> list[str]:
    """The texts between the rules of a box; where the terminal has no box characters it is a bare list."""
    sections = [""]
    for line in box.strip().splitlines():
        row = line.strip(" │")
        if row and set(row) <= set("─-"):
            sections.append("")
        elif not row.startswith(("╭", "╰")):
            sections[-1] = f"{sections[-1]} {row}".strip()
    return sections if box.startswith("╭") else sections[1:]  # a bare list opens with its title


@contextlib.contextmanager
def _unwrapped() -> Iterator[None]:
    """tyro breaks lines at the terminal's width, in the middle of what we look for."""
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "1000"
    try:
        yield
    finally:
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
