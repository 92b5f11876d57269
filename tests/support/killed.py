"""A process that ends before one of its writes, within this one."""

from __future__ import annotations

import os
import shutil
import stat

import pytest


class KilledError(BaseException):
    """As SIGKILL: nothing that is written for errors runs."""


def kill_at(point: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends the process before write number `point`; of what it was about to sync, half is on the disk."""
    left = [point]

    def counted(real, before=lambda *args: None):
        def call(*args, **more):
            left[0] -= 1
            if left[0] < 0:
                before(*args)
                raise KilledError
            return real(*args, **more)

        return call

    def cut(handle: int) -> None:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            os.truncate(handle, os.fstat(handle).st_size // 2)

    monkeypatch.setattr(os, "fsync", counted(os.fsync, cut))
    monkeypatch.setattr(os, "replace", counted(os.replace))
    monkeypatch.setattr(shutil, "rmtree", counted(shutil.rmtree))
