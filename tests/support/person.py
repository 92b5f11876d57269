"""A person at a real terminal: starts a command in a pseudo-terminal, presses keys, reads the screen."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

FRAME = re.compile(r"\x1b\[H(.*?)\x1b\[J", re.DOTALL)  # one whole screen, as `ndigo.terminal.screen` draws it
CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
PATIENCE = 120.0  # seconds; JAX has to start and compile on a machine busy with other tests


class Person:
    """Use as `with Person("play", "exp1") as person:`; `keys` are sent to `ndigo`'s terminal as typed."""

    def __init__(self, *command: str, rows: int = 24, columns: int = 80):
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.settings = termios.tcgetattr(self._slave)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ndigo", *command],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end inside a character
        self.output = ""

    def __enter__(self) -> Person:
        return self

    def __exit__(self, *error) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)
        os.close(self._slave)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def wait_for(self, text: str, unless: str = "\0") -> list[str]:
        """The lines of the screen, without their colours, once `text` stands on it and `unless` does not."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            frames = FRAME.findall(self.output)
            screen = CODES.sub("", frames[-1]) if frames else ""
            if text in screen and unless not in screen:
                return screen.split("\r\n")
            self._read(0.1)
        raise AssertionError(f"no {text!r} on the screen; the terminal got {CODES.sub('', self.output)[-2000:]!r}")

    def leave(self) -> tuple[int, str]:
        """Waits for the end: the exit code, and what was printed after the last screen was closed."""
        deadline = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < deadline:
            self._read(0.05)
        while self._read(0.1):
            pass
        return self._process.wait(1), CODES.sub("", self.output.rpartition("\x1b[?1049l")[2])

    def settings_now(self) -> list:
        return termios.tcgetattr(self._slave)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        self.output += self._decoder.decode(os.read(self._master, 65536))
        return True
