"""Steps a second of our worlds beside other libraries' grid worlds, in one run.

    python benchmarks/worlds.py              everything, about ten minutes, and the peers' installation the first time
    python benchmarks/worlds.py --quick      our own only, briefly

Every contender runs in a process of its own, the peers in environments of their own under `.bench/`.
Random actions, observations read, one run to compile, then the median of the repeats. The table gives
steps a second and, under them, how many times faster `ndigo` is at that number of copies.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from contenders.contender import Contender
from contenders.measure import every_contender
from floor import floor_of
from rich.console import Console
from rich.table import Table

from ndigo.worlds import five_rooms

ROOT = Path(__file__).parents[1]
BENCH = ROOT / ".bench"
COPIES = (1, 64, 1024, 4096)
JAX_PEERS = ("navix", "navix-reset", "xland", "xland-reset", "gymnax", "gymnax-reset")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only what needs no installation, at few copies")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these contenders")
    parser.add_argument("--copies", type=int, nargs="+", help=f"default: {COPIES}")
    parser.add_argument("--repeats", type=int, help="default: 7")
    parser.add_argument("--json", type=Path, default=BENCH / "worlds.json", help="where the figures go")
    args = parser.parse_args()
    copies = args.copies or ((1, 64) if args.quick else COPIES)
    repeats = args.repeats or (3 if args.quick else 7)
    ours_first = sorted(every_contender().items(), key=lambda item: bool(item[1].requirements))
    contenders = {
        name: c
        for name, c in ours_first
        if (not args.only or name in args.only) and not (args.quick and c.requirements)
    }
    if not contenders:
        parser.error(f"no such contender; known: {', '.join(every_contender())}")
    BENCH.mkdir(exist_ok=True)
    (BENCH / "five_rooms.txt").write_text(five_rooms.DRAWING, encoding="utf-8")

    console = Console(width=None if sys.stdout.isatty() else 140)
    pythons = {name: environment_of(c, console) for name, c in contenders.items()}  # before anything is timed
    report: dict[str, Any] = {"machine": machine(), "contenders": {}}
    for name, contender in contenders.items():
        counts = [n for n in copies if contender.copies is None or n in contender.copies]
        if counts:
            with console.status(f"{name} at {', '.join(map(str, counts))} copies"):
                report["contenders"][name] = describe(contender) | measure(pythons[name], name, counts, repeats)
    report["floor"] = {str(n): floor_of(n) for n in copies}
    report["machine"]["load_after"] = os.getloadavg()
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    console.print(table_of(report, copies), *summary_of(report), sep="\n")


def environment_of(contender: Contender, console: Console) -> str:
    """The Python to run it with; installs what it needs, once."""
    if not contender.requirements:
        return sys.executable
    folder = BENCH / contender.requirements[0].partition("==")[0]
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join(contender.requirements)
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        with console.status(f"installing {', '.join(contender.requirements)}"):
            venv.create(folder, with_pip=True, clear=True)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            done = subprocess.run([*pip, *contender.requirements], capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"cannot install {wanted!r}: {done.stderr.strip().splitlines()[-1]}")
            stamp.write_text(wanted, encoding="utf-8")
    return str(python)


def measure(python: str, name: str, copies: list[int], repeats: int) -> dict[str, Any]:
    command = [python, "-m", "contenders.measure", name, *map(str, copies), "--repeats", str(repeats)]
    # What this interpreter was told to find elsewhere must not leak into a peer's environment.
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH" or python == sys.executable}
    done = subprocess.run(
        command, cwd=Path(__file__).parent, env=inherited, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def describe(contender: Contender) -> dict[str, str]:
    return {key: getattr(contender, key) for key in ("title", "shows", "moves", "resets")}


def machine() -> dict[str, Any]:
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "processor": platform.machine(),
        "system": platform.system(),
        "load_before": os.getloadavg(),
    }


def rate(report: dict[str, Any], name: str, copies: int) -> float | None:
    """The median steps a second, or None where it was not measured."""
    repeats = report["contenders"].get(name, {}).get("steps_per_s", {}).get(str(copies))
    return statistics.median(repeats) if repeats else None


def table_of(report: dict[str, Any], copies: tuple[int, ...]) -> Table:
    table = Table(title="Steps a second at each number of copies; below, ndigo's speed over it", show_lines=True)
    for column in ("", "shows", "moves", "resets"):
        table.add_column(column)
    for n in copies:
        table.add_column(f"{n:,}", justify="right")
    for name, entry in report["contenders"].items():
        cells = []
        for n in copies:
            own, ours = rate(report, name, n), rate(report, "ndigo", n)
            ratio = f"\nx{ours / own:.3g}" if own and ours and name != "ndigo" else ""
            cells.append(f"{own:,.0f}{ratio}" if own else entry.get("error", "-"))
        table.add_row(entry["title"], entry["shows"], entry["moves"], entry["resets"], *cells)
    return table


def summary_of(report: dict[str, Any]) -> list[str]:
    """The aims and how far each is reached, then the distance to the floor."""
    lines = []

    def compare(aim: float, ours: float | None, theirs: float | None, what: str) -> None:
        if ours and theirs:
            verdict = "reached" if ours / theirs >= aim else "not reached"
            lines.append(f"{what}: {ours / theirs:.1f} times (aim {aim:g}: {verdict})")

    at_1024 = rate(report, "ndigo", 1024)
    compare(300, at_1024, rate(report, "pycolab", 1024), "ndigo over pycolab at 1,024 copies")
    for peer in JAX_PEERS:
        compare(1, at_1024, rate(report, peer, 1024), f"ndigo over {peer} at 1,024 copies")
    compare(5, rate(report, "ndigo-single", 1), rate(report, "pycolab", 1), "our Gymnasium environment over pycolab")
    for copies, floor in report["floor"].items():
        if ours := rate(report, "ndigo", int(copies)):
            lines.append(
                f"{copies} copies: {1e9 / ours:.1f} ns a step; floor {floor['seconds_per_step'] * 1e9:.1f} ns "
                f"({floor['words']} random words, {floor['bytes']} bytes): {1 / ours / floor['seconds_per_step']:.1f} "
                "times the floor"
            )
    before, after = report["machine"]["load_before"][0], report["machine"]["load_after"][0]
    lines.append(f"{report['machine']['cores']} cores, load {before:.1f} before and {after:.1f} after")
    return lines


if __name__ == "__main__":
    main()
