"""While a command's modules load, which takes seconds for JAX alone: a word on a terminal, elsewhere nothing.

It imports nothing that loads slowly, so that it can stand before everything that does.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 0.5  # seconds before a word is worth saying
WORD, ERASE = "loading ...", "\r\x1b[K"


@contextmanager
def starting(is_shown: bool = True) -> Iterator[None]:
    """Says on stderr that something loads, if it takes longer than PATIENCE, and takes the word back at the end."""
    if not (is_shown and sys.stderr.isatty()):
        yield
        return
    is_over = threading.Event()

    def tell() -> None:
        if not is_over.wait(PATIENCE):
            sys.stderr.write(WORD)
            sys.stderr.flush()
            is_over.wait()
            sys.stderr.write(ERASE)
            sys.stderr.flush()

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()
