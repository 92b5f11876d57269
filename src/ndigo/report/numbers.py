"""Numbers as text: one way to round for every table, page and sentence."""

from __future__ import annotations

from math import isnan

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


def with_interval(x: Estimate, join: str = " to ") -> str:
    """`28.8 (19.2 to 39.0)`."""
    interval = ends(x, join)
    return f"{number(x.mean)} ({interval})" if interval else number(x.mean)


def nats(x: float) -> str:
    return f"{x:.1f} nats" if abs(x) >= 0.95 else f"{x:.2f} nats"


def percent(share: float) -> str:
    return f"{100 * share:.0f}%" if abs(share) >= 0.095 else f"{max(100 * share, 0.0):.1f}%"
