"""Where the reproduction stands, in Markdown, put between marks into documents: nothing there is typed by hand.

    <!-- ndigo report --paper: claims -->
    ...
    <!-- end -->

`ndigo report --paper --docs FILE ...` writes every such block of a file anew.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ndigo.errors import NdigoError, unknown_name
from ndigo.paper.claims import Judged, Part, count
from ndigo.paper.measured import Cells
from ndigo.paper.plan import CELLS, RECIPE, recipe
from ndigo.paper.tables import as_markdown, number, paper_tables
from ndigo.storage.run_folder import write_whole

BLOCK = re.compile(r"(<!-- ndigo report --paper: ([\w ]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def summary(cells: Cells, judged: Sequence[Judged]) -> str:
    """A paragraph: how many cells, on what, and how the claims stand."""
    config = recipe(CELLS[0])
    text = f"{len(cells)} of {len(CELLS)} cells are there"
    if cells:
        devices = ", ".join(dict.fromkeys(cell.device for cell in cells.values()))
        # Not the device's time: cells may have shared it.
        text += f"; their own clocks add up to {sum(cell.minutes for cell in cells.values()):,.0f} minutes ({devices})"
    text += f". The recipe of all: preset `{RECIPE}`, {config.seeds} seeds, {config.learner_steps:,} learner steps. "
    told = [f"{verdict} {num}" for verdict, num in count(judged).items() if num]
    return text + f"Verdicts on {len(judged)} claims: {', '.join(told)}."


def blocks(cells: Cells, judged: Sequence[Judged]) -> dict[str, str]:
    """Every block by its name."""
    tables = paper_tables(cells)
    there = [as_markdown(table) for table in tables if any(e.ours for _, entries in table.rows for e in entries)]
    texts = {
        "state": summary(cells, judged),
        "tables": "\n\n".join(there) or "No table has a cell yet.",
        "claims": claims_markdown(judged),
        **{f"table {i}": as_markdown(table) for i, table in enumerate(tables, 1)},
    }
    return {name: f"{text}\n" for name, text in texts.items()}


def claims_markdown(judged: Sequence[Judged]) -> str:
    """The claims that have all their cells; the others are `ndigo report --paper`'s to list."""
    lines = ["| | claim | verdict | figures |", "|--:|---|---|---|"]
    for i, one in enumerate(judged, 1):
        if not one.missing:
            claim = f'"{one.claim.text}" ({one.claim.place}). *{one.claim.rule}*'
            told = "<br>".join(text for text in (*map(part_text, one.parts), *one.evidence, one.claim.note) if text)
            lines.append(f"| {i} | {claim} | {one.verdict} | {told} |")
    return "\n".join(lines) if len(lines) > 2 else "No claim has all its cells yet."


def part_text(part: Part) -> str:
    mean, low, high = map(number, part.estimate)
    figures = f"{part.figures} " if part.figures else ""
    return f"{part.text}: {figures}{mean} ({low} to {high}), {part.status}"


def write_docs(path: Path, cells: Cells, judged: Sequence[Judged]) -> list[str]:
    """Writes the file's blocks anew; returns their names."""
    try:
        text = path.read_text()
    except OSError as error:
        raise NdigoError(f"cannot read {path}: {error.strerror or error}") from None
    known = blocks(cells, judged)
    names = [match[2] for match in BLOCK.finditer(text)]
    if not names:
        raise NdigoError(f"{path} has no block to write, from <!-- ndigo report --paper: NAME --> to <!-- end -->")
    for name in names:
        if name not in known:
            raise unknown_name(f"block in {path}", name, known)
    write_whole(path, BLOCK.sub(lambda match: match[1] + known[match[2]] + match[4], text).encode())
    return names
