"""A command's options from its words, with every mistake as one line.

The options that the command's dataclass declares decide what is wrong with the words: an option that does not exist,
and all that `words.given_in` refuses. tyro fills the dataclass from words without a mistake.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Annotated, TypeVar

import tyro

from ndigo.config import ELSEWHERE, LAST_SEED
from ndigo.errors import NdigoError
from ndigo.terminal.help import Groups, help_page, options_of
from ndigo.terminal.words import flags_in, given_in, plain_words

T = TypeVar("T")

# An option of every command that opens a run or an agent, each of which may be anybody's.
Trust = Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="MODULE")]

Switch = Annotated[bool, tyro.conf.FlagCreatePairsOff]  # --name alone, without --no-name

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
    options = options_of(arguments, default)
    known = {flag for option in options for flag in option.flags} | {"--help", "--help-all"}
    for flag in flags_in(words):
        if flag.replace("_", "-") not in known:
            raise unknown_option(flag, known, prog)
    return _filled(arguments, prog, plain_words(given_in(words, options, prog)), default)


def within(option: str, value: float, low: float, high: float) -> None:
    """Raises an error that names the option unless low <= value <= high."""
    if not low <= value <= high:
        raise NdigoError(f"{option} {value}: must be from {low} to {high}")


def check_seed(seed: int) -> None:
    within("--seed", seed, 0, LAST_SEED)


def unknown_option(flag: str, known: Iterable[str], prog: str) -> NdigoError:
    """The error for an option that does not exist: first the nearest, or what others call so, then where all stand."""
    names = sorted(known)
    meant = [name for name in ELSEWHERE.get(flag.strip("-").replace("_", "-"), ()) if name in names]
    called = {name[: name.find("-", 2)]: name for name in names if "-" in name[2:]}  # --updates-per-round: --updates
    called |= {name: name for name in names}
    nearest = meant or [called[word] for word in get_close_matches(flag, called, n=1)]
    hint = f"nearest: {', '.join(nearest)}; " if nearest else ""
    is_short = len(names) <= MOST_LISTED
    rest = f"known: {', '.join(names)}" if is_short else f"{prog} --help-all lists all {len(names)}"
    return NdigoError(f"unknown option {flag!r}; {hint}{rest}")


def _filled(arguments: type[T], prog: str, words: Sequence[str], default: T | None) -> T:
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            if default is None:
                return tyro.cli(arguments, prog=prog, args=words)
            return tyro.cli(arguments, prog=prog, args=words, default=default)
    except SystemExit:  # a value of a type that only tyro knows
        raise NdigoError(f"{prog} cannot read {' '.join(words)}; see {prog} --help") from None
