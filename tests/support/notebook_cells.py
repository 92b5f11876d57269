"""A notebook without Jupyter: its code cells run in order, and what each one shows is collected."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "examples/first_hour.ipynb"


def cells(kind: str, path: Path = NOTEBOOK) -> list[str]:
    """The sources of the cells of a kind, `code` or `markdown`."""
    content = json.loads(path.read_text())
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind]


def run_cells(sources: list[str]) -> list[Any]:
    """The value of each cell's last expression, None where it ends with a statement."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for source in sources:
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        shown.append(None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names))  # type: ignore[attr-defined]
    return shown
