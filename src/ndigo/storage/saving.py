"""When to save, by the clock of one sitting."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Clock:
    """Seconds of this sitting."""

    def __init__(self, minutes: float | None):
        self.began, self.minutes = time.monotonic(), minutes

    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def is_over(self) -> bool:
        return self.minutes is not None and self.elapsed() >= 60 * self.minutes


class Saving:
    """When to save: in the first minute after every chunk, then so that saving takes a twentieth of the time at most.

    So after a save that held the run up for s seconds, 19 s seconds pass without one.
    """

    ALWAYS, REST = 60.0, 19.0

    def __init__(self, seconds: Callable[[], float]):
        self.seconds, self.rests_until = seconds, 0.0

    def is_due(self) -> bool:
        return self.seconds() >= self.rests_until

    @contextmanager
    def of_chunk(self, is_saved: bool) -> Iterator[bool]:
        """Times what is done to save a chunk."""
        began = self.seconds()
        yield is_saved
        if is_saved and (ended := self.seconds()) > self.ALWAYS:
            self.rests_until = ended + self.REST * (ended - began)
