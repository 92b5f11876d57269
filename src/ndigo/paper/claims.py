"""What the paper says, tested: a claim is a sentence, the rows it needs, and comparisons that decide it.

A comparison asks whether a quantity lies on the claimed side of a bound. Quantities are means over seeds, and their
differences and ratios; each has the 95% interval of `statistics`, seeds resampled within each row, rows apart.

    supported     the whole interval lies on the claimed side
    contradicted  the whole interval lies on the other
    undecided     the interval holds the bound, or there is one seed and no interval

The verdict on a claim:

    rows missing    a row that it needs is not there
    holds           every comparison is supported
    does not hold   none is supported and one contradicted, or one is contradicted that the sentence cannot do without
    holds in part   some are supported, and not the above
    undecided       none is supported and none contradicted

A claim of "most" holds where more than half of its comparisons are supported, and does not where more than half are
contradicted. Nothing is corrected for the number of comparisons: a claim of many needs every one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

from ndigo.paper.experiment import Row
from ndigo.paper.measured import Rows
from ndigo.report.statistics import Estimate, Resampled, interval

Status = Literal["supported", "contradicted", "undecided"]
Verdict = Literal["holds", "holds in part", "does not hold", "undecided", "rows missing"]
VERDICTS: tuple[Verdict, ...] = ("holds", "holds in part", "does not hold", "undecided", "rows missing")


@dataclass(frozen=True)
class Part:
    """One comparison, decided."""

    text: str
    figures: str  # the means behind the estimate, and what it is: "78.4 against 339, difference"
    estimate: Estimate
    status: Status
    rows: tuple[Row, ...]
    is_essential: bool = False


@dataclass(frozen=True)
class Claim:
    name: str
    text: str  # the paper's words
    place: str
    rule: str  # how the words were turned into comparisons
    needs: tuple[Row, ...]
    compare: Callable[[Rows], list[Part]]
    is_of_most: bool = False
    note: str = ""  # where the paper contradicts itself


@dataclass(frozen=True)
class JudgedClaim:
    claim: Claim
    verdict: Verdict
    parts: tuple[Part, ...] = ()
    missing: tuple[Row, ...] = ()
    evidence: tuple[str, ...] = ()  # what was paid for, where it does not hold as said


def judge(claim: Claim, rows: Rows) -> JudgedClaim:
    missing = tuple(row for row in claim.needs if row not in rows)
    if missing:
        return JudgedClaim(claim, "rows missing", missing=missing)
    parts = tuple(claim.compare(rows))
    verdict = decide(parts, claim.is_of_most)
    return JudgedClaim(claim, verdict, parts, evidence=() if verdict == "holds" else _evidence(parts, rows))


def decide(parts: Sequence[Part], is_of_most: bool = False) -> Verdict:
    """The rules at the top of this file."""
    supported = sum(part.status == "supported" for part in parts)
    contradicted = sum(part.status == "contradicted" for part in parts)
    if is_of_most:
        if 2 * supported > len(parts):
            return "holds"
        if 2 * contradicted > len(parts):
            return "does not hold"
    elif supported == len(parts):
        return "holds"
    elif any(part.is_essential and part.status == "contradicted" for part in parts):
        return "does not hold"
    if supported:
        return "holds in part"
    return "does not hold" if contradicted else "undecided"


def above(
    text: str, quantity: Resampled, bound: float, rows: Sequence[Row], *, figures: str = "", is_essential: bool = False
) -> Part:
    """Claims quantity > bound."""
    estimate = interval(quantity)
    # An interval of no width at the bound itself is not above it.
    status = "supported" if estimate.low > bound else "contradicted" if estimate.high <= bound else "undecided"
    return Part(text, figures, estimate, status, tuple(rows), is_essential)


def below(
    text: str, quantity: Resampled, bound: float, rows: Sequence[Row], *, figures: str = "", is_essential: bool = False
) -> Part:
    """Claims quantity < bound."""
    estimate = interval(quantity)
    status = "supported" if estimate.high < bound else "contradicted" if estimate.low >= bound else "undecided"
    return Part(text, figures, estimate, status, tuple(rows), is_essential)


def less(text: str, a: Resampled, b: Resampled, rows: Sequence[Row], *, is_essential: bool = False) -> Part:
    """Claims a < b; the estimate is of b - a."""
    return above(text, b - a, 0.0, rows, figures=_against(a, b), is_essential=is_essential)


def no_difference(text: str, a: Resampled, b: Resampled, rows: Sequence[Row]) -> Part:
    """Claims that the interval of b - a holds 0; few seeds make that easy. One clear difference denies it."""
    estimate = interval(b - a)
    status: Status = "undecided"
    if not isnan(estimate.low):
        status = "supported" if estimate.low <= 0 <= estimate.high else "contradicted"
    return Part(text, _against(a, b), estimate, status, tuple(rows), is_essential=True)


def count(judged: Sequence[JudgedClaim]) -> Mapping[Verdict, int]:
    return {verdict: sum(one.verdict == verdict for one in judged) for verdict in VERDICTS}


def _against(a: Resampled, b: Resampled) -> str:
    return f"{a.value:.3g} against {b.value:.3g}, difference"


def _evidence(parts: Sequence[Part], rows: Rows) -> tuple[str, ...]:
    """What the agents of the comparisons that are not supported were paid for, by channel."""
    named = dict.fromkeys(row for part in parts if part.status != "supported" for row in part.rows)
    evidence = []
    for row in named:
        split = rows[row].reward_split()
        if row.reward != "random":
            paid = ", ".join(f"{name} {estimate.mean:.4f}" for name, estimate in split.items())
            evidence.append(f"{row.name} is paid per step: {paid}")
    return tuple(evidence)
