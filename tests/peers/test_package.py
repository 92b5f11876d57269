"""What people install: sdist and wheel are whole, and the command line works where there is no checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIZES = ("belief-size", "num-features", "predictor-hidden", "head-hidden")
TINY = [*(word for name in SIZES for word in (f"--{name}", "8")), "--preset", "cpu", "--batch", "2", "--window", "20"]
TINY += ["--actors", "1", "--updates-per-round", "2", "--learner-steps", "2", "--rounds-per-chunk", "1"]
TINY += ["--replay-steps", "400", "--evaluation-episodes", "2"]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, Path]:
    """sdist, and the wheel that is made of it: built by the declared backend, with nothing but what is here."""
    folder = tmp_path_factory.mktemp("built")
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    for name in files.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith("results/"):
            (folder / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "checkout" / name)
    code = "from setuptools import build_meta; build_meta.build_sdist('../dist')"
    subprocess.run([sys.executable, "-c", code], cwd=folder / "checkout", check=True, capture_output=True)
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "wheel", *offline, "--wheel-dir", folder / "dist", sdist], check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def ndigo(built, tmp_path_factory):
    """The installed command, in an empty environment that borrows the dependencies of this one and no checkout."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", python]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", built[1]], check=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    # A folder named by a .pth file has no say by its own .pth files: the editable install there is not seen.
    (packages / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"])
    (folder / "work").mkdir()
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def run(*words: str, code: int = 0) -> str:
        command = [folder / "venv" / "bin" / "ndigo", *words]
        done = subprocess.run(command, cwd=folder / "work", capture_output=True, text=True, env=environment)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stderr

    return run


def test_wheel_and_sdist_hold_every_file_of_the_package(built):
    files = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "ndigo").rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    sdist, wheel = built
    assert files <= set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {f"src/{name}" for name in files} | {"CHANGELOG.md", "LICENSE", "examples/custom_world.py"} <= inside
    assert not any(name.startswith(("tests/", "results/")) for name in inside)


def test_the_command_line_works_outside_a_checkout(ndigo, built):
    version = built[1].name.split("-")[1]
    assert ndigo("--version") == f"ndigo {version}\n"
    assert "###" in ndigo("worlds", "exp1")
    ndigo("train", "exp1", *TINY, "--out", "run")
    assert "fixed" in ndigo("evaluate", "run", "--episodes", "2")
    ndigo("report", "run", "--html", "report.html")
    ndigo("export", "run", "--html", "page.html")


def test_what_needs_our_results_says_where_they_are(ndigo):
    line = ndigo("report", "--paper", code=2)
    assert line.startswith("ndigo: there is no results/rows here: run it in a checkout of ndigo, or give --rows")
    assert line.count("\n") == 1
