"""What the studies' pages show is what their files say."""

import re
import runpy
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from ndigo import frames
from ndigo.paper.conclusion import walls_in_words
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.plan import load_rows

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "studies"


@pytest.mark.parametrize(
    ("command", "num_tables"),
    [
        *(("first-recipe", 2), ("two-cores", 7), ("first-maze", 1), ("recipe", 4), ("two-objects", 1)),
        *(("two-objects along", 1), ("knowledge/where.py", 2)),
        *(("policy-mean", 1), ("suites", 1), ("suites studies/suites/rows-before", 1), ("suites/yardstick.py", 1)),
        *(("paper-predictor", 1), ("features", 1)),
    ],
)
def test_the_tables_of_a_study_are_what_its_files_say(command, num_tables, monkeypatch, capsys):
    path, *options = command.split()
    script = STUDIES / path if path.endswith(".py") else STUDIES / path / "table.py"
    monkeypatch.setattr(sys, "argv", [script.name, *options])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(script), run_name="__main__")
    tables = capsys.readouterr().out.strip().split("\n\n")
    assert len(tables) == num_tables
    written = (script.parent / "README.md").read_text()
    assert [table for table in tables if table not in written] == []


def test_the_steps_since_an_object_was_in_view_are_counted_from_its_last_sight():
    study = runpy.run_path(str(STUDIES / "knowledge" / "table.py"))
    is_seen = np.random.default_rng(0).random((3, 40, 2)) < 0.1
    since = study["steps_since"](is_seen)
    for (e, t, i), found in np.ndenumerate(since):
        sights = [s for s in range(t + 1) if is_seen[e, s, i]]
        assert found == (t - sights[-1] if sights else -1)


def test_what_is_said_of_other_peoples_worlds_is_what_their_rows_say():
    study, rows = runpy.run_path(str(STUDIES / "suites" / "table.py")), {}
    for folder in ("rows-before", "rows"):
        rows |= {kept["row"]: kept for kept in study["read"](STUDIES / "suites" / folder)}
    page, results = (
        " ".join((ROOT / name).read_text().split()) for name in ("studies/suites/README.md", "docs/results.md")
    )

    def mean(row: str, name: str = "coverage") -> float:
        return float(np.mean(rows[row]["greedy"][name]))

    def noise(row: str) -> np.ndarray:
        return np.array(rows[row]["greedy"]["reward_c"])[:, rows[row]["channels"].index("noise")]

    asked = f"{noise('staying-noise-ndigo-1').mean():.2f}"
    assert f"earns {asked} nats per step; exact NDIGO-1 could earn ln 6 / 2 = {np.log(6) / 2:.2f}" in page
    assert f"pays NDIGO-1 {asked}; the definition's best is {np.log(6) / 2:.2f}" in results
    less = noise("staying-noise-ndigo-4")
    assert f"earns {less.min():.2f} to {less.max():.2f} by seed" in page
    assert [f"{abs(noise(f'white-noise-ndigo-{h}').mean()):.2f}" for h in (1, 4)] == ["0.00", "0.00"]
    for world, told in {
        "staying-noise": ("It covers {ndigo-1:.1f} places", "and covers {ndigo-4:.1f}."),
        "white-noise": ("more than a walker: {ndigo-4:.1f} and {random:.1f}.",),
        "keycorridor": ("{ndigo-4:.1f} places and {random:.1f} in KeyCorridor",),
        "xland-r4": ("{ndigo-4:.1f} and {random:.1f} in XLand",),
        "multiroom": ("{ndigo-1:.1f} and {ndigo-4:.1f} places, and {random:.1f}.",),
        "craftax-classic": (
            "NDIGO-1 has {ndigo-1:.0f} places, NDIGO-4 {ndigo-4:.0f}, and a random walker {random:.0f}.",
        ),
    }.items():
        places = {reward: mean(f"{world}-{reward}") for reward in ("random", "ndigo-1", "ndigo-4")}
        assert [text for text in told if text.format(**places) not in page] == []
    made = study["read"](STUDIES / "suites" / "rows")
    above = [kept["row"] for kept in made if "random" in study["beaten"](kept, made)]
    assert above == ["white-noise-ndigo-4"], "the pages say that no other covers more than a walker"
    assert round(mean("craftax-classic-ndigo-1") / mean("craftax-classic-random")) == 13
    assert "covers thirteen times a walker's places" in results
    percent = [100 * mean(row, "task_return") / 226 for row in ("craftax-1m-task", "craftax-1m-task-ndigo-4")]
    assert f"{percent[0]:.2f}% with the task alone and {percent[1]:.2f}% with NDIGO" in page


def test_features_are_normalised_in_one_half_of_their_study_and_not_in_the_other():
    study = runpy.run_path(str(STUDIES / "features" / "run.py"))
    tiles, bits = frames.tiles((3, 2), 2, 3), frames.bits(["walls"], 2, 3)
    rng = np.random.default_rng(0)
    for frame, o in ((tiles, rng.integers((3, 2), size=(5, 2, 3, 2))), (bits, rng.integers(2, size=(5, 2, 3, 1)))):
        encoder = frame.init_encoder(jax.random.key(0), 16, 4)
        raw, normal = (np.asarray(made(encoder)(o)) for made in study["KINDS"].values())
        assert (raw >= 0).all()  # as a ReLU leaves them
        apart = raw - raw.mean(axis=-1, keepdims=True)
        np.testing.assert_allclose(normal, apart / np.sqrt((apart**2).mean(axis=-1, keepdims=True) + 1e-5), atol=1e-4)


def test_every_study_has_a_question():
    pages = [folder / "README.md" for folder in STUDIES.iterdir() if folder.is_dir()]
    assert [str(page) for page in pages if "**Question.**" not in page.read_text()] == []


def leads(row: Row, metric: str, what: str) -> bool:
    """Whether no other agent of the paper has a better number of the object; a dash is none."""
    printed = EXPERIMENTS[row.experiment].printed
    numbers = {reward: printed.mean(metric, reward, what) for reward in printed.rewards}
    means = {reward: number.mean for reward, number in numbers.items() if number is not None}
    return row.reward == (min if metric == "first_visit" else max)(means, key=means.__getitem__)


def test_the_results_page_and_the_readme_say_what_the_rows_measured():
    rows = {row.name: numbers for row, numbers in load_rows(ROOT / "results" / "rows").items()}
    results, readme = (" ".join((ROOT / name).read_text().split()) for name in ("docs/results.md", "README.md"))
    lines = {
        "exp1-ndigo-4": ("fixed", "step", "found in {seen} of episodes, at step {first}; the paper: {paper}"),
        "exp2-ndigo-4": ("fixed", "step", "found in {seen}, at step {first}; the paper: {paper}"),
        "exp5-ndigo-2": ("movable", "last room at step", "seen in {seen}, at step {first}; the paper: {paper}"),
        "exp5-ndigo-1": ("movable", "last room at step", ""),
    }
    for name, (what, at, told) in lines.items():
        row, experiment = rows[name], EXPERIMENTS[name[:4]]
        first = f"{row.per_seed('first_visit', what).mean():.0f}"
        paper = experiment.printed.text("first_visit", row.row.reward, what).split(" ")[0]
        seen, known = row.per_seed("frequency", what), row.per_seed("discovery_loss", what).mean()
        assert (f"yes: {at} {first}, the paper {paper} | {seen.min():.0f}% | {known:.2f} |") in results
        assert told.format(seen=f"{seen.mean():.3g}%", first=first, paper=paper) in readme
    bouncing, maze = rows["exp3-ndigo-1"], rows["exp5-ndigo-2"]
    first, seen = ([bouncing.per_seed(m, name) for name in ("upper", "lower")] for m in ("first_visit", "frequency"))
    assert f"no: {first[0].mean():.0f} and {first[1].mean():.0f}, the paper 34.4 and 38.8" in results
    assert f"| {np.min(seen):.0f}% | {bouncing.discovery_loss().mean():.2f} |" in results
    for text, x in {
        "in view for {:.0f} of 400 steps": rows["exp1-ndigo-4"].per_seed("visits", "fixed"),
        "the noise for {:.0f} (paper: 1.4)": rows["exp1-ndigo-4"].per_seed("visits", "noise"),
        "NDIGO-10 does best: all ten seeds find the object in every episode, at {:.2f}": rows[
            "exp1-ndigo-10"
        ].discovery_loss(),
        "PE watches the noise for {:.0f} steps": rows["exp1-pe"].per_seed("visits", "noise"),
        "ICM finds it in {:.0f}% of episodes": rows["exp2-icm"].per_seed("frequency", "fixed"),
        "a random walker in {:.0f}%": rows["exp2-random"].per_seed("frequency", "fixed"),
        "NDIGO-5 and NDIGO-10 see it in {:.0f}": rows["exp5-ndigo-5"].per_seed("frequency", "movable"),
        " and {:.0f}% of episodes; the paper's never do": rows["exp5-ndigo-10"].per_seed("frequency", "movable"),
        "go to it by step 15 and stay for {:.0f} steps": rows["exp4-ndigo-4"].per_seed("visits", "brownian"),
        "`ndigo-10` | not in the paper: {:.0f} |": rows["exp4-ndigo-10"].per_seed("first_visit", "fixed"),
        "room 4's object in {:.0f}%": rows["exp5-icm"].per_seed("frequency", "fixed4"),
        "first room's noise, for {:.0f} steps": rows["exp5-pe"].per_seed("visits", "noise"),
        "The noise is in view for {:.0f} steps": rows["exp2-ndigo-4"].per_seed("visits", "noise"),
        "movable object**, for {:.0f} steps": maze.per_seed("visits", "movable"),
        "walls pay {:.2f} nats": bouncing.reward_c[-1, :, bouncing.channels.index("walls")],
    }.items():
        assert text.format(x.mean()) in results, text
    known = [f"{rows[name].discovery_loss().mean():.2f}" for name in ("exp1-icm", "exp1-ndigo-4")]
    assert f"Experiment 1's object to {known[0]} nats, NDIGO to {known[1]}" in readme
    assert rows["exp1-ndigo-10"].per_seed("frequency", "fixed").min() == 100
    far, divided = (rows[f"exp4-{name}"].per_seed("frequency", "fixed") for name in ("ndigo-10", "icm"))
    assert rows["exp4-ndigo-4"].per_seed("first_visit", "brownian").max() < 15
    assert sorted(far)[-5] == 63
    assert (rows["exp4-ndigo-10"].discovery_loss() < 1.7).sum() == 3
    assert (divided > 90).sum() == 4
    assert (rows["exp4-icm"].per_seed("frequency", "brownian") == 100).sum() == 6
    assert (rows["exp3-pe"].per_seed("visits", "noise") > 150).sum() == 7
    assert (np.min(seen, axis=0) > 64.9).sum() == 6
    told = " ".join(walls_in_words(load_rows(ROOT / "results" / "rows")))
    shares = []
    in_readme = ("exp1-ndigo-4", "exp2-ndigo-4", "exp3-ndigo-1", "exp4-ndigo-4", "exp5-ndigo-2")
    for name in (*in_readme, "exp4-ndigo-10", "exp5-ndigo-1"):
        paid = {channel: estimate.mean for channel, estimate in rows[name].reward_split().items()}
        shares.append(round(100 * paid["walls"] / sum(paid.values())))
        assert f"{name} {shares[-1]}%" in told
        assert re.search(rf"\| {name[3]}, `{rows[name].row.reward}` \|[^|]*\|[^|]*\|[^|]*\| {shares[-1]}% \|", results)
        sought = [(m, o) for m in EXPERIMENTS[name[:4]].printed.tables for o in EXPERIMENTS[name[:4]].discovers]
        assert name not in in_readme or any(leads(rows[name].row, metric, what) for metric, what in sought), name
    table = shares[: len(in_readme)]
    assert f"walls earn {min(table)} to {max(table)}% of the pay" in readme
