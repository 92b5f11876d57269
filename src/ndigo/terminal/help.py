"""A command's help page, from the fields of its dataclass: everyday options first, all of them by --help-all."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import shutil
import textwrap
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

INDENT, NAMES_WIDTH, WIDEST = 2, 24, 100
VALUES = {int: "N", float: "X", str: "NAME", Path: "PATH"}  # what an option takes

Groups = Mapping[str, Sequence[str]]  # title -> fields; the first group is what --help shows


@dataclass(frozen=True)
class Option:
    """One field as a user types it."""

    field: str
    flags: tuple[str, ...]  # none of a positional
    takes: str  # "" of a switch
    text: str
    default: Any
    kind: Any = bool  # the type of one value
    is_many: bool = False  # takes all words up to the next option

    @property
    def name(self) -> str:
        return " ".join([", ".join(self.flags), self.takes]).strip()

    @property
    def is_switch(self) -> bool:
        return self.kind is bool


def options_of(arguments: type, default: Any = None, prefix: str = "") -> list[Option]:
    """Every option of a command's dataclass, those of a dataclass inside it among them."""
    hints, texts, found = typing.get_type_hints(arguments, include_extras=True), _texts(arguments), []
    for field in dataclasses.fields(arguments):
        hint, marks = hints[field.name], getattr(hints[field.name], "__metadata__", ())
        kind, names = getattr(hint, "__origin__", hint) if marks else hint, {repr(mark) for mark in marks}
        # tyro.conf.arg's name and metavar
        said = {key: getattr(mark, key, None) for mark in marks for key in ("name", "metavar") if hasattr(mark, key)}
        value = getattr(default, field.name) if default is not None else _default(field)
        name = field.name.replace("_", "-") if said.get("name") is None else said["name"]
        if "Suppress" in names:
            continue
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            found += options_of(kind, value, f"{prefix}{name}." if name else prefix)
            continue
        flag, takes = f"--{prefix}{name}", said.get("metavar") or _takes(kind)
        flags = () if "Positional" in names else (flag,)
        if kind is bool:
            is_pair = "FlagCreatePairsOff" not in names
            flags, takes = ((flag, f"--{prefix}no-{name}") if is_pair else (flag,)), ""
        is_tuple = typing.get_origin(kind) is tuple
        one, is_many = (typing.get_args(kind)[0] if is_tuple else kind), is_tuple and "UseAppendAction" not in names
        found.append(Option(field.name, flags, takes, texts.get(field.name, ""), value, one, is_many))
    return found


def help_page(arguments: type, prog: str, default: Any, groups: Groups, *, is_whole: bool) -> str:
    """The page as text. Without `is_whole` the first group alone, and a line that says what else there is."""
    width = min(max(shutil.get_terminal_size().columns, 2 * NAMES_WIDTH), WIDEST)
    options = options_of(arguments, default)
    named = {option.field: option for option in options if option.flags}
    groups = dict(groups or {"options": tuple(named)})
    if others := [field for field in named if not any(field in fields for fields in groups.values())]:
        groups["others"] = others
    first, *others = groups
    lines = [f"usage: {prog} [OPTIONS]{''.join(f' {o.takes}' for o in options if not o.flags)}", ""]
    lines += [*textwrap.wrap(" ".join((arguments.__doc__ or "").split()), width), ""]
    if positional := [line for option in options if not option.flags for line in _entry(option, width)]:
        lines += [*positional, ""]
    for title in groups if is_whole else [first]:
        lines += [title, *(line for field in groups[title] for line in _entry(named[field], width)), ""]
    helps = [Option("", ("-h", "--help"), "", "This page.", None)]
    if others:
        rest = sum(len(groups[title]) for title in others)
        helps.append(Option("", ("--help-all",), "", f"All options: {rest} more, of {', '.join(others)}.", None))
    return "\n".join([*lines, *(line for option in helps for line in _entry(option, width))])


def _entry(option: Option, width: int) -> list[str]:
    shown = _shown(option.default)
    texts = textwrap.wrap(
        " ".join(option.text.split()) + (f" [{shown}]" if shown else ""), width - NAMES_WIDTH - INDENT
    )
    if len(option.name) > NAMES_WIDTH - 2:
        texts = ["", *texts]
    names = [option.name, *[""] * (len(texts) - 1)]
    return [f"{'':{INDENT}}{name:<{NAMES_WIDTH}}{text}".rstrip() for name, text in zip(names, texts, strict=True)]


def _shown(value: Any) -> str:
    """A default as a user would type it; "" where there is nothing to say."""
    if value is None or value is dataclasses.MISSING or isinstance(value, bool):
        return ""
    if isinstance(value, tuple):
        return " ".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _takes(kind: Any) -> str:
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return "|".join(map(str, inside))
    if origin is tuple:
        return f"{_takes(inside[0])} ..."
    if inside:  # X | None
        return _takes(inside[0])
    return VALUES.get(kind, "VALUE")


def _default(field: Any) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _texts(arguments: type) -> dict[str, str]:
    """The string under each field, of the class and of those it extends."""
    texts: dict[str, str] = {}
    for kind in reversed([kind for kind in arguments.__mro__ if dataclasses.is_dataclass(kind)]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
        assert isinstance(tree, ast.ClassDef)
        for above, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name) and isinstance(below, ast.Expr):
                texts[above.target.id] = str(getattr(below.value, "value", ""))
    return texts
