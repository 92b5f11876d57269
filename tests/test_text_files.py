"""Text files of the package are UTF-8, whatever the machine's own encoding is."""

from __future__ import annotations

import ast
from pathlib import Path

import ndigo


def test_every_text_file_is_read_and_written_as_utf8():
    root, calls = Path(ndigo.__file__).parent, []
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") not in ("read_text", "write_text"):
                continue
            if "encoding" not in [keyword.arg for keyword in node.keywords]:
                calls.append(f"{file.relative_to(root)}:{node.lineno}")
    assert calls == []
