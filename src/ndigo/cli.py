"""The command line: finds the command, reads its options, and turns bad input into one line.

Only the named command is imported, so that `ndigo --help` and a mistyped name answer at once (JAX
alone takes seconds to load). Exit codes: 0 done, 1 a run failed, 2 bad input, 128 + N stopped by signal N (130
interrupted, 143 terminated), 141 reader gone.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import sys
import textwrap
from collections.abc import Sequence
from typing import NoReturn

from ndigo import __version__
from ndigo.commands import COMMANDS
from ndigo.errors import StoppedNow, explained, frames_of, unknown_name
from ndigo.fast.compile_cache import keep_compiled_programs
from ndigo.from_module import check_trust, without_working_folder
from ndigo.terminal.starting import starting

INTERRUPTED, READER_GONE = 130, 141
UNKNOWN_WIDTH = 80  # columns of a terminal that does not say: it says 0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code.

    In a process of its own (no `argv`) a command that fails or is stopped leaves at once: the interpreter's own way out
    waits for all that the device has still to do.
    """
    if argv is not None:
        return _outcome(list(argv), is_command=False)
    _replace_closed_streams()
    try:
        code = _outcome(sys.argv[1:], is_command=True)
    except SystemExit:  # of a help page, or of a program that a user's module ends
        raise
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    if code:
        _leave(code)
    return code


def _replace_closed_streams() -> None:
    """Where a stream was closed (`>&-`), nothing is read or shown.

    Its number may not stay free: the next file that is opened would have it, and all that libraries write there.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            lowest_free = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(lowest_free, True)  # in processes that this one starts it would be free again
            setattr(sys, name, open(lowest_free, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115


def _outcome(words: list[str], *, is_command: bool) -> int:
    """The exit code, whichever way the command ended."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our characters shows a "?" for them
    try:
        code = _run(words, is_command)
        sys.stdout.flush()  # here, where a reader that has gone away is still ours to handle
    except KeyboardInterrupt as stop:
        return stop.exit_code if isinstance(stop, StoppedNow) else INTERRUPTED
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich's answer to a reader that has gone away
            return READER_GONE
        raise
    except Exception as error:
        # `ndigo ... | head`, or a closed terminal; a file's error says which file.
        is_reader_gone = isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EIO) and not error.filename
        if not is_reader_gone:
            return _tell(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where it is flushed once more on the way out
        return READER_GONE
    return code


def _tell(error: Exception) -> int:
    """The error as one line, after the frames of a user's own code where it is theirs; a mistake of ours is raised."""
    ours = explained(error)
    if ours is None:
        raise error
    if frames := frames_of(ours):
        print(frames, file=sys.stderr)
    # In one write: with PYTHONUNBUFFERED print makes two, and a line of JAX's threads can come between.
    sys.stderr.write(_fitted(f"ndigo: {' '.join(str(ours).split())}") + "\n")
    return ours.exit_code


def _fitted(line: str) -> str:
    """The line, broken between words where a terminal would break it inside of one; elsewhere it stays one line."""
    if not sys.stderr.isatty():
        return line
    width = os.get_terminal_size(sys.stderr.fileno()).columns or UNKNOWN_WIDTH
    return textwrap.fill(line, max(width, 20), break_long_words=False, break_on_hyphens=False)


def _leave(code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # ValueError: closed
            stream.flush()
    os._exit(code)


def _run(argv: list[str], is_command: bool) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_help())
    elif argv[0] in ("-V", "--version"):
        print(f"ndigo {__version__}")
    elif argv[0] not in COMMANDS:
        raise unknown_name("option" if argv[0].startswith("-") else "command", argv[0], COMMANDS)
    else:
        if is_command:
            without_working_folder()
        keep_compiled_programs(is_command=is_command)
        with starting(is_shown=is_command):
            command = importlib.import_module(f"ndigo.commands.{argv[0]}")
            options = importlib.import_module("ndigo.terminal.options")
        # A command whose defaults depend on its words (a preset) says so with a function of them.
        default = command.defaults(argv[1:]) if hasattr(command, "defaults") else None
        groups = getattr(command, "GROUPS", None)  # of options, where --help shows but the first
        args = options.read(command.Arguments, f"ndigo {argv[0]}", argv[1:], default, groups)
        check_trust(getattr(args, "trust", ()))
        return command.run(args) or 0
    return 0


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "usage: ndigo COMMAND [OPTIONS]",
            "",
            "An agent that discovers its world, and the instruments to see it.",
            "",
            *lines,
            "",
            "ndigo COMMAND --help shows the options of one; ndigo --version the version.",
        ]
    )
