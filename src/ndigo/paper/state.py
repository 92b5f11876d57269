"""Where the reproduction stands, as Markdown and HTML: nothing there is typed by hand.

    <!-- ndigo report --paper: claims -->
    ...
    <!-- end -->

`ndigo report --paper --docs FILE ...` writes every such block of a file anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from ndigo.errors import NdigoError, unknown_name
from ndigo.paper.claims import VERDICTS, JudgedClaim, Part, Verdict, count
from ndigo.paper.conclusion import by_experiment, group_of, num_missing, verdicts_in_words
from ndigo.paper.experiment import Row
from ndigo.paper.measured import Rows
from ndigo.paper.plan import RECIPE, all_rows, recipe
from ndigo.paper.tables import COLUMNS, paper_sheets
from ndigo.report.numbers import with_interval
from ndigo.report.page import Section
from ndigo.report.sheets import Sheet, as_markdown
from ndigo.storage.run_folder import write_whole

BLOCK = re.compile(r"(<!-- ndigo report --paper: ([\w ]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
NOT_YET = "Not made by this recipe yet."
RULES = (
    "A comparison is supported where its whole 95% interval over seeds lies on the claimed side, and contradicted "
    "where it lies on the other. A comparison of no difference is supported where the difference's interval holds "
    "zero. A claim holds where every comparison is supported; a claim of “most”, where more than half are. It does not "
    "hold where a comparison that it cannot do without is contradicted, or where none is supported and one is "
    "contradicted. Nothing is corrected for the number of comparisons. Open a claim for its figures."
)


def summary(rows: Rows, judged: Sequence[JudgedClaim], others: Sequence[Row] = ()) -> str:
    """A paragraph: how the claims stand, then how many rows the recipe has made, and on what.

    `others` are there too, made by another recipe: they count as missing.
    """
    planned = all_rows()
    config = recipe(planned[0])
    text = (
        f"{verdicts_in_words(judged)} {len(rows)} of {len(planned)} rows are made by the recipe: preset `{RECIPE}`, "
        f"{config.seeds} seeds, {config.learner_steps:,} learner steps."
    )
    if rows:
        devices = ", ".join(dict.fromkeys(numbers.device for numbers in rows.values()))
        minutes = sum(numbers.minutes for numbers in rows.values())
        # Not the device's time: rows may have shared it.
        text += f" Their own clocks add up to {minutes:,.0f} minutes ({devices})."
    if others:
        text += f" Another recipe made {len(others)} more, which count as missing."
    return text


def blocks(rows: Rows, judged: Sequence[JudgedClaim], others: Sequence[Row] = ()) -> dict[str, str]:
    """Every block by its name."""
    sheets = paper_sheets(rows)
    made = [as_markdown(sheet) for sheet in sheets if not sheet.is_empty]
    texts = {
        "state": summary(rows, judged, others),
        "tables": "\n\n".join([f"{COLUMNS} The paper's numbers are in italics.", *made]) if made else NOT_YET,
        "claims": claims_in_full(judged),
        **{f"table {i}": _block(sheet) for i, sheet in enumerate(sheets, 1)},
    }
    return {name: f"{text}\n" for name, text in texts.items()}


def _block(sheet: Sheet) -> str:
    return f"**{sheet.title}**: {NOT_YET.lower()}" if sheet.is_empty else as_markdown(sheet)


def claims_in_full(judged: Sequence[JudgedClaim]) -> str:
    """By experiment, a heading per claim with its verdict, its comparisons folded under it."""
    parts = [
        f"{verdicts_in_words(judged)} A claim is a sentence of the paper, turned into comparisons.",
        RULES,
        _overview(by_experiment(judged)),
    ]
    for heading, group in groupby(enumerate(judged, 1), lambda one: group_of(one[1].claim)):
        parts.append(f"## {heading}")
        for nth, one in group:
            parts += [f"### {nth}. “{one.claim.text}”", _verdict_line(one), _folded(one)]
    return "\n\n".join(parts)


def _overview(counts: Sequence[tuple[str, Mapping[Verdict, int]]]) -> str:
    """How many of each group's claims have which verdict, for the verdicts that there are."""
    verdicts: list[Verdict] = [verdict for verdict in VERDICTS if any(found[verdict] for _, found in counts)]
    lines = [f"| | {' | '.join(verdicts)} |", f"|---|{'--:|' * len(verdicts)}"]
    for heading, found in counts:
        lines.append(f"| {heading} | {' | '.join(str(found[v] or '') for v in verdicts)} |")
    return "\n".join(lines)


def _verdict_line(judged: JudgedClaim) -> str:
    """As HTML: Markdown would read marks into the paper's words."""
    chip, claim = _chip(judged.verdict, judged.verdict), judged.claim
    place = f' <span class="place">{escape(claim.place)}</span>' if claim.place != group_of(claim) else ""
    note = f"\n<p>{escape(claim.note)}</p>" if claim.note else ""
    return f"<p>{chip}{place}</p>\n<p><b>Tested:</b> {escape(claim.rule)}</p>{note}"


def _folded(judged: JudgedClaim) -> str:
    """The comparisons as a table under a line that counts them; or the rows that are missing."""
    if judged.missing:
        names = ", ".join(f"<code>{escape(row.name)}</code>" for row in judged.missing)
        return f'<details class="comparisons"><summary>{num_missing(judged.missing)}</summary><p>{names}</p></details>'
    statuses = [part.status for part in judged.parts]
    shown = ", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(sorted(statuses)))
    rows = "".join(
        f"<tr><td>{escape(part.text)}</td><td>{escape(part.figures)}</td><td>{escape(with_interval(part.estimate))}</td>"
        f'<td class="{part.status}">{part.status}</td></tr>'
        for part in judged.parts
    )
    heads = "".join(f"<th>{head}</th>" for head in ("comparison", "figures", "estimate and interval", ""))
    paid = f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in judged.evidence)}</ul>" if judged.evidence else ""
    return (
        f'<details class="comparisons"><summary>Comparisons: {shown}</summary>'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{paid}</details>"
    )


def write_docs(path: Path, known: dict[str, str]) -> list[str]:
    """Writes the file's blocks anew; returns their names."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NdigoError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise NdigoError(f"{path} is no text in UTF-8") from None
    names = [match[2] for match in BLOCK.finditer(text)]
    if not names:
        raise NdigoError(f"{path} has no block to write, from <!-- ndigo report --paper: NAME --> to <!-- end -->")
    for name in names:
        if name not in known:
            raise unknown_name(f"block in {path}", name, known)
    write_whole(path, BLOCK.sub(lambda match: match[1] + known[match[2]] + match[4], text).encode())
    return names


def claims_section(judged: Sequence[JudgedClaim]) -> Section:
    chips = "".join(f"<li>{_chip(verdict, f'{n} {verdict}')}</li>" for verdict, n in count(judged).items() if n)
    body = f'<ul class="counts">{chips}</ul><p class="soft">{RULES}</p>{"".join(map(_claim, judged))}'
    return Section("claims", "What the paper claims", body)


def _claim(judged: JudgedClaim) -> str:
    claim = judged.claim
    if judged.missing:
        shown = f"<p>Missing: {', '.join(row.name for row in judged.missing)}.</p>"
    else:
        shown = f"<ul>{''.join(map(_part, judged.parts))}</ul>"
        shown += "".join(f"<p>{escape(text)}.</p>" for text in judged.evidence)
    note = f"<p>{escape(claim.note)}</p>" if claim.note else ""
    return (
        f'<details class="claim" data-claim="{escape(claim.name)}"><summary>{_chip(judged.verdict, judged.verdict)}'
        f'<q>{escape(claim.text)}</q><span class="place">{escape(claim.place)}</span></summary>'
        f"<div><p>{escape(claim.rule)}</p>{shown}{note}</div></details>"
    )


def _part(part: Part) -> str:
    return (
        f"<li>{escape(part.text)}: {escape(part.figures)} {with_interval(part.estimate)} "
        f'<span class="{part.status}">{part.status}</span></li>'
    )


def _chip(verdict: str, text: str) -> str:
    return f'<span class="chip {verdict.replace(" ", "-")}">{escape(text)}</span>'
