"""`ndigo report`: runs beside the paper's rows, or the whole paper from its cells; as text, pictures and one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from matplotlib.figure import Figure
from rich.console import Console

from ndigo.api import load_trained
from ndigo.errors import NdigoError
from ndigo.evaluation.recording import record_numbered
from ndigo.experiments import EXPERIMENTS, experiment_of
from ndigo.report.cells import Cells, load_cells
from ndigo.report.claims import Judged, judge
from ndigo.report.curves import curves_figure, draw_curves
from ndigo.report.learning_curves import as_svg, discovery_figure, save_png, tracking_figure
from ndigo.report.page import Section, claims_section, figures_section, page, players_section, tables_section
from ndigo.report.paper_claims import CLAIMS
from ndigo.report.paper_tables import PaperTable, as_rich, paper_tables, table_of
from ndigo.report.references import reference_rows
from ndigo.report.state import part_text, summary, write_docs
from ndigo.report.tables import Row, comparison, experiment_of_run, row
from ndigo.storage.cells import is_cell
from ndigo.storage.run_folder import RunFolder, make_folder, write_whole
from ndigo.terminal.options import Trust
from ndigo.types import Episodes

TRACKS = "exp3"  # the experiment that asks what is known of objects out of view


@dataclass(frozen=True)
class Arguments:
    """Compare runs by their last evaluation and draw their curves, or make the paper's tables and figures anew."""

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN ...")] = ()
    """Folders of runs, finished or not."""
    paper: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Instead of runs: every table, learning curve and claim of the paper, from the cells that are there."""
    html: Path | None = None
    """Also all of it as one page that opens from disk, with an episode of each agent to watch."""
    docs: tuple[Path, ...] = ()
    """With --paper: documents whose generated blocks are written anew."""
    cells: Path = Path("results/cells")
    """With --paper: where the cells lie (ndigo reproduce makes them)."""
    out: Path | None = None
    """Folder for the pictures; without it the first run's own, or runs/paper."""
    trust: Trust = ()
    """Run this module of yours for the page, where a run names MODULE:NAME of it; may be given again for another."""


def run(args: Arguments) -> None:
    if args.html is not None and args.html.suffix.lower() != ".html":
        raise NdigoError(f"--html {args.html}: the name must end in .html")
    if args.paper:
        if args.runs:
            raise NdigoError(f"--paper reports on cells, not on runs; leave out {args.runs[0]}, or --paper")
        _report_paper(args)
        return
    if args.docs:
        raise NdigoError("--docs writes what --paper finds; give both")
    if not args.runs:
        raise NdigoError("name at least one run to report on, such as runs/first, or --paper")
    _report_runs(args)


def _report_runs(args: Arguments) -> None:
    by_world: dict[str, list[RunFolder]] = {}
    for folder in map(RunFolder.open, dict.fromkeys(args.runs)):
        if is_cell(folder.path):
            raise NdigoError(f"{folder.path} is a finished cell, not a run: ndigo report --paper reports on all cells")
        if not folder.evaluations():
            raise NdigoError(f"run {folder.path} has no evaluation yet: train it further")
        by_world.setdefault(folder.settings()["config"]["world"], []).append(folder)
    out = args.out or args.runs[0]
    make_folder(out)
    console = Console()
    tables: list[PaperTable] = []
    for world, folders in by_world.items():
        print(f"{world}: last evaluation, mean over seeds with 95% bootstrap interval (one seed has none)")
        rows = _rows(folders)
        print()
        experiment = experiment_of_run(folders[0].settings())
        console.print(comparison(rows, experiment, reference_rows(experiment)))
        name = "curves.png" if len(by_world) == 1 else f"curves-{world.replace(':', '-')}.png"
        print(f"curves: {draw_curves(folders, out / name)}")
        tables.append(table_of(_title(world), rows, experiment))
    if args.html is not None:
        figures = [(_title(world), as_svg(curves_figure(folders))) for world, folders in by_world.items()]
        sources = {_title(world): [(f.path, f.path.name) for f in folders] for world, folders in by_world.items()}
        names = ", ".join(str(folder.path) for folders in by_world.values() for folder in folders)
        lead = f"{names}: last evaluation of each."
        sections = [tables_section(tables), figures_section(figures, is_broad=True)]
        _write_page(args.html, "Runs", lead, sections, sources, args.trust)


def _rows(folders: Sequence[RunFolder]) -> list[Row]:
    """One a run, told as they are made."""
    rewards = [folder.settings()["reward"] for folder in folders]
    rows = []
    for folder, reward in zip(folders, rewards, strict=True):
        last, num_seeds = folder.evaluations()[-1], folder.settings()["config"]["seeds"]
        label = reward if rewards.count(reward) == 1 else folder.path.name
        print(f"  {folder.path}: {reward}, {num_seeds} seed{'' if num_seeds == 1 else 's'}, step {last['step']:,}")
        rows.append(row(label, folder.settings(), last["evaluation"]))
    return rows


def _report_paper(args: Arguments) -> None:
    if not args.cells.is_dir():
        raise NdigoError(f"--cells {args.cells}: it must be a folder of cells, as results/cells of a checkout is")
    for path in args.docs:
        if not path.is_file():
            raise NdigoError(f"--docs {path}: it must be a document that is there, with blocks to write anew")
    cells, console = load_cells(args.cells), Console()
    judged = [judge(claim, cells) for claim in CLAIMS]
    tables = paper_tables(cells)
    if args.html is None and not args.docs:  # which have all of it
        print("Mean over seeds with 95% bootstrap interval, and what the paper prints; a missing cell says so.\n")
        for table in tables:
            console.print(as_rich(table))
        for number, one in enumerate(judged, 1):
            console.print(_claim_text(number, one), highlight=False, markup=False)
        print()
    print(summary(cells, judged))
    out = args.out or Path("runs/paper")
    drawn = _figures(cells)
    if drawn:
        make_folder(out)
    figures = []
    for name, caption, figure in drawn:
        print(f"{caption}: {save_png(figure, out / f'{name}.png')}")
        figures.append((caption, as_svg(figure)))
    for path in args.docs:
        print(f"{path}: {', '.join(write_docs(path, cells, judged))}")
    if args.html is not None:
        sections = [figures_section(figures), tables_section(tables), claims_section(judged)]
        sources: dict[str, list[tuple[Path, str]]] = {}
        for cell, numbers in cells.items():
            if numbers.agent is not None:
                sources.setdefault(_title(cell.experiment), []).append(
                    (numbers.agent, f"{cell.reward}, the median seed")
                )
        lead = summary(cells, judged).replace("`", "")
        _write_page(
            args.html, "World Discovery Models, reproduced", lead, sections, dict(sorted(sources.items())), args.trust
        )


def _title(world: str) -> str:
    experiment = experiment_of(world)
    return world if experiment is None else f"Experiment {experiment.name[-1]}: {experiment.title}"


def _claim_text(number: int, judged: Judged) -> str:
    lines = [f'{number}. {judged.verdict}: "{judged.claim.text}" ({judged.claim.place})', f"   {judged.claim.rule}"]
    lines += [f"   - {part_text(part)}" for part in judged.parts]
    lines += [f"   missing: {', '.join(cell.name for cell in judged.missing)}"] if judged.missing else []
    lines += [f"   {text}" for text in (*judged.evidence, judged.claim.note) if text]
    return "\n".join(lines)


def _figures(cells: Cells) -> list[tuple[str, str, Figure]]:
    """(name, caption, figure) of each that has a cell."""
    planned: list[tuple[str, str, Callable[[], Figure | None]]] = []
    for name, experiment in EXPERIMENTS.items():
        what = " and ".join(experiment.discovers)
        caption = f"Experiment {name[-1]}: discovery loss of {what}"
        planned.append((f"{name}-discovery-loss", caption, lambda e=experiment: discovery_figure(e, cells)))
    caption = "Experiment 3: discovery loss of the bouncing objects by the steps since each was last seen"
    planned.append((f"{TRACKS}-tracking", caption, lambda: tracking_figure(EXPERIMENTS[TRACKS], cells)))
    drawn = [(name, caption, draw()) for name, caption, draw in planned]
    return [(name, caption, figure) for name, caption, figure in drawn if figure is not None]


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

    recorded: dict[str, list[Episodes]] = {}
    for heading, agents in sources.items():
        for agent, label in agents:
            try:
                subject = load_trained(agent, trust=trust).subject(0, label)
                recorded.setdefault(heading, []).append(record_numbered(subject, 0, 0, 1))
            except NdigoError as error:  # a run without a checkpoint, or a world without a map, still has its numbers
                print(f"no episode of {agent}: {error}")
    shared = ""
    if recorded:
        shared = shared_code()
        players = {heading: fragment(episodes) for heading, episodes in recorded.items()}
        sections = [*sections, players_section(players)]
    make_folder(path.parent)
    write_whole(path, page(title, lead, sections, shared).encode())
    print(f"page: {path}, {path.stat().st_size / 1e6:.2f} MB")
