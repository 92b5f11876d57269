"""Sealed JSON: what it looks like, and what breaks it."""

import hashlib
import json

import pytest

from ndigo.storage.seal import BrokenSealError, seal, unseal


def test_the_last_entry_is_the_digest_of_all_bytes_before_it():
    data = seal(b'{"a": 1}')
    expected = hashlib.sha256(b'{"a": 1').hexdigest()
    assert data == b'{"a": 1, "sha256": "%s"}' % expected.encode()
    assert unseal(data) == ({"a": 1}, expected)
    assert json.loads(data) == {"a": 1, "sha256": expected}  # plain JSON to everybody else


def test_in_a_chain_the_digest_covers_the_one_before():
    first = seal(b'{"a": 1}')
    second = seal(b'{"a": 2}', unseal(first)[1])
    assert unseal(second, unseal(first)[1])[0] == {"a": 2}
    with pytest.raises(BrokenSealError, match="does not match its sha256"):
        unseal(second)


def test_every_bit_counts():
    data = seal(json.dumps({"a": [1.5, "b"], "c": None}, indent=1).encode())
    for at in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[at // 8] ^= 1 << at % 8
        with pytest.raises(BrokenSealError):
            unseal(bytes(damaged))


@pytest.mark.parametrize("data", [b"", b"{}", b'{"a": 1}', seal(b'{"a": 1}') + b"\n"])
def test_what_has_no_seal_at_its_end_is_refused(data):
    with pytest.raises(BrokenSealError, match="does not end in a sha256: cut short, or of an earlier version"):
        unseal(data)


def test_what_is_nested_beyond_reading_is_an_error_as_any_other():
    with pytest.raises(BrokenSealError, match="nested beyond reading"):
        unseal(seal(b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"))
