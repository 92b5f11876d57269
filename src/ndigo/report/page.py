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

from ndigo.report.numbers import MISSING, number
from ndigo.report.sheets import Entry, Sheet

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
    scripts = " ".join(map(hash_of, re.findall(r"<script[^>]*>(.*?)</script>", shared, re.DOTALL))) or "'none'"
    sheet = (
        '<body class="report">\n<main class="report-sheet">\n'
        f'<h1>{escape(title)}</h1>\n<p>{escape(lead)}</p>\n<nav class="links">{links}</nav>\n{body}'
        "</main>\n</body>"
    )
    head = f"<style>{STYLE.read_text(encoding='utf-8')}</style>\n{shared}"
    return document(title, head, sheet, scripts=scripts, styles="'unsafe-inline'")


def document(title: str, head: str, body: str, *, scripts: str, styles: str) -> str:
    """An HTML file that may run these scripts and use these styles, and reach nothing."""
    policy = f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; base-uri 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n{head}\n</head>\n{body}\n</html>\n'
    )


def hash_of(text: str) -> str:
    """How a page's policy names a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def tables_section(sheets: Sequence[Sheet], basis: str) -> Section:
    """`basis`: what the numbers are means of, and what their intervals are."""
    note = [f"{basis}."]
    if any(column.startswith("worst seed") for sheet in sheets for column in sheet.columns):
        note.append("Worst seed: the greatest discovery loss, and the least share of episodes that see the objects.")
    if any(entry.paper for sheet in sheets for _, entries in sheet.rows for entry in entries):
        note.append("Beneath, in small: mean ± spread as the paper prints them.")
    return Section("tables", "Tables", f'<p class="soft">{" ".join(note)}</p>{"".join(map(_table, sheets))}')


def figures_section(figures: Sequence[tuple[str, str]], is_broad: bool = False) -> Section:
    """(caption, SVG) each; a broad one has a line of its own."""
    drawn = "".join(_figure(*each, is_broad) for each in figures)
    none = '<p class="soft">None yet: no row is there.</p>'
    return Section("curves", "Learning curves", f'<div class="curves">{drawn}</div>' if drawn else none)


def players_section(players: Mapping[str, str]) -> Section:
    """Embeddable players as HTML, by their headings."""
    each = [f'<div class="player"><h3>{escape(title)}</h3>{player}</div>' for title, player in players.items()]
    return Section("episodes", "Watch", "".join(each))


def _table(sheet: Sheet) -> str:
    place = f' <span class="place">{escape(sheet.place)}</span>' if sheet.place else ""
    if sheet.is_empty:
        return f'<h3>{escape(sheet.title)}{place}</h3><p class="soft">No row yet.</p>'
    heads = []
    for column in sheet.columns:
        metric, _, name = column.partition(": ")
        heads.append(f'<th scope="col">{escape(name or metric)}<small>{escape(metric if name else "")}</small></th>')
    rows = "".join(
        f'<tr data-row="{escape(label)}"><th scope="row">{escape(label)}</th>{"".join(map(_entry, entries))}</tr>'
        for label, entries in sheet.rows
    )
    head = f"<thead><tr><th></th>{''.join(heads)}</tr></thead>"
    drawn = f'<div class="wide" tabindex="0"><table>{head}<tbody>{rows}</tbody></table></div>'
    return f"<h3>{escape(sheet.title)}{place}</h3>{drawn}"


def _figure(caption: str, svg: str, is_broad: bool) -> str:
    broad = " broad" if is_broad else ""
    return f'<figure class="curve{broad}">{svg}<figcaption>{escape(caption)}</figcaption></figure>'


def _entry(entry: Entry) -> str:
    paper = f'<span class="paper">{escape(entry.paper)}</span>' if entry.paper else ""
    if entry.ours is None:
        return f'<td><span class="missing">{MISSING}</span>{paper}</td>'
    interval = f' <span class="interval">{escape(entry.range)}</span>' if entry.range else ""
    return f"<td><b>{number(entry.ours.mean)}</b>{interval}{paper}</td>"
