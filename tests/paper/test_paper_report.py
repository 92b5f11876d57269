"""`ndigo report --paper` from made-up rows: their numbers, the paper's, what is missing, and generated documents."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from made_up_rows import contents, make_up, numbers_of
from matplotlib.image import imread

from ndigo.cli import main
from ndigo.evaluation.tracking import NUM_AGES
from ndigo.paper.claims import count, judge
from ndigo.paper.curves import tracking_figure
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.experiments.across import all_claims
from ndigo.paper.measured import measured
from ndigo.paper.plan import all_rows, load_rows, row_folders
from ndigo.paper.rows import RowFolder, save_row
from ndigo.paper.state import BLOCK, blocks, claims_in_full, write_docs
from ndigo.paper.tables import paper_sheets
from ndigo.report.curves import curves_figure
from ndigo.report.pool import Pool
from ndigo.storage.run_folder import RunFolder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    root = tmp_path_factory.mktemp("rows")
    make_up(root, Row("exp1", "ndigo-4"), lambda metric, name: {"visits": 111.0, "first_visit": 22.0}.get(metric))
    make_up(
        root, Row("exp5", "ndigo-1"), lambda metric, name: 0.5 if (metric, name) == ("frequency", "movable") else None
    )
    make_up(root, Row("exp3", "ndigo-1"), lambda metric, name: {"tracking": 1.5}.get(metric))
    return root


def test_every_printed_number_stands_in_a_table_beside_its_cell(rows):
    tables = paper_sheets(load_rows(rows))
    assert [len(table.rows) for table in tables] == [8, 7, 7, 7, 8, 8, 8]
    tables_of = [t for e in EXPERIMENTS.values() for t in e.printed.tables.values()]
    printed = [number for t in tables_of for by_object in t.values() for number in by_object.values()]
    shown = [entry.paper for table in tables for _, entries in table.rows for entry in entries]
    assert sum("±" in text for text in shown) == sum(number is not None for number in printed)
    assert shown.count("-") == printed.count(None)
    ours = {
        (table.title, label, column): entry.ours
        for table in tables
        for label, entries in table.rows
        for column, entry in zip(table.columns, entries, strict=True)
        if entry.ours is not None
    }
    assert ours["Experiment 1: Ignore the noise, find the object", "ndigo-4", "visits: fixed"].mean == pytest.approx(
        111
    )
    assert ours["Experiment 5: The maze (% seen)", "ndigo-1", "% seen: movable"].mean == pytest.approx(50)
    assert len(ours) == (4 + 1 + 2) + (2 + 2 + 2) + 2 + (5 + 2) + 5  # of the rows that are there and of no other
    worst = {entries[-1].note for table in tables for label, entries in table.rows if label == "ndigo-4"}
    assert worst == {"0%", ""}  # missing ones have none


def test_it_prints_tables_claims_and_pictures_and_says_what_is_missing(rows, tmp_path, capsys):
    assert main(["report", "--paper", "--rows", str(rows), "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Of the paper's {len(all_claims())} claims 1 holds and {len(all_claims()) - 1} lack rows.")
    assert re.search(r"^  Experiment 3: .*: 1 holds, \d+ lack rows$", out, re.MULTILINE)
    assert re.search(
        r"35 rows are missing .*:\n  exp1: .*\n  exp2: all 7\n  exp3: .*\n  exp4: all 8\n  exp5: .*ndigo-2", out
    )
    assert re.search(r"^ndigo-4 +111 +111 +22.0 +22.0 +0.00 +4.00", out, re.MULTILINE)
    assert re.search(r"^paper +300.4±22.2 +1.4±1.2 +40.8±9.7 +330.7±47.4", out, re.MULTILINE)
    assert "rows missing" not in out  # but counted
    assert f"the {len(all_claims()) - 1} claims that lack rows: ndigo report --paper --full" in out
    assert "3 of 38 rows are made by the recipe" in out
    assert "…" not in out
    tables = out[out.index("Experiment 1: Ignore the noise, find the object (paper") : out.index("35 rows")]
    assert "missing" not in tables
    assert max(map(len, tables.split("\n"))) <= 80
    assert '20. holds: "still it can track the dynamics' in out
    names = ["exp1-discovery-loss", "exp3-discovery-loss", "exp3-tracking", "exp5-discovery-loss", "scores"]
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == names
    assert json.loads((tmp_path / "scores.json").read_text())["tasks"] == {
        "ndigo-1": ["exp3", "exp5"],
        "ndigo-4": ["exp1"],
    }
    assert main(["report", "--paper", "--rows", str(rows), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["tables"][0]["rows"]["ndigo-4"]["visits: fixed"]["paper"] == "300.4 ± 22.2"
    assert len(printed["claims"]) == len(all_claims())
    blue = abs(imread(tmp_path / "exp1-discovery-loss.png")[..., :3] * 255 - (0x00, 0x72, 0xB2)).max(axis=-1) <= 2
    assert blue.sum() > 200  # ndigo-4's line


def test_in_full_it_prints_every_claim_and_the_papers_numbers_of_missing_rows(rows, tmp_path, capsys):
    words = ["report", "--paper", "--rows", str(rows), "--out", str(tmp_path), "--formats", "png"]
    assert main(words) == 0
    short = capsys.readouterr().out
    assert main([*words, "--full"]) == 0
    out = capsys.readouterr().out
    assert out.count("rows missing: ") == len(all_claims()) - 1  # one needs no other row
    assert re.search(r"^pg +missing.*\npaper +27.3±22.0", out, re.MULTILINE)
    assert len(short.splitlines()) < len(out.splitlines()) / 2


def test_tracking_weighs_steps_and_leaves_out_what_few_seeds_reached():
    made = contents(Row("exp3", "pe"))
    loss = np.full((10, 3, NUM_AGES), 4.0)
    loss[0] = 1.0
    steps = np.ones((10, 3, NUM_AGES))
    steps[0] = 9.0
    steps[2:, :, 5:] = 0.0
    made["result"]["tracking"] = {"loss": loss.tolist(), "steps": steps.tolist()}
    folder = RowFolder(Path(), made["settings"], made["result"], made["lines"])
    rows = {
        Row("exp3", "pe"): measured(Row("exp3", "pe"), folder),
        Row("exp3", "icm"): numbers_of(Row("exp3", "icm")),
    }
    figure = tracking_figure(EXPERIMENTS["exp3"], rows)
    assert figure is not None
    assert [axis.get_title() for axis in figure.axes] == ["pe", "icm"]
    upper, lower, *_ = figure.axes[0].get_lines()
    assert (upper.get_label(), lower.get_label()) == ("upper", "lower")
    np.testing.assert_allclose(np.asarray(upper.get_xdata()), range(5))
    np.testing.assert_allclose(np.asarray(upper.get_ydata()), (9 * 1 + 9 * 4) / 18)


def test_a_later_run_with_more_visits_is_drawn_in_full(tmp_path):
    folders = []
    for visits in (1.0, 300.0):
        world = {"channels": ["walls", "lamp"], "in_view": ["lamp"], "objects": []}
        settings = {"config": {"world": "my:world", "seeds": 1}, "reward": "pe", "world": world}
        folders.append(RunFolder.create(tmp_path / str(visits), settings))
        learning = {"reward": [0.0], "reward_c": [[0.0, 0.0]]}
        folders[-1].append(
            {"step": 1, "learning": learning, "evaluation": {"visits": [[visits]], "discovery_loss": [[]]}}
        )
    (axis,) = {
        axis for axis in curves_figure([Pool((folder,)) for folder in folders]).axes if "visits" in axis.get_title()
    }
    assert axis.get_ylim()[0] == 0
    assert axis.get_ylim()[1] > 300


def test_without_a_cell_everything_is_missing_and_nothing_is_drawn(tmp_path, capsys):
    (tmp_path / "none").mkdir()
    words = ["report", "--paper", "--rows", str(tmp_path / "none"), "--out", str(tmp_path / "out")]
    assert main([*words, "--html", str(tmp_path / "page.html")]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"No claim of the paper is decided yet: each of the {len(all_claims())} lacks a row.")
    assert "0 of 38 rows are made by the recipe" in out
    assert not (tmp_path / "out").exists()
    assert "None yet: no row is there." in (tmp_path / "page.html").read_text()


def test_documents_have_their_blocks_written_and_the_rest_left_alone(rows, tmp_path):
    document, numbers = tmp_path / "a.md", load_rows(rows)
    document.write_text("before\n<!-- ndigo report --paper: state -->\nOLD\n<!-- end -->\nafter\n")
    known = blocks(numbers, [judge(claim, numbers) for claim in all_claims()])
    assert write_docs(document, known) == ["state"]
    state = "3 of 38 rows are made by the recipe: preset `gpu`, 10 seeds"
    before, text, after = document.read_text().partition(state)
    verdicts = f"Of the paper's {len(all_claims())} claims 1 holds and {len(all_claims()) - 1} lack rows. "
    assert before == f"before\n<!-- ndigo report --paper: state -->\n{verdicts}"
    assert text
    assert after.endswith("\n<!-- end -->\nafter\n")
    assert "OLD" not in after


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report", "--paper", "runs/first"], "--paper reports on rows, not on runs"),
        (["report", "--docs", "a.md", "runs/first"], "--docs writes what --paper finds"),
        (["report", "--full", "runs/first"], "--full prints what --paper finds"),
        (["report", "--paper", "--html", "page.txt"], "--html page.txt: the name must end in .html"),
        (["report", "--paper", "--docs", "plain.md"], "plain.md has no block to write"),
        (["report", "--paper", "--docs", "wrong.md"], "unknown block in wrong.md 'claim'"),
        (["report", "--paper", "--docs", "latin.md"], "latin.md is no text in UTF-8"),
        (["report", "--paper", "--docs", "none.md"], "--docs none.md: it must be a document"),
        (["report", "--paper", "--rows", "plain.md"], "--rows plain.md: it must be a folder of rows"),
        (["report", "--paper", "--rows", "none"], "--rows none: it must be a folder of rows"),
    ],
)
def test_bad_input_gets_one_line_and_code_2(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "rows").mkdir(parents=True)
    (tmp_path / "plain.md").write_text("nothing")
    (tmp_path / "latin.md").write_bytes(b"na\xefve")
    (tmp_path / "wrong.md").write_text("<!-- ndigo report --paper: claim -->\nx\n<!-- end -->")
    assert main(words) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith(f"ndigo: {message}")
    assert (tmp_path / "wrong.md").read_text().count("x") == 1


def test_outside_of_a_checkout_the_paper_asks_for_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--paper"]) == 2
    said = "there is no results/rows here: run it in a checkout of ndigo, or give --rows FOLDER"
    assert capsys.readouterr().err == f"ndigo: {said}\n"


@pytest.mark.parametrize("name", ["README.md", "docs/results.md", "docs/claims.md"])
def test_what_the_documents_show_is_what_the_shipped_rows_say(name):
    folder = ROOT / "results" / "rows"
    rows = load_rows(folder)
    others = [row for row in row_folders(folder) if row not in rows]
    known = blocks(rows, [judge(claim, rows) for claim in all_claims()], others)
    text = (ROOT / name).read_text()
    for block in BLOCK.finditer(text):
        assert block[3] == known[block[2]], f"ndigo report --paper --docs {name}"


def test_rows_of_another_recipe_count_as_missing_and_are_told(tmp_path, capsys):
    make_up(tmp_path / "rows", Row("exp1", "pe"))
    old = contents(Row("exp1", "icm"))
    del old["settings"]["config"]["longest_stretch"]  # made before there was such a setting
    save_row(tmp_path / "rows" / "exp1-icm", **old)
    assert list(load_rows(tmp_path / "rows")) == [Row("exp1", "pe")]
    assert main(["report", "--paper", "--rows", str(tmp_path / "rows"), "--out", str(tmp_path)]) == 0
    assert "1 of 38 rows are made by the recipe" in (out := " ".join(capsys.readouterr().out.split()))
    assert "Another recipe made 1 more, which count as missing." in out
    assert main(["reproduce", "--list", "--rows", str(tmp_path / "rows")]) == 0
    assert "not the recipe: longest_stretch not yet a setting" in " ".join(capsys.readouterr().out.split())


def test_what_ships_is_small_and_every_row_is_of_the_plan():
    results = ROOT / "results"
    assert sum(path.stat().st_size for path in results.rglob("*") if path.is_file()) < 30e6
    names = {row.name for row in all_rows()}
    assert {path.name for path in (results / "rows").glob("[!.]*")} <= names


def test_the_site_has_a_heading_per_claim_by_experiment_and_folds_what_decides_it(rows):
    numbers = load_rows(rows)
    judged = [judge(claim, numbers) for claim in all_claims()]
    lines = claims_in_full(judged).splitlines()
    groups = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert groups == ["Abstract", *(e.heading for e in EXPERIMENTS.values()), "Section 7"]
    headings = [line for line in lines if line.startswith("### ")]
    assert headings == [f"### {i}. “{claim.text}”" for i, claim in enumerate(all_claims(), 1)]
    folded = [line for line in lines if line.startswith("<details")]
    assert len(folded) == len(judged)
    for one, text in zip(judged, folded, strict=True):
        assert text.count("<tr><td>") == len(one.parts)
        assert text.count("<code>") == len(one.missing)
    overview = [line for line in lines if line.startswith(tuple(f"| {group} |" for group in groups))]
    counts = [[int(cell or 0) for cell in re.findall(r"\| *(\d*) *(?=\|)", line)] for line in overview]
    assert np.sum(counts, axis=0).tolist() == [n for n in count(judged).values() if n]
    assert [sum(row) for row in counts] == [2, *(len(e.claims) for e in EXPERIMENTS.values()), 2]
