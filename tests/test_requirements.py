"""The locks belong to pyproject.toml: everything asked for is pinned with hashes, and no host is named."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = {
    extra: (ROOT / name).read_text()
    for extra, name in (("dev", "requirements.lock"), ("peers", "requirements-peers.lock"))
}


TORCH = (ROOT / "requirements-torch.txt").read_text()


def pins(lock: str) -> list[tuple[str, str, str]]:
    """(name, version, the rest) of every package."""
    return re.findall(r"^([\w.-]+)==([^ ]+)(.*?)(?=^\S|\Z)", lock, re.DOTALL | re.MULTILINE)


def asked_for(requirements: list[str]) -> list[Requirement]:
    """The requirements, with those of our own extras in place of `ndigo[...]`."""
    found = []
    for requirement in map(Requirement, requirements):
        if requirement.name == PROJECT["name"]:
            found += [r for e in requirement.extras for r in asked_for(PROJECT["optional-dependencies"][e])]
        else:
            found.append(requirement)
    return found


@pytest.mark.parametrize("extra", LOCKS)
def test_every_requirement_is_locked_to_a_version_it_allows(extra):
    versions: dict[str, list[str]] = {}
    for name, version, _ in pins(LOCKS[extra]):
        versions.setdefault(canonicalize_name(name), []).append(version)
    for requirement in asked_for([*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]]):
        locked = versions[canonicalize_name(requirement.name)]
        assert all(requirement.specifier.contains(version) for version in locked), requirement


@pytest.mark.parametrize("extra", LOCKS)
def test_every_pin_has_hashes_and_nothing_names_a_host(extra):
    assert all("--hash=sha256:" in rest for _, _, rest in pins(LOCKS[extra]))
    assert not re.search(r"https?:|file:|--index-url|--find-links", LOCKS[extra])


def test_pytorch_is_pinned_apart_from_the_lock_and_nothing_is_pinned_twice():
    """Its builds differ from machine to machine, and with them their hashes."""
    apart = [Requirement(line) for line in TORCH.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"==[\w.]+", str(requirement.specifier)) for requirement in apart)
    names = {canonicalize_name(requirement.name) for requirement in apart}
    locked = {canonicalize_name(name) for name, _, _ in pins(LOCKS["peers"])}
    assert "torch" in names
    assert not names & locked
    assert not any(name.startswith(("nvidia", "cuda", "triton")) for name in locked | names)
    assert not re.search(r"https?:|file:|--[a-z-]*(index|links)", TORCH)


def test_every_suite_and_engine_is_in_the_environment_of_the_peers():
    asked = {canonicalize_name(r.name) for r in asked_for(PROJECT["optional-dependencies"]["peers"])}
    suites = {"craftax", "gymnasium", "gymnax", "minigrid", "navix", "xminigrid"}
    assert suites | {"ray", "submitit", "stable-baselines3", "sb3-contrib"} <= asked
