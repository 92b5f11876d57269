"""Small pieces, counted in the source: what one reads at a time, and what one finds in a folder."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import ndigo

ROOT = Path(ndigo.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# What is read to understand the method; CONTRIBUTING names the seven to begin with.
LOOP = ("training/acting.py", "training/learner.py", "training/trainer.py")
CORE = ("types.py", "networks.py", "model/*.py", "agent/*.py", *LOOP)


def num_lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_no_function_is_longer_than_80_lines():
    functions = [
        (f"{file.relative_to(ROOT)}: {node.name}", (node.end_lineno or 0) - node.lineno + 1)
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert [name for name, length in functions if length > 80] == []


def test_no_folder_has_more_than_14_modules():
    assert [folder for folder, num in Counter(file.parent for file in FILES).items() if num > 14] == []


def test_most_files_are_shorter_than_200_lines_and_none_is_as_long_as_two():
    lengths = [num_lines(file) for file in FILES]
    assert sum(length >= 200 for length in lengths) <= len(lengths) / 8
    assert max(lengths) < 400


def test_the_core_does_not_grow():
    assert sum(num_lines(file) for pattern in CORE for file in ROOT.glob(pattern)) < 1575
