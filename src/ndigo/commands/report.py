"""`ndigo report`: runs beside the paper's rows, or the whole paper from its rows; as text, pictures and one page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from matplotlib.figure import Figure
from rich.console import Console

from ndigo.api import load_trained
from ndigo.errors import NdigoError
from ndigo.naming import file_name
from ndigo.paper.claims import JudgedClaim, judge
from ndigo.paper.conclusion import (
    by_experiment,
    claim_line,
    claim_text,
    conclusion,
    counts_in_words,
    missing_in_words,
    walls_in_words,
)
from ndigo.paper.curves import discovery_figure, tracking_figure
from ndigo.paper.experiments import EXPERIMENTS, experiment_of
from ndigo.paper.experiments.across import all_claims
from ndigo.paper.measured import Rows
from ndigo.paper.plan import all_rows, load_rows, row_folders
from ndigo.paper.scores import Scores, as_json, scores, scores_figure
from ndigo.paper.state import blocks, claims_section, summary, write_docs
from ndigo.paper.tables import COLUMNS, compared_with_paper, paper_sheets
from ndigo.report.curves import curves_figure, draw_curves
from ndigo.report.episodes import (
    channel_table,
    episodes_conclusion,
    episodes_sheet,
    episodes_table,
    with_episode_numbers,
)
from ndigo.report.figures import FORMATS, as_svg, save_figure
from ndigo.report.numbers import how_many
from ndigo.report.page import Section, figures_section, page, players_section, tables_section
from ndigo.report.pool import Pool, pooled
from ndigo.report.sheets import Sheet, as_dict, as_rich, sheet_of
from ndigo.report.statistics import interval_in_words
from ndigo.report.tables import Line, line_of
from ndigo.storage.episodes import Recording
from ndigo.storage.newest import metrics_of
from ndigo.storage.run_folder import RunFolder, check_output, make_folder, runs_in, write_whole
from ndigo.terminal.console import fitted, plain_console
from ndigo.terminal.options import Switch, Trust
from ndigo.terminal.working import working
from ndigo.watching.recording import record_numbered


@dataclass(frozen=True)
class Arguments:
    """Compare runs by their last evaluation and draw their curves, or make the paper's tables and figures anew."""

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN ...")] = ()
    """Folders of runs, finished or not, or folders that hold them."""
    paper: Switch = False
    """Instead of runs: the paper's tables, learning curves and claims, from the rows that are there."""
    full: Switch = False
    """With --paper: print every claim with what decides it, and the paper's numbers of rows that are missing."""
    html: Path | None = None
    """Also all of it as one page that opens from disk, with an episode of each agent to watch."""
    docs: tuple[Path, ...] = ()
    """With --paper: documents whose generated blocks are written anew."""
    rows: Path = Path("results/rows")
    """With --paper: where the rows lie (ndigo reproduce makes them)."""
    out: Path | None = None
    """Folder for the pictures; without it the first run's own, or runs/paper."""
    formats: tuple[Literal["png", "pdf", "svg"], ...] = FORMATS
    """Kinds of picture: each at the width of a column or a page of a paper, with fonts inside."""
    json: Switch = False
    """Print the numbers as JSON, and nothing else; no picture or page is made."""
    trust: Trust = ()
    """With --html: a module of yours that may be run to find a world or reward of a run; repeat it for another."""


def run(args: Arguments) -> None:
    if args.html is not None:
        if args.html.suffix.lower() != ".html":
            raise NdigoError(f"--html {args.html}: the name must end in .html")
        check_output(args.html)
    if args.json and (args.html or args.docs or args.out or args.full):
        raise NdigoError("--json prints numbers and makes nothing else; leave out --html, --docs, --out and --full")
    if args.paper:
        if args.runs:
            raise NdigoError(f"--paper reports on rows, not on runs; leave out {args.runs[0]}, or --paper")
        _report_paper(args)
        return
    for option, is_given in (("--docs writes", args.docs), ("--full prints", args.full)):
        if is_given:
            raise NdigoError(f"{option} what --paper finds; give both")
    if not args.runs:
        raise NdigoError("name at least one run to report on, such as runs/first, or --paper")
    _report_runs(args)


def _report_runs(args: Arguments) -> None:
    evaluated: list[RunFolder] = []
    left_out = []  # such as a sweep's row that diverged in its first chunk
    paths = dict.fromkeys(path for named in args.runs for path in runs_in(named))
    for folder in map(RunFolder.open, paths):
        if any("evaluation" in line for line in metrics_of(folder)):
            evaluated.append(folder)
        else:
            left_out.append(f"run {folder.path} has no evaluation yet")
    if not evaluated:
        raise NdigoError(f"{left_out[0]}: train it further")
    for run in left_out:
        print(f"ndigo: {run}, and is left out", file=sys.stderr)
    by_world: dict[str, list[Pool]] = {}
    for pool in pooled(evaluated):
        by_world.setdefault(pool.settings()["config"]["world"], []).append(pool)
    if args.json:
        numbers = {world: [line.as_dict() for line in _lines(pools)] for world, pools in by_world.items()}
        print(json.dumps(numbers, indent=1))
        return
    out = args.out or args.runs[0]
    make_folder(out)
    console = plain_console()
    sheets: list[Sheet] = []
    concluded: list[str] = []
    grids = {}
    for world, pools in by_world.items():
        print(fitted(f"{world}: last evaluation, {_basis(pools)}"))
        lines = _lines(pools, print)
        experiment = experiment_of(world)
        sentences = [episodes_conclusion(line) if line.of_episodes else conclusion(line, experiment) for line in lines]
        concluded += sentences
        print(fitted("\n".join(["", *sentences, ""])))
        grids[world] = None if experiment is None else experiment.world.grid
        for table in (episodes_table(lines), channel_table(lines)):
            if table is not None:
                console.print(table, "")
        if any(by_name for line in lines for by_name in line.values.values()):
            console.print(compared_with_paper(lines, experiment))
        name = "curves" if len(by_world) == 1 else f"curves-{file_name(world)}"
        with working("drawing curves"):
            drawn = draw_curves(pools, out / name, grids[world], args.formats)
        print(f"curves: {_listed(drawn)}")
        printed = (lambda *_: "") if experiment is None else experiment.printed.text
        sheets += [sheet_of(_title(world), lines, printed), *episodes_sheet(_title(world), lines)]
    if args.html is not None:
        figures = [(_title(world), as_svg(curves_figure(pools, grids[world]))) for world, pools in by_world.items()]
        sources: dict[str, list[tuple[Path, str]]] = {}
        for world, pools in by_world.items():  # of which two may have one title: exp1 is fixed_and_noise
            sources.setdefault(_title(world), []).extend((pool.path, pool.runs[0].name) for pool in pools)
        names = ", ".join(str(folder.path) for folder in evaluated)
        lead = f"{' '.join(concluded)} By the last evaluation of {names}."
        basis = _basis([pool for pools in by_world.values() for pool in pools]).capitalize()
        sections = [tables_section(sheets, basis), figures_section(figures, is_broad=True)]
        _write_page(args.html, "Runs", lead, sections, sources, args.trust)


def _basis(pools: Sequence[Pool]) -> str:
    """What the intervals are, of runs of one world that may have unequally many seeds."""
    num_seeds = {pool.settings()["config"]["seeds"] for pool in pools}
    kinds = list(dict.fromkeys(interval_in_words(num) for num in sorted(num_seeds, reverse=True) if num > 1))
    among = f"mean over seeds with {', else '.join(kinds)}" if kinds else "means over episodes"
    return f"{among} (one seed has no interval)" if 1 in num_seeds else among


def _lines(pools: Sequence[Pool], say: Callable[[str], None] = lambda text: None) -> list[Line]:
    """One per run, or per runs that differ in their seed alone, shown as they are made."""
    rewards, names = [pool.settings()["reward"] for pool in pools], [pool.name for pool in pools]
    lines = []
    for pool, reward in zip(pools, rewards, strict=True):
        last, settings = pool.evaluations()[-1], pool.settings()
        path = f"{pool.path}{pool.more}"
        label = reward if rewards.count(reward) == 1 else pool.name if names.count(pool.name) == 1 else path
        seeds = how_many(settings["config"]["seeds"], "seed")
        say(f"  {path}: {reward}, {seeds}, step {last['step']:,}")
        line = line_of(label, settings, last["evaluation"], last["step"])
        lines.append(with_episode_numbers(line, settings, last["evaluation"]))
    return lines


def _report_paper(args: Arguments) -> None:
    if args.rows == Arguments.rows and not args.rows.exists():
        raise NdigoError(f"there is no {args.rows} here: run it in a checkout of ndigo, or give --rows FOLDER")
    if not args.rows.is_dir():
        raise NdigoError(f"--rows {args.rows}: it must be a folder of rows, as results/rows of a checkout is")
    for path in args.docs:
        if not path.is_file():
            raise NdigoError(f"--docs {path}: it must be a document that is there, with blocks to write anew")
    rows, console = load_rows(args.rows), plain_console()
    others = [row for row in row_folders(args.rows) if row not in rows]
    judged = [judge(claim, rows) for claim in all_claims()]
    sheets = paper_sheets(rows)
    if args.json:
        claims = [{"claim": one.claim.text, "place": one.claim.place, "verdict": one.verdict} for one in judged]
        print(json.dumps({"tables": [as_dict(sheet) for sheet in sheets], "claims": claims}, indent=1))
        return
    print(fitted(summary(rows, judged, others)))
    if args.full or (args.html is None and not args.docs):  # which have all of it
        _print_found(sheets, judged, console, is_full=args.full)
        missing = [row for row in all_rows() if row not in rows]
        lines = [*walls_in_words(rows), *missing_in_words(missing, judged, is_full=args.full)]
        print(fitted("\n".join([*lines, ""])))
    figures = _draw(args.out or Path("runs/paper"), rows, args.formats)
    known = blocks(rows, judged, others)
    for path in args.docs:
        print(f"{path}: {', '.join(write_docs(path, known))}")
    if args.html is not None:
        sections = [
            figures_section(figures),
            tables_section(sheets, "Mean over seeds, and its 95% bootstrap interval"),
            claims_section(judged),
        ]
        sources: dict[str, list[tuple[Path, str]]] = {}
        for experiment in EXPERIMENTS.values():
            for row, numbers in rows.items():
                if numbers.agent is not None and row.experiment == experiment.name:
                    agent = (numbers.agent, f"{row.reward}, the median seed")
                    sources.setdefault(experiment.heading, []).append(agent)
        lead = summary(rows, judged, others).replace("`", "")
        _write_page(args.html, "World Discovery Models, reproduced", lead, sections, sources, args.trust)


def _title(world: str) -> str:
    experiment = experiment_of(world)
    return world if experiment is None else experiment.heading


def _print_found(sheets: Sequence[Sheet], judged: Sequence[JudgedClaim], console: Console, *, is_full: bool) -> None:
    """Verdicts by experiment, the claims that have all their rows, and the tables of the rows that are there.

    In full: every claim with what decides it, and missing rows in their places.
    """
    print()
    for heading, found in by_experiment(judged):
        print(fitted(f"  {heading}: {', '.join(counts_in_words(found))}"))
    print()
    for number, one in enumerate(judged, 1):
        if is_full or not one.missing:
            print(fitted(claim_text(number, one) if is_full else claim_line(number, one)))
    made = [sheet if is_full else sheet.made for sheet in sheets if not sheet.is_empty]
    if made:
        print(fitted(f"\n{COLUMNS}\n"))
    for sheet in made:
        console.print(as_rich(sheet), "")
    if not made:
        print()


def _draw(out: Path, rows: Rows, formats: Sequence[str]) -> list[tuple[str, str]]:
    """Writes every figure that has a row, and the scores as numbers; returns (caption, SVG) of each."""
    if not rows:
        return []
    found = scores(rows)
    make_folder(out)
    write_whole(out / "scores.json", as_json(found).encode())
    print(f"normalised scores, as rliable loads them: {out / 'scores.json'}")
    figures = []
    with working("drawing", 1 + sum(1 + experiment.tracks for experiment in EXPERIMENTS.values())) as advance:
        for done, (name, caption, figure) in enumerate(_figures(rows, found), 1):
            if figure is not None:
                print(f"{caption}: {_listed(save_figure(figure, out / name, formats))}")
                figures.append((caption, as_svg(figure)))
            advance(done)
    return figures


def _listed(paths: Sequence[Path]) -> str:
    """`runs/paper/scores.png, .pdf, .svg`."""
    return ", ".join([str(paths[0]), *(path.suffix for path in paths[1:])])


def _figures(rows: Rows, found: Scores) -> Iterator[tuple[str, str, Figure | None]]:
    """(name, caption, figure) of each that may be there."""
    for name, experiment in EXPERIMENTS.items():
        place = experiment.heading.partition(":")[0]
        *most, last = experiment.discovers
        what = f"{', '.join(most)} and {last}" if most else last
        yield f"{name}-discovery-loss", f"{place}: discovery loss of {what}", discovery_figure(experiment, rows)
        if experiment.tracks:
            caption = f"{place}: discovery loss by the steps since each object was last seen"
            yield f"{name}-tracking", caption, tracking_figure(experiment, rows)
    yield "scores", "All experiments: normalised score of every reward", scores_figure(found)


def _write_page(
    path: Path,
    title: str,
    lead: str,
    sections: Sequence[Section],
    sources: dict[str, list[tuple[Path, str]]],
    trust: Sequence[str],
) -> None:
    """Tables and figures, and a player for each of the sources that can be watched."""
    from ndigo.viewer.page import fragment, shared_code  # with what it needs of the extra `viewer`

    recorded: dict[str, list[Recording]] = {}
    pictured = [(heading, agent, label) for heading, agents in sources.items() for agent, label in agents]
    with working("recording an episode of each agent", len(pictured)) as advance:
        for done, (heading, agent, label) in enumerate(pictured, 1):
            try:
                shown = load_trained(agent, trust=trust).agent(0, label)
                recorded.setdefault(heading, []).append(record_numbered(shown, 0, 0, 1))
            except NdigoError as error:  # a run without a checkpoint, or a world without a map, still has its numbers
                print(f"no episode of {agent}: {error}")
            advance(done)
    shared = ""
    if recorded:
        shared = shared_code()
        players = {heading: fragment(episodes) for heading, episodes in recorded.items()}
        sections = [*sections, players_section(players)]
    make_folder(path.parent)
    write_whole(path, page(title, lead, sections, shared).encode(errors="replace"))
    print(f"page: {path}, {path.stat().st_size / 1e6:.2f} MB")
