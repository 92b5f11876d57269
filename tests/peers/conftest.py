"""Tests against heavy packages that other people run: in an environment of their own, by `make peers`.

Plain `make test` does not collect this folder. `make peers` installs every package first: here nothing is skipped but
what needs Python 3.12.
"""

from __future__ import annotations

import warnings

import pytest


@pytest.fixture(autouse=True)
def warnings_of_other_packages_are_theirs():
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield
