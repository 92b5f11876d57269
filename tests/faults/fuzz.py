"""Commands run on whatever comes, in this process: how each ends, and that none writes outside its folder."""

from __future__ import annotations

import os
import signal
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ndigo.cli import main
from ndigo.errors import NdigoError
from ndigo.storage.episodes import Recording, some_episodes
from ndigo.training.divergence import Outcome
from ndigo.training.trained import Trained

IS_WHOLE = os.environ.get("NDIGO_FAULTS") == "all"
SECONDS = 200  # that a command may take on a busy machine
TRACEBACK = "Traceback (most recent call last)"


class OverTime(BaseException):
    """A command that did not come to an end."""


class Reached(NdigoError):
    """All was right with the words: here the work would begin, which takes too long to be done thousands of times."""


def reached(*_: Any, **__: Any) -> Any:
    raise Reached("the work begins")


def skip_the_work(patch: pytest.MonkeyPatch, recorded: Recording) -> None:
    """Everything up to the work stays as it is, and what follows it where a result can be put in its place."""
    evaluate = Trained.evaluate
    patch.setattr(Trained, "evaluate", lambda self, episodes=100, *rest: evaluate(self, min(episodes, 2), *rest))
    patch.setattr("ndigo.api.continue_runs", lambda runs, *_, **__: [Outcome(len(runs[0][0].metrics()), "time")])
    patch.setattr("ndigo.viewer.server.serve", lambda app, listener: listener.close())
    patch.setattr("webbrowser.open", lambda url: True)
    patch.setattr("ndigo.commands.reproduce.time_round", lambda *_: 1.0)
    patch.setattr("ndigo.commands.sweep.find_engine", lambda name: reached)
    for module in ("export", "report"):
        patch.setattr(f"ndigo.commands.{module}.record_numbered", lambda *_: some_episodes(recorded, 0, 1))
    for work in ("bench.measure", "audit.audit_policy", "discover.walker_line", "walk.show"):
        patch.setattr(f"ndigo.commands.{work}", reached)
    for work in ("write_gif", "write_video", "film_of"):
        patch.setattr(f"ndigo.commands.export.{work}", reached)


class Fuzz:
    """Runs commands and keeps count; `wrong` has a text for each that ended as none may."""

    def __init__(self, capsys: pytest.CaptureFixture[str]):
        self.capsys, self.count, self.wrong = capsys, Counter[str](), list[str]()

    def run(self, words: Sequence[str], about: str = "") -> None:
        self.capsys.readouterr()
        failure = ""
        try:
            with _alarm(SECONDS):
                ending = f"exit {main(words)}"
        except SystemExit as end:
            ending = "help" if end.code in (0, None) else f"left with {end.code}"
        except OverTime:
            ending = "over time"
        except BaseException:
            ending, failure = "traceback", traceback.format_exc()[-2000:]
        out, err = self.capsys.readouterr()
        if ending in ("exit 1", "exit 2"):
            last = (err.splitlines() or [""])[-1]
            # Nothing fails in code of a user's own here but what its module is loaded by, which names it.
            if TRACEBACK in err or last.startswith("ndigo: your code raised"):
                ending, failure = "traceback", err[-2000:]
            elif not last.startswith("ndigo: "):
                ending, failure = "silent", err[-500:]
            elif last == "ndigo: the work begins":
                ending = "reached the work"
        elif ending == "exit 0" and not out:
            ending = "silent"
        self.count[ending] += 1
        if ending not in ("exit 0", "exit 1", "exit 2", "help", "reached the work"):
            self.wrong.append(f"{ending}: {list(words)!r} {about}\n{failure}")

    def tell(self, what: str) -> None:
        """The figures, where the whole is run."""
        with self.capsys.disabled():
            if IS_WHOLE:
                print(f"\n{what}: {sum(self.count.values())} tried; {dict(self.count)}")


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def ring(number: int, frame: Any) -> None:
        raise OverTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def nothing_written_beside(folder: Path, *others: Path) -> Iterator[None]:
    """Within the block, no file appears in the folder's neighbourhood or in the others."""
    places = [folder.parent, *others]
    before = [sorted(os.listdir(place)) for place in places]
    yield
    assert [sorted(os.listdir(place)) for place in places] == before
