"""Times one contender, in whatever environment it is run: `python -m contenders.measure ndigo 1 64 1024`.

Prints one JSON object: the steps a second of every repeat at every number of copies, and versions.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import pkgutil
import platform
import time

import contenders
from contenders.contender import Contender, Run

LONGEST = 20.0  # seconds after which no further repeat is begun
VERSIONS_OF = ("jax", "numpy", "gymnasium", "pycolab", "minigrid", "navix", "xminigrid", "gymnax")


def every_contender() -> dict[str, Contender]:
    found: dict[str, Contender] = {}
    for module in pkgutil.iter_modules(contenders.__path__):
        if module.name not in ("contender", "measure", "rollout"):  # the last needs JAX, which not all have
            found |= importlib.import_module(f"contenders.{module.name}").CONTENDERS
    return found


def rates(run: Run, repeats: int) -> list[float]:
    """Steps a second, repeat by repeat, after one run that compiles."""
    run(0)
    results, began = [], time.perf_counter()
    while len(results) < repeats and (not results or time.perf_counter() - began < LONGEST):
        start = time.perf_counter()
        num_steps = run(1 + len(results))
        results.append(num_steps / (time.perf_counter() - start))
    return results


def installed() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in VERSIONS_OF:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contender")
    parser.add_argument("copies", type=int, nargs="+")
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    contender = every_contender()[args.contender]
    steps_per_s = {str(n): rates(contender.start(n), args.repeats) for n in args.copies}
    print(json.dumps({"steps_per_s": steps_per_s, "versions": installed()}))


if __name__ == "__main__":
    main()
