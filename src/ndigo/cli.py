"""The command line: finds the command, reads its options, and turns bad input into one line.

Only the named command is imported, so that `ndigo --help` and a mistyped name answer at once (JAX
alone takes seconds to load). Exit codes: 0 done, 1 a run failed, 2 bad input, 130 interrupted, 141 reader
gone, 143 terminated.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence

from ndigo import __version__
from ndigo.commands import COMMANDS
from ndigo.compile_cache import keep_compiled_programs
from ndigo.errors import NdigoError, unknown_name

INTERRUPTED, READER_GONE = 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our characters shows a "?" for them
    try:
        keep_compiled_programs(is_command=argv is None)
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()  # here, where a reader that has gone away is still ours to handle
    except NdigoError as error:
        print("ndigo:", " ".join(str(error).split()), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        if argv is None:
            with contextlib.suppress(OSError):
                sys.stdout.flush()
            os._exit(INTERRUPTED)  # the interpreter's own way out waits for all that the device has still to do
        return INTERRUPTED
    except BrokenPipeError:
        # `ndigo ... | head`: the interpreter flushes stdout once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    return code


def _run(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_help())
    elif argv[0] in ("-V", "--version"):
        print(f"ndigo {__version__}")
    elif argv[0] not in COMMANDS:
        raise unknown_name("option" if argv[0].startswith("-") else "command", argv[0], COMMANDS)
    else:
        command = importlib.import_module(f"ndigo.commands.{argv[0]}")
        options = importlib.import_module("ndigo.terminal.options")
        # A command whose defaults depend on its words (a preset) says so with a function of them.
        default = command.defaults(argv[1:]) if hasattr(command, "defaults") else None
        return command.run(options.read(command.Arguments, f"ndigo {argv[0]}", argv[1:], default)) or 0
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
