"""Ctrl-C, SIGTERM and SIGHUP, kept until a chunk is done and saved.

A handler may run in the middle of a write, where one more write to the same stream is an error. So it only notes the
signal, and the loop tells of it wherever it waits.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax

from ndigo.errors import StoppedNow

WAIT = 1e-3  # seconds between two looks whether the device is done
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MEANINGS = (
    "finishing this chunk, then saving ... (twice more: stop now, without this chunk)",
    "still finishing this chunk (once more: stop now, without it)",
)


class StopSignals:
    """The signals that have come, in order; `tell` gets a line for each that is waited out."""

    def __init__(self, tell: Callable[[str], None]):
        self._tell = tell
        self._received: list[signal.Signals] = []
        self._num_shown = 0

    def note(self, number: int) -> None:
        self._received.append(signal.Signals(number))

    @property
    def is_final(self) -> bool:
        """True once so many have come that the run ends at once, without this chunk."""
        return len(self._received) > len(MEANINGS)

    @property
    def first(self) -> str:
        """The first signal's name, or ""."""
        return self._received[0].name if self._received else ""

    def listen(self) -> None:
        """Tells of what has come since the last call; raises `StoppedNow` where a person will not wait."""
        received = self._received[:]
        for meaning in MEANINGS[self._num_shown : len(received)]:
            # What went away may be the terminal itself; rich makes an exit of a broken pipe.
            with contextlib.suppress(OSError, SystemExit):
                self._tell(f"{received[self._num_shown].name}: {meaning}")
            self._num_shown += 1
        if self.is_final:
            raise StoppedNow(self._received[len(MEANINGS)])


@contextlib.contextmanager
def stop_signals(tell: Callable[[str], None]) -> Iterator[StopSignals]:
    """Within the block signals are noted instead of raised."""
    signals = StopSignals(tell)
    previous: dict[int, Any] = {}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def note(number: int, frame: Any) -> None:
        signals.note(number)
        if signals.is_final:  # heard at the next look; one more is as it would be without us
            restore()

    try:
        for number in STOPPING:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` has it ignored
                previous[number] = signal.signal(number, note)
    except ValueError:  # not the main thread: the signals are the caller's
        pass
    try:
        yield signals
    finally:
        restore()


def nothing(*_: Any) -> None:
    """Nobody listens."""


def wait_for(results: Any, listen: Callable[[], None] = nothing) -> None:
    """Returns when the device has made them. One long wait inside JAX would hear no signal."""
    while not all(x.is_ready() for x in jax.tree.leaves(results)):
        time.sleep(WAIT)
        listen()
