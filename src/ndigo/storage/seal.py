"""JSON that knows when it is damaged: the last entry of an object is the sha256 of all bytes before it.

    {"step": 4, "seconds": 1.5, "sha256": "9f0c..."}

In a chain each object's digest also covers the one before, so that missing and swapped objects show too.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

TAIL = re.compile(rb', "sha256": "([0-9a-f]{64})"}')
TAIL_SIZE = len(b', "sha256": "') + 64 + len(b'"}')


class BrokenSealError(ValueError):
    """Not the bytes that were written."""


def seal(body: bytes, before: str = "") -> bytes:
    """The text of a JSON object that is not empty, with its digest; `before` is the digest that it follows."""
    head = body[:-1].rstrip()
    return head + b', "sha256": "%s"}' % _digest(head, before).encode()


def unseal(data: bytes, before: str = "") -> tuple[dict[str, Any], str]:
    """The object without its digest, and the digest; an error where a byte is not as it was written."""
    head, tail = data[:-TAIL_SIZE], TAIL.fullmatch(data[-TAIL_SIZE:])
    if tail is None:
        raise BrokenSealError("it does not end in a sha256: cut short, or of an earlier version")
    digest = tail[1].decode()
    if digest != _digest(head, before):
        raise BrokenSealError("it does not match its sha256")
    try:
        return json.loads(head + b"}"), digest
    except RecursionError:
        raise BrokenSealError("it is nested beyond reading") from None


def _digest(head: bytes, before: str) -> str:
    return hashlib.sha256(before.encode() + head).hexdigest()
