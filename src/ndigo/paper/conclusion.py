"""Conclusions in words, for readers of a single line: an agent's numbers, and the verdicts on the paper's claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from ndigo.paper.claims import Claim, JudgedClaim, Part, Verdict, count
from ndigo.paper.comparisons import half_of_knowing_the_room, prior
from ndigo.paper.experiment import EXPERIMENTS, Experiment, Row
from ndigo.paper.measured import Rows
from ndigo.report.numbers import with_interval
from ndigo.report.tables import Line

FEW_ROWS = 4  # up to so many rows that a claim lacks are named
IN_FULL = "ndigo report --paper --full"
WORDS: Mapping[Verdict, tuple[str, str]] = {  # of one claim, and of more
    "holds": ("holds", "hold"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    "undecided": ("is undecided", "are undecided"),
    "rows missing": ("lacks rows", "lack rows"),
}


def mean_over(line: Line, metric: str, names: Sequence[str], end: str = "mean") -> float:
    """The mean over objects of a metric, or of one end of its interval."""
    return float(np.mean([getattr(line.values[metric][name], end) for name in names]))


def seen_in_words(line: Line, names: Sequence[str], *, is_known: bool = False) -> str:
    """`seen in 50% of episodes, first at step 51`; of several objects, each by its name. `is_known` adds the loss.

    No means over objects: one that is never seen counts as first seen when the episode ends, and noise, whose loss
    nobody can lower, would hide what is known of another.
    """
    shares = [line.values["frequency"][name].mean for name in names]
    firsts = [line.values["first_visit"][name].mean for name in names]
    told = [
        f"seen in {share:.0f}% of episodes, first at step {first:.0f}" if share else "seen in no episode"
        for share, first in zip(shares, firsts, strict=True)
    ]
    if is_known:
        losses = [line.values["discovery_loss"][name].mean for name in names]
        told = [f"{text}, and known to {loss:.2f} nats" for text, loss in zip(told, losses, strict=True)]
    return told[0] if len(names) == 1 else "; ".join(f"{name} {text}" for name, text in zip(names, told, strict=True))


def conclusion(line: Line, experiment: Experiment | None, who: str | None = None) -> str:
    """Whether the agent discovers what its experiment is about, and by which numbers.

    Objects are discovered when their loss, on average, is under half the loss of knowing only their room. A world of
    the user's own has no such level, and its numbers stand alone.
    """
    who = who or line.label
    losses = line.values.get("discovery_loss", {})
    names = list(losses or line.values["visits"]) if experiment is None else list(experiment.discovers)
    if not names:
        return f"{who}: its world names nothing that could be seen."
    told = seen_in_words(line, names, is_known=bool(losses))
    if not losses:
        return f"{who}: {_named(names, told)}."
    if experiment is None or (level := prior(experiment.name)) is None:
        return f"{who}: {_named(names, told)}{', where 0 is certain' if len(names) == 1 else '; 0 would be certain'}."
    mean = mean_over(line, "discovery_loss", names)
    told += f"; on average {mean:.2f}" if len(names) > 1 else ""
    what = " and ".join(names) if len(names) < 3 else f"the {len(names)} objects"
    verb, when = "does not discover", ""
    if mean < half_of_knowing_the_room(experiment.name):
        verb = "discovers"
    elif line.so_far:
        verb, when = "did not yet learn to find", f" in {line.so_far}"
    return f"{who} {verb} {what}{when}: {told}, where {level:.2f} knows the room and 0 the cell."


def _named(names: Sequence[str], seen: str) -> str:
    """What was seen, after the name of the one object; of several, each has its name already."""
    return f"{names[0]} {seen}" if len(names) == 1 else seen


def verdicts_in_words(judged: Sequence[JudgedClaim]) -> str:
    """`Of the paper's 31 claims 12 hold, 1 is undecided and 18 lack rows.`"""
    if all(one.missing for one in judged):
        return f"No claim of the paper is decided yet: each of the {len(judged)} lacks a row."
    *most, last = counts_in_words(count(judged))
    shown = f"{', '.join(most)} and {last}" if most else last
    return f"Of the paper's {len(judged)} claims {shown}."


def counts_in_words(counts: Mapping[Verdict, int]) -> list[str]:
    return [f"{num} {WORDS[verdict][num > 1]}" for verdict, num in counts.items() if num]


def by_experiment(judged: Sequence[JudgedClaim]) -> list[tuple[str, Mapping[Verdict, int]]]:
    """Of each experiment, and of what the paper says across them, how many claims have which verdict."""
    grouped = groupby(judged, lambda one: group_of(one.claim))
    return [(heading, count(list(each))) for heading, each in grouped]


def group_of(claim: Claim) -> str:
    """The experiment that the claim is about; for claims about several, where the paper says it."""
    return next((e.heading for e in EXPERIMENTS.values() if claim in e.claims), claim.place)


def num_missing(missing: Sequence[Row]) -> str:
    """`3 rows are missing`."""
    return f"{len(missing)} row{' is' if len(missing) == 1 else 's are'} missing"


def missing_in_words(missing: Sequence[Row], judged: Sequence[JudgedClaim], *, is_full: bool) -> list[str]:
    """Lines: how many rows are missing and which, by experiment, and where the claims that lack them stand."""
    if not missing:
        return [] if is_full else [f"What decides each claim: {IN_FULL}."]
    lines = [f"{num_missing(missing)} (ndigo reproduce makes them):"]
    for experiment, rows in groupby(missing, lambda row: row.experiment):
        rewards = [row.reward for row in rows]
        is_all = len(rewards) == len(EXPERIMENTS[experiment].all_rewards)
        lines.append(f"  {experiment}: {f'all {len(rewards)}' if is_all else ', '.join(rewards)}")
    num_claims = sum(bool(one.missing) for one in judged)
    claims = f"the {num_claims} claims that lack rows" if num_claims > 1 else "the claim that lacks rows"
    return lines if is_full else [*lines, f"What decides each claim, and {claims}: {IN_FULL}."]


def walls_in_words(rows: Rows) -> list[str]:
    """A line: which share of NDIGO's pay is for walls, at the end of each row's training."""
    shares = []
    for row, measured in rows.items():
        paid = {name: of.mean for name, of in measured.reward_split().items()}
        if row.reward.startswith("ndigo") and "walls" in paid:
            shares.append(f"{row.name} {100 * paid['walls'] / sum(paid.values()):.0f}%")
    return [f"Of the pay, for walls: {', '.join(shares)}."] if shares else []


def claim_line(nth: int, judged: JudgedClaim) -> str:
    """A claim and its verdict."""
    return f'{nth}. {judged.verdict}: "{judged.claim.text}" ({judged.claim.place})'


def claim_text(nth: int, judged: JudgedClaim) -> str:
    """A claim, how it is tested, and its comparisons or the rows that it lacks."""
    lines = [claim_line(nth, judged), f"   {judged.claim.rule}"]
    lines += [f"   - {part_text(part)}" for part in judged.parts]
    lines += [f"   missing: {_rows_in_words(judged.missing)}"] if judged.missing else []
    lines += [f"   {text}" for text in (*judged.evidence, judged.claim.note) if text]
    return "\n".join(lines)


def part_text(part: Part) -> str:
    figures = f"{part.figures} " if part.figures else ""
    return f"{part.text}: {figures}{with_interval(part.estimate)}, {part.status}"


def _rows_in_words(rows: Sequence[Row]) -> str:
    """Their names, or where they are many, how many of which experiments."""
    if len(rows) <= FEW_ROWS:
        return ", ".join(row.name for row in rows)
    return f"{len(rows)} rows of {', '.join(dict.fromkeys(row.experiment for row in rows))}"
