"""Records of the user's own, named as MODULE:NAME; and Gymnasium's gymnasium::MODULE:ID, which MODULE registers.

To find one runs its module. On the command line and in Python the name is the user's own word. A file may be anybody's:
a name that stands in one counts only where the user trusts that module (`trust`).
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Collection
from types import ModuleType
from typing import Any, TypeVar

from ndigo.errors import NdigoError, UserCodeError, of_gymnasium, running

T = TypeVar("T")


def is_module(name: str) -> bool:
    """Whether a name leads into a module of the user's, as MODULE:NAME; SUITE::ID does not."""
    return ":" in name and "::" not in name


def module_of(name: str) -> str | None:
    """The module that to find a name runs: of MODULE:NAME, and of SUITE::MODULE:ID; None where there is none."""
    own = name.partition("::")[2] if "::" in name else name
    return own.partition(":")[0] if ":" in own else None


def check_trust(trust: Collection[str]) -> None:
    """An error unless all that is trusted could be modules: any other name would silently do nothing."""
    if isinstance(trust, str) or not isinstance(trust, Collection):  # of a text every letter would be trusted
        example = trust if isinstance(trust, str) else "my_module"
        raise NdigoError(f"trust {trust!r}: expected a list of modules' names, such as [{example!r}]")
    for name in map(str, trust):
        if "," in name:
            said = " ".join(f"--trust {part.strip()}" for part in name.split(","))
            raise NdigoError(f"trust {name!r}: each module apart: {said} (in Python trust={name.split(',')})")
        if not is_module_name(name):
            module = name.partition(":")[0]
            meant = repr(module) if is_module_name(module) else "MODULE"
            raise NdigoError(f"trust {name!r}: no module has such a name; where a file says MODULE:NAME, trust {meant}")


def is_module_name(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def from_module(spec: str, what: str, kind: type[T], trust: Collection[str] | None = None) -> T:
    """The record `spec` names, or what the function it names returns; modules of the working folder count.

    `trust` is None where the user has named `spec`, else the modules that a file may name.
    """
    module_name, _, attribute = spec.partition(":")
    if not is_module_name(module_name):
        written = _of_file(module_name, attribute) or "MODULE:NAME"
        raise NdigoError(f"{what} {spec!r}: {module_name!r} is no module's name; write {written}")
    require_trust(spec, what, module_name, trust)
    working_folder_last()
    module = import_own(spec, what, module_name, attribute)
    if not hasattr(module, attribute):
        where = getattr(module, "__file__", None) or "built in"
        there = [name for name, found in vars(module).items() if isinstance(found, kind)]
        has = f"; it has {', '.join(there)}" if there else ""
        raise NdigoError(f"{what} {spec!r}: module {module_name} ({where}) has no {attribute!r}{has}")
    found: Any = getattr(module, attribute)
    record: Any = found
    if not isinstance(found, kind) and callable(found) and not of_gymnasium(found):
        try:
            inspect.signature(found).bind()
        except (TypeError, ValueError):  # ValueError: a built-in that does not say what it takes
            raise NdigoError(f"{what} {spec!r}: a function must need no arguments and return {_a(kind)}") from None
        with running(f"{what} {spec!r}"):
            record = found()
    if not isinstance(record, kind):
        got = f"{getattr(record, '__name__', type(record).__name__)}{of_gymnasium(record)}"
        raise NdigoError(f"{what} {spec!r}: expected a record of {kind.__name__}, got {got}")
    return record


def import_own(spec: str, what: str, module_name: str, attribute: str) -> ModuleType:
    """The module that `spec` names before an attribute; an error in one line where there is none."""
    try:
        with running(f"{what} {spec!r}: module {module_name}"):
            return importlib.import_module(module_name)
    except UserCodeError as error:
        if not isinstance(error.__cause__, ModuleNotFoundError):
            raise
        missing = error.__cause__.name or module_name
        hint = "run from the folder it lies in, or name that in PYTHONPATH"
        is_named = missing == module_name or module_name.startswith(f"{missing}.")
        if is_named and (written := _of_file(module_name, attribute)):
            hint = f"write {spec.removesuffix(f'{module_name}:{attribute}')}{written}"
        by = "" if is_named else f", which {module_name!r} imports"
        raise NdigoError(f"{what} {spec!r}: there is no module {missing!r}{by}; {hint}") from None


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"


def require_trust(spec: str, what: str, module_name: str, trust: Collection[str] | None) -> None:
    """An error where a file names `spec`, and the user does not trust the module that it runs."""
    if trust is not None and module_name not in trust:
        raise NdigoError(
            f"{what} {spec!r} is named by a file, and to load it runs the module {module_name!r}: if you trust that, "
            f"add --trust {module_name} (in Python trust=[{module_name!r}], or hand over the record)"
            f"{_others(trust, module_name)}"
        )


def meant_module(name: str, attribute: str) -> str:
    """`; my_module.py lies here: did you mean my_module:world`, where it does; nothing is run to find out."""
    module_name = name.removesuffix(".py")
    if not module_name.isidentifier() or not os.path.isfile(f"{module_name}.py"):
        return ""
    return f"; {module_name}.py lies here: did you mean {module_name}:{attribute}"


def _of_file(name: str, attribute: str) -> str:
    """`my_module:world` for one who wrote the file, `folder/my_module.py`; "" for any other name."""
    folder, file = os.path.split(name)
    module_name = file.removesuffix(".py")
    if not file.endswith(".py") or not is_module_name(module_name):
        return ""
    return f"{module_name}:{attribute or 'NAME'}{f' from the folder {folder}' if folder else ''}"


def _others(trust: Collection[str], module_name: str) -> str:
    """What is trusted in place of the module: perhaps its name, mistyped."""
    return f"; you trust {', '.join(map(repr, sorted(trust)))}, not {module_name!r}" if trust else ""


def working_folder_last() -> None:
    """From here on modules of the working folder are found, but none of them in place of an installed one."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def without_working_folder() -> None:
    """Nothing in the working folder is imported before the user names a module of their own.

    Python puts the folder first (`python -m`, `python -c`, an empty part of PYTHONPATH). At the end of the path it
    would still do harm: packages that are not installed are asked for by name (JAX looks for plugins, a world may be
    another suite's), and whoever could put files into the folder would answer. Named in PYTHONPATH it goes to the end.
    """
    try:
        here = os.getcwd()
    except FileNotFoundError:  # it was removed
        here = ""
    named = {os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and here}
    sys.path[:] = [entry for entry in sys.path if entry not in ("", here)] + ([here] if here in named else [])
