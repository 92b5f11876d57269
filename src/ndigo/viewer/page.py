"""The player as a single file, or as parts of a larger page: recordings, code and style inlined, no server, no network.

The page's JavaScript is plain modules, which a browser loads from a server but not from a disk. `script` makes one of
them: each module becomes a function that returns what it exports, its imports the results of others.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path

from ndigo.errors import NdigoError
from ndigo.report.page import document, hash_of
from ndigo.storage.episodes import Recording, to_json
from ndigo.storage.run_folder import make_folder, named_path, write_whole

STATIC = Path(__file__).parent / "static"
FORMAT, VERSION = "ndigo-player", 1
LIMIT = 3_000_000  # bytes of a page that can still be sent to someone

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)


def export_html(recordings: Sequence[Recording], path: str | Path) -> Path:
    """Writes a page that plays the recordings, one file of all there is; an error where it would exceed 3 MB."""
    path = named_path(path)
    page = single_page(recordings).encode(errors="replace")
    make_folder(path.parent)
    write_whole(path, page)
    return path


def single_page(recordings: Sequence[Recording]) -> str:
    """The page that `export_html` writes."""
    title = "ndigo: " + "; ".join(dict.fromkeys(r.meta["label"] for r in recordings))
    head = f'<meta name="color-scheme" content="dark light">\n{shared_code()}'
    body = f'<body class="ndigo-page">\n{fragment(recordings, is_whole=True)}\n</body>'
    page = document(title, head, body, scripts=hash_of(script()), styles=hash_of(style()))
    if (size := len(page.encode(errors="replace"))) > LIMIT:
        count = sum(len(r.keys) for r in recordings)
        raise NdigoError(
            f"{count} episodes make a page of {size / 1e6:.1f} MB; the limit is {LIMIT / 1e6:g} MB: export fewer"
        )
    return page


def fragment(recordings: Sequence[Recording], *, is_whole: bool = False) -> str:
    """One player, for a page that holds `shared_code()` once. `is_whole`: the page is nothing but this player."""
    data = base64.b64encode(pack(recordings)).decode("ascii")
    whole = " data-whole" if is_whole else ""
    return (
        f'<div class="ndigo" data-ndigo="embedded"{whole}>'
        f'<script type="application/gzip">{data}</script>'
        "<noscript>This player draws with JavaScript.</noscript></div>"
    )


def shared_code() -> str:
    """Style and script of all players of a page: put it once into the page's head."""
    return f'<style>{style()}</style>\n<script type="module">{script()}</script>'


def pack(recordings: Sequence[Recording]) -> bytes:
    """Recordings as the player reads them (`payload.js`): one list of episodes for each agent."""
    episodes = [[to_json(r, e) for e in range(len(r.keys))] for r in recordings]
    content = {"format": FORMAT, "version": VERSION, "recordings": episodes}
    return gzip.compress(json.dumps(content).encode(), mtime=0)  # the same recording, the same bytes


def style() -> str:
    return (STATIC / "style.css").read_text(encoding="utf-8")


def script() -> str:
    """All modules as one script."""
    bodies: dict[str, str] = {}

    def add(name: str) -> None:
        source = (STATIC / f"{name}.js").read_text(encoding="utf-8")
        for _, other in IMPORT.findall(source):
            if other not in bodies:
                add(other)
        body = IMPORT.sub(lambda match: f"const {{{match[1]}}} = {match[2]}_js;", source)
        exports = ", ".join(exported for _, exported in EXPORT.findall(body))
        body = EXPORT.sub(r"\1 \2", body)
        bodies[name] = f"const {name}_js = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n"

    add("main")
    return "".join(bodies.values())
