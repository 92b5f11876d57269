"""Environments of the host: how many there are, and in how many processes."""

from __future__ import annotations

import os

import pytest

from ndigo.training.streams import host_slots


@pytest.mark.parametrize(("cores", "num", "expected"), [({0, 3, 5, 6}, 12, 4), ({0, 3, 5, 6}, 10, 2), ({7}, 12, 1)])
def test_there_are_as_many_processes_as_cores_that_this_one_may_use(cores, num, expected, monkeypatch):
    """Of a machine with 64; as many of them as divide the environments."""
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: cores, raising=False)
    assert host_slots.num_processes(num) == expected


def test_where_the_system_does_not_say_which_cores_all_of_them_count(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert host_slots.num_processes(12) == 6
