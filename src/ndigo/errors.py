"""Errors a user can cause, each one clear line: what is wrong, what is allowed, the nearest match."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
SCREENFUL = 50  # names
JAX_BEGINS = ("jax/_src/xla_bridge.py", "jax/_src/config.py")  # where JAX reads its variables and looks for devices
CACHE_VARIABLES = ("JAX_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE")  # which we set ourselves
LINES_OF_ERROR = 12  # of a foreign error's own text; JAX's can be pages


class NdigoError(ValueError):
    """Bad input. The command line prints its message as one line and exits with the error's code."""

    exit_code = 2


class StoppedNow(KeyboardInterrupt):
    """The signal of a person who will not wait until a chunk is saved."""

    def __init__(self, number: int):
        super().__init__(number)
        self.exit_code = 128 + number


class FailedError(NdigoError):
    """What was asked for is right, and the machine cannot do it."""

    exit_code = 1


class UserCodeError(NdigoError):
    """A user's own code raised: its error is the cause, and `traceback_of` it the part worth reading.

    Of another process the part worth reading comes as a note.
    """


def install(extra: str) -> str:
    """How to get the packages of an extra, where `ndigo` is installed and in a checkout, where no index may be asked.

    >>> print(install("viewer"))
    pip install 'ndigo[viewer]', or in a checkout pip install -e '.[viewer]'
    """
    return f"pip install 'ndigo[{extra}]', or in a checkout pip install -e '.[{extra}]'"


def unknown_name(
    what: str, name: object, known: Iterable[str], lists: str = "", such: Sequence[str] = ()
) -> NdigoError:
    """The error for a name that is in no registry: lists the known ones and the nearest.

    >>> print(unknown_name("world", "maz", ["maze", "brownian"]))
    unknown world 'maz'; nearest: maze; known: brownian, maze

    Of more than a screen's worth, or where a command `lists` them, only the nearest are named, or some `such`.
    """
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    hint = f"nearest: {near[0]}; " if near else ""
    if lists:
        return NdigoError(f"unknown {what} {str(name)!r}; {hint}{lists} lists all {len(names)}")
    if len(names) > SCREENFUL:
        some = f"nearest: {', '.join(near)}" if near else f"such as {', '.join(such or names[:3])}"
        return NdigoError(f"unknown {what} {str(name)!r}; {some} ({len(names)} are known)")
    return NdigoError(f"unknown {what} {str(name)!r}; {hint}known: {', '.join(names)}")


def of_gymnasium(given: object) -> str:
    """`; ndigo.interop.suites.from_gymnasium(...)`: what makes ours of a class, an environment or a space of its."""
    kinds = (given if isinstance(given, type) else type(given)).__mro__
    homes = [kind.__module__ for kind in kinds if kind.__module__.startswith("gymnasium.")]  # it need not be installed
    if any(home.startswith("gymnasium.spaces") for home in homes):
        return "; ndigo.frame_of(name, space, lambda: observation) makes and reads one of a space"
    make = "from_gymnasium(lambda: env) of ndigo.interop.suites"
    return f"; {make} makes one of an environment, and so does the name gymnasium::MODULE:ID" if homes else ""


@contextlib.contextmanager
def running(what: str) -> Iterator[None]:
    """Around a call of a user's own code: whatever it raises becomes an error that says whose it is."""
    try:
        yield
    except (NdigoError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        raise UserCodeError(f"{what} called sys.exit({error.code!r}); code that is imported must return") from error
    except BaseException as error:
        raise UserCodeError(f"{what} raised {first_line(error)}") from error


def explained(error: Exception) -> NdigoError | None:
    """What a user reads in place of a traceback of ours; None for a mistake of ours, which must show itself."""
    if isinstance(error, NdigoError):
        return error
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
        asked = re.search(r"allocat\w* ([\d.]+ ?\w+)", str(error))
        much = f": {asked[1]} more were needed" if asked else ""
        return FailedError(f"out of memory{much}; lower replay_steps, actors, batch, seeds or the number of episodes")
    if isinstance(error, OSError) and (error.filename is not None or error.errno in DISK_ERRORS):
        kind = FailedError if error.errno in DISK_ERRORS else NdigoError
        where = "the output" if error.filename is None else os.fsdecode(error.filename)
        return kind(f"{where}: {error.strerror or first_line(error)}")
    if isinstance(error, UnicodeEncodeError):
        return NdigoError(f"{error.object[error.start : error.end]!r} cannot be written: it is no character")
    if any(_is_users(frame.filename) for frame in traceback.extract_tb(error.__traceback__)):
        theirs = UserCodeError(f"your code raised {first_line(error)}")
        theirs.__cause__ = error
        return theirs
    if variables := _refused_by_jax(error):
        return NdigoError(f"JAX cannot begin with {variables}: unset that, or give what this machine has")
    return None


def frames_of(error: NdigoError) -> str:
    """`traceback_of` what a user's own code raised; "" of any other error."""
    if not isinstance(error, UserCodeError):
        return ""
    return "\n".join(getattr(error, "__notes__", ())) if error.__cause__ is None else traceback_of(error.__cause__)


def _refused_by_jax(error: BaseException) -> str:
    """`JAX_PLATFORMS=cuda`: the variables that JAX does not take; "" where the error is another's."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not frames[-1].filename.endswith(JAX_BEGINS):
        return ""
    names = [n for n in sorted(os.environ) if n.startswith("JAX_") and not n.startswith(CACHE_VARIABLES)]
    return ", ".join(f"{name}={os.environ[name]}" for name in names)


def first_line(error: BaseException) -> str:
    """`KeyError: 'door'`: what an error is and the first line of what it says."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def traceback_of(error: BaseException) -> str:
    """An error's traceback without the frames of this package and of the machinery it runs on; "" where none is left.

    A mistake of syntax has no frame of its own, but says where it stands.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)]
    if not frames and not isinstance(error, SyntaxError):
        return ""
    text = "".join(traceback.format_exception_only(error)).split("\n--------------------")[0]
    said = "\n".join(text.rstrip().split("\n")[:LINES_OF_ERROR])
    return "".join(["Your code, most recent call last:\n", *traceback.format_list(frames), said])


def _is_users(filename: str) -> bool:
    """True for a file that is neither ours nor of any installed package."""
    installed = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    return not (_is_machinery(filename) or filename.startswith("<") or set(installed) & set(Path(filename).parents))


def _is_machinery(filename: str) -> bool:
    loaded = [sys.modules.get(name) for name in ("ndigo", "jax", "equinox", "gymnasium", "importlib")]
    folders = [Path(module.__file__).parent for module in loaded if module is not None and module.__file__]
    path = Path(filename)
    return filename.startswith("<frozen") or filename == contextlib.__file__ or any(f in path.parents for f in folders)
