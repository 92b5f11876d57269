"""Numbers as text: one way to round for every table, page and sentence."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ndigo.report.statistics import Estimate

MISSING = "missing"


def number(x: float) -> str:
    """Three digits that count, and never more than two after the point: `0.05`, `28.8`, `339`."""
    text = f"{x:.{0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2}f}"
    return text.replace("-0.00", "0.00")


def ends(x: Estimate, join: str = " to ") -> str:
    """`19.2 to 39.0`; nothing where there is no interval, or one without width."""
    low, high = number(x.low), number(x.high)
    return "" if isnan(x.low) or low == high else f"{low}{join}{high}"


def with_interval(x: Estimate) -> str:
    """`28.8 (19.2 to 39.0)`."""
    interval = ends(x)
    return f"{number(x.mean)} ({interval})" if interval else number(x.mean)


def nats(x: float) -> str:
    return f"{x:.1f} nats" if abs(x) >= 0.95 else f"{x:.2f} nats"


def percent(share: float) -> str:
    return f"{100 * share:.0f}%" if abs(share) >= 0.095 else f"{max(100 * share, 0.0):.1f}%"


def how_many(number: int, what: str) -> str:
    """`1 seed`, `2,048 seeds`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3.5 h`, `2.1 d`."""
    for size, unit, digits in ((86_400, "d", 1), (3_600, "h", 1), (60, "min", 0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.{digits}f} {unit}"
    return f"{seconds:.0f} s"
