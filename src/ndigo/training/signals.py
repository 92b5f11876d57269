"""Ctrl-C and SIGTERM, kept until a chunk is done and saved."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2  # signals that are waited out; one more is a person who will not wait


@contextmanager
def stop_signals(tell: Callable[[str], None]) -> Iterator[Callable[[], str]]:
    """Within the block the signals are remembered instead of raised; gives what names the first, or "".

    `tell` is called once, at the first, with what is going to happen.
    """
    received: list[str] = []
    previous: dict[int, Any] = {}

    def remember(number: int, frame: Any) -> None:
        received.append(signal.Signals(number).name)
        if len(received) == 1:
            tell(f"{received[0]}: finishing this chunk, then saving ... (twice more: stop now, without this chunk)")
        if len(received) > PATIENCE:
            raise KeyboardInterrupt

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, remember)
    except ValueError:  # not the main thread: the signals are the caller's
        pass
    try:
        yield lambda: received[0] if received else ""
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
