"""Several processes that train one run, each with its own devices (`jax.distributed`).

All of them run the same commands in the same order. The first one writes what there is one of: settings, metrics, the
checkpoint's manifest. One that is lost takes the others with it, and each of them says how to go on.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils

from ndigo.errors import FailedError, NdigoError, first_line

REASONS = ("", "time", "finished", *(s.name for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)))
MOST_PROCESSES = 100_000
# Says what it reads, unless the last word is that all went well.
LAST_WORD = "import sys; text = sys.stdin.read(); sys.stderr.write('' if text.endswith('over') else text)"


def join(coordinator: str | None, processes: int | None, process: int | None) -> None:
    """Makes this process one of a run's, before JAX looks for devices; without words, the scheduler's variables say."""
    named = [coordinator, processes, process]
    if any(word is not None for word in named) and None in named:
        raise NdigoError("--coordinator HOST:PORT, --processes N and --process I belong together")
    if processes is not None and not 1 <= processes <= MOST_PROCESSES:
        raise NdigoError(f"--processes {processes}: must be from 1 to {MOST_PROCESSES:,}")
    if processes is not None and process is not None and not 0 <= process < processes:
        raise NdigoError(f"--process {process}: must be from 0 to {processes - 1}, below --processes {processes}")
    host, _, port = ("10.0.0.1:1234" if coordinator is None else coordinator).rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 2**16):
        raise NdigoError(f"--coordinator {coordinator}: write HOST:PORT, as 10.0.0.1:1234, with a port below 65,536")
    try:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(coordinator, processes, process)
    except (ValueError, RuntimeError) as error:
        hint = "" if coordinator else "; without a scheduler say --coordinator HOST:PORT --processes N --process I"
        raise FailedError(f"the processes did not find each other ({first_line(error)}){hint}") from None


def is_first() -> bool:
    return jax.process_index() == 0


def wait_for_all(name: str) -> None:
    """Returns when every process has come here."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(name)


def agree(why: str) -> str:
    """The first process' reason to stop that has one, known to all; "" where none has."""
    if jax.process_count() == 1:
        return why
    codes = multihost_utils.process_allgather(np.int32(REASONS.index(why)))
    return next((REASONS[int(code)] for code in np.ravel(codes) if code), "")


def of_first(number: int) -> int:
    """The first process' number, known to all."""
    if jax.process_count() == 1:
        return number
    return int(np.ravel(multihost_utils.process_allgather(np.int32(number)))[0])


def of_any(flags: Sequence[bool]) -> list[bool]:
    """Which of them any process has raised, known to all."""
    if jax.process_count() == 1:
        return list(flags)
    return multihost_utils.process_allgather(np.asarray(flags)).any(axis=0).tolist()


def on_host(tree: Any) -> Any:
    """Arrays of all devices as host arrays of every process."""
    if jax.process_count() == 1:
        return jax.device_get(tree)
    return multihost_utils.process_allgather(tree, tiled=True)


def joined_on_host(rounds: Sequence[Any]) -> Any:
    """The numbers of several rounds, [S, updates, ...] each, as one record of host arrays."""
    if jax.process_count() == 1:
        return jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *jax.device_get(rounds))
    return on_host(jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=1), *rounds))


@contextlib.contextmanager
def all_or_none(go_on: str) -> Iterator[None]:
    """Around what the processes do together: whichever way another is lost, this one ends with a line that says so.

    JAX ends a process whose coordinator is gone from within, where no Python runs any more. So the line is left with a
    child that says it when its standard input ends without the word that all went well.
    """
    if jax.process_count() == 1:
        yield
        return
    who = f"process {jax.process_index()} of {jax.process_count()}"
    line = f"ndigo: {who} ended, and the run with it: a process is lost; go on with {go_on}\n"
    command = [sys.executable, "-I", "-S", "-c", LAST_WORD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True) as child:
        assert child.stdin is not None
        child.stdin.write(line)
        child.stdin.flush()
        try:
            yield
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" in str(error):
                raise
            raise FailedError(f"{who} has lost another ({first_line(error)}); go on with {go_on}") from None
        finally:
            child.stdin.write("over")
