"""One writer per run, and a second that is told who the first is."""

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys

import pytest

from ndigo.errors import NdigoError
from ndigo.storage.lock import one_writer
from ndigo.storage.run_folder import WriteError

HOLD = """
import sys
from pathlib import Path
from ndigo.storage.lock import one_writer

with one_writer(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_holds_it_until_it_is_killed(tmp_path):
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    who = f"process {first.pid} on {socket.gethostname()}"
    with pytest.raises(NdigoError) as error, one_writer(tmp_path):
        pass
    assert str(error.value) == f"{tmp_path} is being written by {who}; wait until that ends, or stop it"
    assert error.value.exit_code == 2
    first.send_signal(signal.SIGKILL)
    first.communicate()
    with one_writer(tmp_path):
        pass


def test_it_is_free_after_the_block_and_after_an_error_in_it(tmp_path):
    with pytest.raises(ZeroDivisionError), one_writer(tmp_path / "run"):
        raise ZeroDivisionError
    with one_writer(tmp_path / "run"), pytest.raises(NdigoError), one_writer(tmp_path / "run"):
        pass


@pytest.mark.parametrize("text", ["", "[]", "{}", "\xff"])
def test_a_holder_that_has_not_said_who_it_is_is_another_process(text, tmp_path):
    with one_writer(tmp_path):
        (tmp_path / ".lock").write_text(text, encoding="latin-1")
        with pytest.raises(NdigoError, match="is being written by another process;"), one_writer(tmp_path):
            pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_told_and_the_run_goes_on(number, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    said: list[str] = []
    monkeypatch.setattr(fcntl, "flock", refuse)
    with one_writer(tmp_path, said.append):
        pass
    assert said == [
        f"{tmp_path} is on a file system without locks: see to it yourself that no other process writes this run"
    ]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").mkdir()
    with pytest.raises(WriteError, match=r"^cannot write \S+/\.lock: Is a directory$"), one_writer(tmp_path / "run"):
        pass
