"""The site: `make docs` builds it, and every warning is an error.

Two kinds of page are written when it is built, and never by hand: one page per command from its own help, and the
paper's claims with their verdicts from the rows under results/.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

ROOT = Path(__file__).parent.parent
GENERATED = Path(__file__).parent / "generated"

project = "ndigo"
author = "the authors of ndigo"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = True
exclude_patterns = ["pictures/*.py", "static"]
html_math_renderer = "mathml"  # browsers draw it themselves: no script, and nothing fetched from elsewhere
html_theme = "furo"
html_title = "ndigo"
html_static_path = ["pictures", "static"]
html_css_files = ["claims.css", "site.css"]
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
nitpicky = False  # types in signatures name JAX's and NumPy's own pages, which are not fetched
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True


def setup(app: Any) -> None:
    app.connect("builder-inited", lambda _: generate())
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("source-read", name_what_is_outside)
    app.connect("html-page-context", break_between_words)
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))


def inline_math(self: Any, node: Any) -> None:
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block_math(self: Any, node: Any) -> None:
    self.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def mathml(text: str, display: str) -> str:
    """MathML, with the space that belongs between `ln` and a letter."""
    return re.sub(r"<mi>ln</mi>(?!<mo)", '<mi>ln</mi><mspace width="0.17em"/>', convert(text, display=display))


def generate() -> None:
    GENERATED.mkdir(exist_ok=True)
    _write("commands.md", commands_page())


def _write(name: str, text: str) -> None:
    """Only where it differs, so that a second build is quick."""
    path = GENERATED / name
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def commands_page() -> str:
    """What `ndigo COMMAND --help` prints, for each command."""
    from ndigo.commands import COMMANDS

    os.environ["COLUMNS"] = "84"
    parts = ["# Commands", "What each command prints with `--help-all`."]
    for name, summary in COMMANDS.items():
        parts += [f"## ndigo {name}", f"{summary[0].upper()}{summary[1:]}.", f"```text\n{help_of(name)}\n```"]
    return "\n\n".join(parts) + "\n"


def help_of(name: str) -> str:
    from ndigo.cli import main

    page = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(page):
        main([name, "--help-all"])
    return page.getvalue().strip()


def name_what_is_outside(app: Any, name: str, source: list[str]) -> None:
    """Documents of the checkout that are no pages of the site are named by their path."""
    outside = r"(?<!!)\[([^\]]+)\]\(\.\./((?:studies|CONTRIBUTING|README)[^)#]*)(?:#[^)]*)?\)"

    def named(link: re.Match[str]) -> str:
        text, path = link.groups()
        return f"`{path}`" if path.startswith(text) else f"{text} `{path}`"

    source[0] = re.sub(outside, named, source[0])


def break_between_words(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Long names may break after `/`, `_` or `::`; an interval of a table stays whole."""

    def broken(name: re.Match[str]) -> str:
        return re.sub(r"(?<=\w)([/_]|::)(?=\w)", r"\1<wbr>", name[0])

    body = re.sub(r'(?<=<span class="pre">)[^<&]+', broken, context.get("body", ""))
    context["body"] = re.sub(r"(?<=\d )\([\d.]+ to [\d.]+\)", r'<span class="interval">\g<0></span>', body)


def plain_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Our docstrings are plain text: indented blocks are equations, everything else is words and `code`."""
    told: list[str] = []
    for line in lines:
        if not line.strip():
            told.append("")
        elif line.startswith(" "):
            if told and not told[-1].startswith(" ") and told[-1] != "":
                told.append("")
            is_open = next((before for before in reversed(told) if before), "::")
            if not is_open.startswith(" ") and is_open != "::":
                told += ["::", ""]
            told.append(line)
        else:
            if told and told[-1].startswith(" "):
                told.append("")
            told.append(escaped(line))
    lines[:] = told


def escaped(line: str) -> str:
    words = re.split(r"(`[^`]*`)", line)
    return "".join(f"`{word}`" if word.startswith("`") else re.sub(r"([\\*|_])", r"\\\1", word) for word in words)


sys.path.insert(0, str(ROOT / "src"))
