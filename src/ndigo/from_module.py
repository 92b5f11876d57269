"""Records of the user's own, named on the command line as MODULE:NAME."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Any, TypeVar

from ndigo.errors import NdigoError

T = TypeVar("T")


def from_module(spec: str, what: str, kind: type[T]) -> T:
    """The record `spec` names, or what the function it names returns; modules of the working folder count."""
    module_name, _, attribute = spec.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, ValueError) as error:  # ValueError: an empty module name
        hint = "run from the folder it lies in, or name that in PYTHONPATH"
        raise NdigoError(f"{what} {spec!r}: cannot import {module_name!r} ({error}); {hint}") from None
    except AttributeError:
        raise NdigoError(f"{what} {spec!r}: module {module_name} has no {attribute!r}") from None
    record: Any = found
    if not isinstance(found, kind) and callable(found):
        try:
            inspect.signature(found).bind()
        except (TypeError, ValueError):  # ValueError: a built-in that does not say what it takes
            raise NdigoError(
                f"{what} {spec!r}: a function must need no arguments and return a {kind.__name__}"
            ) from None
        record = found()
    if not isinstance(record, kind):
        raise NdigoError(f"{what} {spec!r}: expected a {kind.__name__} record, got {type(record).__name__}")
    return record
