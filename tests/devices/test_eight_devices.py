"""Eight devices with one seed each are eight runs of one seed, to the bit, and say nothing to each other."""

from __future__ import annotations

import pytest
from many_devices import run_on_devices


@pytest.mark.slow
def test_a_seed_alone_on_its_device_is_trained_to_the_bit_as_alone_and_without_a_message():
    found = run_on_devices("on_eight_devices.py", 8)
    assert found["devices"] == list(range(8))
    assert (found["act"], found["learn"]) == ([], [])
    assert found["different"] == []
