"""A disk that is full: the system refuses every write beyond some bytes of a file."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator


@contextlib.contextmanager
def files_end_at(num_bytes: int) -> Iterator[None]:
    """Within the block no file of this process can grow beyond `num_bytes`; writes fail half-way, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)  # Python ignores the signal that comes with it
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
