"""One writer per run: a lock that the system takes back when its process dies, however it dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from ndigo.errors import NdigoError
from ndigo.storage.run_folder import WriteError, make_folder

NAME = ".lock"  # stays when nobody holds it: to remove it would take it from one who has just opened it
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr)


@contextlib.contextmanager
def one_writer(run: Path, warn: Callable[[str], None] = _to_stderr) -> Iterator[None]:
    """Within the block no other process writes the run; where one does, an error names it.

    Of several processes that make one run together, only the one that writes its files enters.
    """
    make_folder(run)
    try:
        handle = os.open(run / NAME, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise WriteError(f"cannot write {run / NAME}: {error.strerror or error}") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NdigoError(f"{run} is being written by {_holder(handle)}; wait until that ends, or stop it") from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise WriteError(f"cannot lock {run / NAME}: {error.strerror or error}") from None
            warn(f"{run} is on a file system without locks: see to it yourself that no other process writes this run")
        with contextlib.suppress(OSError):  # a full disk: it is locked all the same
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        yield
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    try:
        holder = json.loads(os.pread(handle, 1000, 0))
        return f"process {holder['pid']} on {holder['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
