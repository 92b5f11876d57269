"""A command's words as the options they name, with their values; the first mistake is an error.

What a word is, is decided by the options that the command declares:

    words = (NAME | --switch | --flag VALUE | --flag=VALUE | --flag VALUE ...)* [-- NAME ...]
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, Literal

from ndigo.errors import NdigoError, unknown_name
from ndigo.terminal.help import Option

NUMBERS = {"-inf", "-infinity", "-nan"}  # each looks like an option and is a value


@dataclass(frozen=True)
class Given:
    """An option as the words have it; a name has no flag, a switch no values."""

    option: Option
    flag: str
    values: Sequence[str]


@dataclass(frozen=True)
class Phrase:
    """A flag and the words up to the next one; the first phrase of all has no flag."""

    flag: str = ""
    words: list[str] = field(default_factory=list)
    is_joined: bool = False  # --flag=VALUE


def flag_of(word: str) -> str | None:
    """The flag that a word begins with, as it stands there (--num_seeds=3: --num_seeds); None of a value (-3)."""
    flag = word.partition("=")[0]
    is_flag = flag.startswith("-") and flag.lstrip("-")[:1].isalpha() and flag.lower() not in NUMBERS
    return flag if is_flag else None


def flags_in(words: Sequence[str]) -> list[str]:
    """The flags before "--", after which all words are names."""
    return [flag for word in _cut(words)[0] if (flag := flag_of(word)) is not None]


def value_in(words: Sequence[str], flag: str) -> str | None:
    """The last value that the words give to a flag, before anything is checked; None where there is none."""
    found = [phrase.words[0] for phrase, _ in _phrases(_cut(words)[0]) if phrase.flag == flag and phrase.words]
    return found[-1] if found else None


def given_in(words: Sequence[str], options: Iterable[Option], prog: str) -> list[Given]:
    """What the words give to which option, in their order; every flag among them is one of an option.

    The first wrong value is the error; without any the words too many, then the options that are missing.
    """
    options = [*options]
    by_flag = {flag: option for option in options for flag in option.flags}
    waiting = [option for option in options if not option.flags]
    given, spare, hint = [], [], ""
    before, after = _cut(words)
    for phrase, is_last in _phrases(before):
        names = phrase.words
        if phrase.flag:
            option = by_flag[phrase.flag]
            num_needed = sum(other.default is MISSING for other in waiting) if is_last and "--" not in words else 0
            given.append(_checked(Given(option, phrase.flag, _values(phrase, option, num_needed, prog))))
            names = names[len(given[-1].values) :]
        names = [*names, *after] if is_last else names
        while names and waiting:
            option = waiting.pop(0)
            given.append(_checked(Given(option, "", names if option.is_many else names[:1])))
            names = names[len(given[-1].values) :]
        spare += names
        if names and phrase.flag and _may_come_again(by_flag[phrase.flag]):
            hint = hint or f"; {phrase.flag} takes one value, give it again: {phrase.flag} {names[0]}"
    if spare:
        raise NdigoError(f"{', '.join(spare)} is more than {prog} takes{hint}; see {prog} --help")
    needed = [option for option in options if option.default is MISSING]
    if missing := [option.name for option in needed if not any(one.option is option for one in given)]:
        raise NdigoError(f"{prog} needs {' and '.join(missing)}; see {prog} --help")
    return given


def plain_words(given: Iterable[Given]) -> list[str]:
    """The same as words that can be read in one way only: --flag=VALUE, switches, and the names behind "--"."""
    words, names = [], []
    for one in given:
        if not one.flag:
            names += one.values
        elif one.option.is_switch:
            words.append(one.flag)
        else:
            words += [f"{one.flag}={one.values[0]}", *one.values[1:]]
    return [*words, "--", *names] if names else words


def _cut(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words before the first "--", and those after it."""
    end = [*words, "--"].index("--")
    return words[:end], words[end + 1 :]


def _phrases(words: Sequence[str]) -> Iterator[tuple[Phrase, bool]]:
    """(phrase, is_last) of the words."""
    phrase = Phrase()
    for word in words:
        if (flag := flag_of(word)) is None:
            phrase.words.append(word)
        else:
            yield phrase, False
            _, equals, value = word.partition("=")
            phrase = Phrase(flag.replace("_", "-"), [value] if equals else [], bool(equals))
    yield phrase, True


def _values(phrase: Phrase, option: Option, num_needed: int, prog: str) -> list[str]:
    """The words of a phrase that are the flag's; one that takes many leaves `num_needed` to the names."""
    if option.is_switch:
        if phrase.is_joined:
            raise NdigoError(f"{phrase.flag} takes no value, but has {phrase.words[0]!r}; see {prog} --help")
        return []
    if not phrase.words:
        raise NdigoError(f"{phrase.flag} needs a value; see {prog} --help")
    return phrase.words[: max(len(phrase.words) - num_needed, 1) if option.is_many else 1]


def _may_come_again(option: Option) -> bool:
    """True of `--trust a --trust b`: one value each time, and a tuple of all."""
    return isinstance(option.default, tuple) and not option.is_many


def _checked(given: Given) -> Given:
    """The same; an error unless each value is one of the option's type, where that is a number, a choice or a path."""
    kinds = typing.get_args(given.option.kind)
    is_optional = NoneType in kinds
    kind: Any = kinds[0] if is_optional else given.option.kind
    what = given.flag or given.option.takes
    for value in given.values:
        if is_optional and value == "None":
            continue
        if typing.get_origin(kind) is Literal:
            known = [*map(str, typing.get_args(kind))]
            if value not in known:
                raise unknown_name(f"value of {what}", value, known)
        elif kind in (int, float):
            try:
                kind(value)
            except ValueError:
                wanted = "a whole number" if kind is int else "a number"
                raise NdigoError(f"{what} {value!r}: must be {wanted}") from None
        elif kind is Path and not value:  # which Python takes for the current folder
            raise NdigoError(f"{what} is empty: name a file or a folder")
    return given
