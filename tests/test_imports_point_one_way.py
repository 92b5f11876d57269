"""The design's arrows, read from the source: who may import whom, and who may look at the truth."""

from __future__ import annotations

import ast
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import ndigo

ROOT = Path(ndigo.__file__).parent

BASE = {"types", "config", "networks", "errors", "from_module", "palette", "frames"}
SIBLINGS = {"worlds", "model", "rewards", "agent"}  # do not import each other
CORE = BASE | SIBLINGS | {"agents", "evaluation", "oracle", "training"}  # what is read to understand the method
LOOKED_AT = BASE | SIBLINGS | {"agents", "evaluation", "oracle", "storage"}
TRAINED = LOOKED_AT | {"watching", "training", "fast", "devices"}

# Each part of the package (a folder or a file beside it) and the parts it may import.
MAY_IMPORT: dict[str, set[str]] = {
    **dict.fromkeys(BASE | SIBLINGS | {"storage", "terminal"}, BASE),
    "rewards": BASE | {"oracle"},  # ideal rewards; what the exact filter reads is actions and observations
    "agents": BASE | SIBLINGS,
    "evaluation": BASE | SIBLINGS | {"agents", "oracle"},
    "oracle": BASE | {"worlds"},
    "report": BASE | {"worlds", "storage", "terminal"},
    "watching": LOOKED_AT | {"report"},
    "audit": LOOKED_AT | {"report"},
    "fast": BASE | SIBLINGS | {"evaluation", "storage"},
    "devices": BASE | {"agent", "storage"},
    "training": TRAINED,
    "bench": TRAINED,
    "paper": TRAINED | {"report"},
    "interop": BASE | {"worlds", "paper"},
    "curiosity": BASE | {"model", "rewards", "training", "storage", "gate"},  # which tries a reward of your own
    "viewer": LOOKED_AT | {"terminal", "report", "watching"},
    "gate": TRAINED,
    "notebook": LOOKED_AT | {"report", "watching", "viewer"},
    "naming": BASE | {"worlds", "rewards", "paper", "interop", "gate"},
    "api": TRAINED | {"naming", "paper", "gate", "notebook", "report"},
    "scale": BASE | {"storage", "paper", "naming", "api", "fast"},
    "commands": TRAINED
    | {"bench", "gate", "paper", "audit", "interop", "report", "viewer", "naming", "api", "scale", "terminal"},
    "cli": BASE | {"commands", "fast", "terminal"},
    "__main__": {"cli"},
    "__init__": BASE | SIBLINGS | {"paper", "api", "curiosity", "interop"},
}
# What is imported by its name, when somebody asks for it: an agent shows and plays itself in a notebook.
BY_NAME = {"agents": {"notebook"}}
# The world that makes it, what tries it, what evaluates with it, and what draws it on a screen. No learner.
MAY_READ_TRUTH = {"worlds", "gate", "evaluation", "oracle", "interop", "commands", "viewer", "watching", "audit"}


def sources() -> list[tuple[str, Path, ast.Module]]:
    """(part, file, syntax tree) of every module."""
    files = sorted(ROOT.rglob("*.py"))
    return [(f.relative_to(ROOT).parts[0].removesuffix(".py"), f, ast.parse(f.read_text())) for f in files]


def imported_parts(tree: ast.Module) -> set[str]:
    """The parts of the package a module imports, at its top, inside a function, or by a name in its text."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the arrows"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            modules |= {text.value for text in ast.walk(node) if isinstance(text, ast.Constant)}
    names = {module.split(".")[1] for module in modules if str(module).startswith("ndigo.")}
    return {name for name in names if (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file()}


def arrows() -> dict[str, set[str]]:
    edges: dict[str, set[str]] = defaultdict(set)
    for part, _, tree in sources():
        edges[part] |= imported_parts(tree) - {part}
    return edges


def test_every_part_of_the_package_has_its_place():
    assert {part for part, _, _ in sources()} <= set(MAY_IMPORT)


def test_imports_point_one_way():
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for part, file, tree in sources()
        for name in imported_parts(tree) - {part} - MAY_IMPORT.get(part, set()) - BY_NAME.get(part, set())
    ]
    assert not wrong


def test_no_part_may_import_one_that_may_reach_it():
    """Also inside a function. The parts of the base stand side by side: types of one may name another's."""
    above = {part: names - BASE - {part} for part, names in MAY_IMPORT.items() if part not in BASE}
    TopologicalSorter(above).prepare()  # an error names the parts of a cycle


def test_the_core_knows_of_its_fast_twins_in_one_line():
    lines = [
        f"{file.relative_to(ROOT)}: {line}"
        for part, file, _ in sources()
        if part in CORE
        for line in file.read_text().splitlines()
        if "ndigo.fast" in line and "import" in line
    ]
    assert lines == ["training/twins.py: from ndigo.fast.twins import FAST"]


def test_what_only_looks_reaches_no_training_code_by_any_way():
    edges = arrows()
    for part in ("report", "watching", "audit", "viewer"):
        reached, frontier = set(), [part]
        while frontier:
            new = edges[frontier.pop()] - reached
            reached |= new
            frontier += new
        assert "training" not in reached, part


def test_no_learner_reads_the_truth():
    """Asking whether a world has one (`world.truth is None`) is not reading it."""
    wrong = []
    for part, file, tree in sources():
        if part in MAY_READ_TRUTH:
            continue
        asked = {id(node.left) for node in ast.walk(tree) if isinstance(node, ast.Compare) and is_none_check(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "truth" and id(node) not in asked:
                wrong.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert not wrong


def is_none_check(node: ast.Compare) -> bool:
    (op, right), *more = zip(node.ops, node.comparators, strict=True)
    return not more and isinstance(op, ast.Is | ast.IsNot) and isinstance(right, ast.Constant) and right.value is None
