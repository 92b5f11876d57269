"""The documents name files, tests and code that exist."""

import json
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))
NOTATION = (ROOT / "docs" / "notation.md").read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_is_named_exists(document):
    named = re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w/.-]+)(?:::\w+)?`", document.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_is_named_exists(document):
    named = re.findall(r"`(tests/[\w/.-]+)::(\w+)`", document.read_text())
    assert [f"{path}::{test}" for path, test in named if f"\ndef {test}(" not in (ROOT / path).read_text()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_somewhere(document):
    links = re.findall(r"\]\((?!http)([^)#]+)\)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_on_the_site_a_picture_of_the_checkout_is_shown_and_a_document_is_named():
    source = ["![rows](../studies/suites/suites.png) ([study](../studies/suites/README.md))"]
    runpy.run_path(str(ROOT / "docs/conf.py"))["name_what_is_outside"](None, "results", source)
    assert source == ["![rows](../studies/suites/suites.png) (study `studies/suites/README.md`)"]


def sentences(text: str) -> list[str]:
    """Of a page's prose: without code, formulas, tables and what a command writes."""
    text = re.sub(
        r"<!-- ndigo report.*?<!-- end -->|^```.*?^```$|^\$\$.*?\$\$$", "", text, flags=re.DOTALL | re.MULTILINE
    )
    text = "\n".join(line for line in text.splitlines() if not line.startswith(("|", "#", "    ", "!")))
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "code", text)
    paragraphs = re.split(r"\n\s*\n|\n\s*[-*] |\n\d+\. ", text)
    return [
        part for text in paragraphs for part in re.split(r"(?<=[.:;?!])\s+(?=[A-Z*(]|code)", " ".join(text.split()))
    ]


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCUMENTS], ids=lambda path: path.name)
def test_no_sentence_is_longer_than_thirty_words(page):
    assert [text for text in sentences(page.read_text()) if len(text.split()) > 30] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCUMENTS], ids=lambda path: path.name)
def test_prose_wraps_at_110_columns(page):
    """Not code, tables, pictures and formulas, nor what `ndigo report --paper` writes."""
    text = re.sub(
        r"<!-- ndigo report.*?<!-- end -->|^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    assert [line for line in text.split("\n") if len(line) > 110 and not line.startswith(("|", "!", "#", "$$"))] == []


def test_the_documents_are_read_in_an_hour():
    """Words, not code, numbers and rules of tables, nor what `ndigo report --paper` writes."""
    skipped = re.compile(r"^```.*?^```$|^<!-- ndigo report.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
    pages = [skipped.sub("", page.read_text()) for page in DOCUMENTS]
    assert sum(bool(re.search("[A-Za-z]", word)) for page in pages for word in page.split()) <= 10_000


@pytest.mark.parametrize(("device", "words"), [("h200", "one H200, 1,024 copies"), ("cpu", "two cores, 64 copies")])
def test_what_adapters_take_is_what_was_measured(device, words):
    ids = ("Breakout-MinAtar", "CartPole-v1", "Navix-DoorKey-8x8-v0", "XLand-MiniGrid-R4-9x9")
    ids = (*ids, "Craftax-Classic-Symbolic-v1", "Craftax-Symbolic-v1")
    worlds = json.loads((ROOT / "results" / "bench" / f"suites-{device}.json").read_text())["worlds"]
    shares = {name.partition("::")[2]: world["share"] for name, world in worlds.items()}
    row = f"| {words} | {' | '.join(f'{shares[id_]:.2f}' for id_ in ids)} |"
    assert row in (ROOT / "docs" / "performance.md").read_text()


def test_every_name_in_the_notation_is_in_the_file_beside_it():
    missing = []
    for row in re.findall(r"^\|.*`src/.*\|$", NOTATION, re.MULTILINE):
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        (path,) = re.findall(r"`(src/[\w/.]+)`", row)
        source = (ROOT / path).read_text()
        for code in re.findall(r"`([^`]+)`", cells[1]):
            name = re.split(r"[.\[(]", code)[-1 if "." in code else 0]
            if not re.search(rf"\b{name}\b", source):
                missing.append(f"{code} in {path}")
    assert missing == []


def test_the_reward_is_held_by_tests_from_frame_to_number():
    """Each row of the chain names at least one test."""
    chain = NOTATION.split("## From a frame to the reward")[1].split("\n\n")[1].splitlines()[2:]
    assert len(chain) == 9
    assert [row for row in chain if "tests/" not in row] == []


def test_the_files_to_read_first_exist_and_are_short():
    section = (ROOT / "CONTRIBUTING.md").read_text().split("## Read first")[1].split("\n## ")[0]
    files = re.findall(r"^\d\. `(src/[\w/.]+)`", section, re.MULTILINE)
    assert len(files) == 7
    assert sum(len((ROOT / file).read_text().splitlines()) for file in files) < 900
