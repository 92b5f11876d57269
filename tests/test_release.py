"""One version everywhere it is named, and hooks that run what `make lint` runs."""

import re
from pathlib import Path

import ndigo

ROOT = Path(__file__).parent.parent


def test_changelog_and_citation_name_the_version_of_the_package():
    versions = re.findall(r"^## (\d+\.\d+\.\d+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == ndigo.__version__
    assert versions == sorted(versions, key=lambda version: [int(n) for n in version.split(".")], reverse=True)
    assert re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE) == [ndigo.__version__]


def test_every_hook_runs_a_line_of_make_lint_and_every_line_has_its_hook():
    recipe = (ROOT / "Makefile").read_text().split("\nlint:")[1].split("\n\n")[0]
    lint = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()[1:]]
    hooks = re.findall(r"^ +entry: (.*)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert hooks == lint
