"""A report as one self-contained HTML file: tables, figures, claims with their verdicts, and players.

Players are made elsewhere (`ndigo.viewer.page`) and handed over as HTML with the code they share.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ndigo.paper.claims import Judged, Part, count
from ndigo.paper.tables import Entry, PaperTable, number

STYLE = Path(__file__).with_name("page.css")


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    name: str  # of the link to it
    title: str
    body: str  # HTML


def page(title: str, lead: str, sections: Sequence[Section], shared: str = "") -> str:
    """The document; it may run the players' script and reach nothing."""
    links = "".join(f'<a href="#{section.name}">{escape(section.title)}</a>' for section in sections)
    body = "".join(
        f'<section class="part" id="{section.name}"><h2>{escape(section.title)}</h2>{section.body}</section>\n'
        for section in sections
    )
    scripts = " ".join(map(_hash, re.findall(r"<script[^>]*>(.*?)</script>", shared, re.DOTALL))) or "'none'"
    policy = f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{STYLE.read_text()}</style>\n{shared}\n</head>\n"
        '<body class="report">\n<main class="report-sheet">\n'
        f'<h1>{escape(title)}</h1>\n<p>{escape(lead)}</p>\n<nav class="links">{links}</nav>\n{body}'
        "</main>\n</body>\n</html>\n"
    )


def tables_section(tables: Sequence[PaperTable]) -> Section:
    note = (
        '<p class="soft">Mean over seeds, and 95% bootstrap interval. Worst seed: the greatest discovery loss, and '
        "the least share of episodes that see the objects. Beneath, in small: mean ± spread as the paper prints "
        "them.</p>"
    )
    return Section("tables", "Tables", note + "".join(map(_table, tables)))


def figures_section(figures: Sequence[tuple[str, str]], is_broad: bool = False) -> Section:
    """(caption, SVG) each; a broad one has a line of its own."""
    drawn = "".join(_figure(*each, is_broad) for each in figures)
    none = '<p class="soft">None yet: no cell is there.</p>'
    return Section("curves", "Learning curves", f'<div class="curves">{drawn}</div>' if drawn else none)


def claims_section(judged: Sequence[Judged]) -> Section:
    chips = "".join(f"<li>{_chip(verdict, f'{n} {verdict}')}</li>" for verdict, n in count(judged).items() if n)
    rules = (
        '<p class="soft">A comparison is supported where its whole 95% interval lies on the claimed side, contradicted '
        "where it lies on the other. A claim holds where every comparison is supported. Open one for its figures.</p>"
    )
    return Section(
        "claims", "What the paper claims", f'<ul class="counts">{chips}</ul>{rules}{"".join(map(_claim, judged))}'
    )


def players_section(players: Mapping[str, str]) -> Section:
    """Embeddable players as HTML, by their headings."""
    each = [f'<div class="player"><h3>{escape(title)}</h3>{player}</div>' for title, player in players.items()]
    return Section("episodes", "Watch", "".join(each))


def _table(table: PaperTable) -> str:
    heads = []
    for column in table.columns:
        metric, _, name = column.partition(": ")
        heads.append(f'<th scope="col">{escape(name or metric)}<small>{escape(metric if name else "")}</small></th>')
    rows = "".join(
        f'<tr data-row="{escape(label)}"><th scope="row">{escape(label)}</th>{"".join(map(_entry, entries))}</tr>'
        for label, entries in table.rows
    )
    place = f' <span class="place">{escape(table.place)}</span>' if table.place else ""
    head = f"<thead><tr><th></th>{''.join(heads)}</tr></thead>"
    drawn = f'<div class="wide" tabindex="0"><table>{head}<tbody>{rows}</tbody></table></div>'
    return f"<h3>{escape(table.title)}{place}</h3>{drawn}"


def _figure(caption: str, svg: str, is_broad: bool) -> str:
    broad = " broad" if is_broad else ""
    return f'<figure class="curve{broad}">{svg}<figcaption>{escape(caption)}</figcaption></figure>'


def _entry(entry: Entry) -> str:
    paper = f'<span class="paper">{escape(entry.paper)}</span>' if entry.paper else ""
    if entry.ours is None:
        return f'<td><span class="missing">missing</span>{paper}</td>'
    mean, low, high = (number(x) for x in entry.ours)
    range_ = entry.note or ("" if "nan" in (low, high) or low == high else f"{low} to {high}")
    interval = f' <span class="interval">{escape(range_)}</span>' if range_ else ""
    return f"<td><b>{mean}</b>{interval}{paper}</td>"


def _claim(judged: Judged) -> str:
    claim = judged.claim
    if judged.missing:
        told = f"<p>Missing: {', '.join(cell.name for cell in judged.missing)}.</p>"
    else:
        told = f"<ul>{''.join(map(_part, judged.parts))}</ul>"
        told += "".join(f"<p>{escape(text)}.</p>" for text in judged.evidence)
    note = f"<p>{escape(claim.note)}</p>" if claim.note else ""
    return (
        f'<details class="claim" data-claim="{escape(claim.name)}"><summary>{_chip(judged.verdict, judged.verdict)}'
        f'<q>{escape(claim.text)}</q><span class="place">{escape(claim.place)}</span></summary>'
        f"<div><p>{escape(claim.rule)}</p>{told}{note}</div></details>"
    )


def _part(part: Part) -> str:
    mean, low, high = (number(x) for x in part.estimate)
    return (
        f'<li>{escape(part.text)}: {escape(part.figures)} {mean} <span class="soft">({low} to {high})</span> '
        f'<span class="{part.status}">{part.status}</span></li>'
    )


def _chip(verdict: str, text: str) -> str:
    return f'<span class="chip {verdict.replace(" ", "-")}">{escape(text)}</span>'


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
