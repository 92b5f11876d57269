"""What docs/extending.md adds to the library."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ndigo.model import LIKELIHOODS, PREDICTORS
from ndigo.paper.experiment import EXPERIMENTS
from ndigo.worlds import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def made():
    """What the page's snippets define, run in turn; after a file's tests the registries are as they were."""
    registries: list[dict] = [KINDS, PREDICTORS, LIKELIHOODS, EXPERIMENTS]
    before = [dict(registry) for registry in registries]
    names: dict = {}
    for snippet in SNIPPETS:
        exec(compile(snippet, "extending.md", "exec"), names)
    yield names
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)
