"""The structure of a program's result as JSON, so that a program need not be traced to know what its leaves are.

A part that has the structure of an argument is that argument's number; else a tuple is a list, a record its class and
fields, and an array is "leaf".
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import equinox as eqx
import jax

LEAF = "leaf"


def outline(result: Any, args: tuple[Any, ...]) -> Any:
    structures = [jax.tree.structure(arg) for arg in args]

    def of(x: Any) -> Any:
        if (structure := jax.tree.structure(x)) in structures:
            return structures.index(structure)
        if type(x) is tuple:
            return [of(part) for part in x]
        if isinstance(x, eqx.Module):
            fields = {field.name: of(getattr(x, field.name)) for field in dataclasses.fields(x)}
            return {"record": [type(x).__module__, type(x).__qualname__], "fields": fields}
        return None if x is None else LEAF

    return of(result)


def tree_of(outline: Any, args: tuple[Any, ...]) -> Any:
    """A tree of that structure, whatever its leaves; records are looked for among what has been imported."""
    if isinstance(outline, int):
        return args[outline]
    if isinstance(outline, list):
        return tuple(tree_of(part, args) for part in outline)
    if isinstance(outline, dict):
        module, name = outline["record"]
        fields = {field: tree_of(part, args) for field, part in outline["fields"].items()}
        return getattr(sys.modules[module], name)(**fields)
    return outline
