"""Worlds by any of their names: ours, an experiment's, your own as MODULE:NAME, other people's as SUITE::ID."""

import re
from collections.abc import Collection

from ndigo.errors import NdigoError, unknown_name
from ndigo.from_module import from_module, is_module_name, meant_module, module_of, require_trust, working_folder_last
from ndigo.interop.suites import MARK, SUITES, suite_world
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.worlds import WORLDS, World, make_world


def find_world(name: str, *, trust: Collection[str] | None = None, **options) -> World:
    """The world of that name, of the experiment of that name, your own as MODULE:NAME, or a suite's as SUITE::ID.

    Options are those of `make_world`; a world of your own comes as its module makes it. Where a file gave the name,
    `trust` is the modules that it may name.
    """
    if MARK in name:
        if (module := module_of(name)) is not None:  # Gymnasium imports it, as the id says
            if not is_module_name(module):
                raise NdigoError(f"world {name!r}: {module!r} is no module's name; write gymnasium::MODULE:ID")
            require_trust(name, "world", module, trust)
            working_folder_last()
        return suite_world(name)
    if ":" in name:
        if name.partition(":")[0] in SUITES:
            raise NdigoError(f"world {name!r}: a suite's worlds have two colons: {name.replace(':', MARK, 1)}")
        return from_module(name, "world", World, trust)
    if name.startswith("<"):
        raise NdigoError(f"world {name} was a record made in Python; hand it over again, or train it as MODULE:NAME")
    if name in EXPERIMENTS:
        experiment = EXPERIMENTS[name]
        is_own = ":" in experiment.world_name
        return make_world(experiment.world_name, **options) if options and not is_own else experiment.world
    if name not in WORLDS:
        if re.fullmatch(r"\S+-v\d+", name):
            suite = next((suite for suite in SUITES if name.lower().startswith(suite)), "gymnasium")
            raise NdigoError(f"unknown world or experiment {name!r}: did you mean {suite}{MARK}{name}")
        error = unknown_name("world or experiment", name, [*EXPERIMENTS, *WORLDS])
        elsewhere = f"; other people's are SUITE::ID ({', '.join(SUITES)}), your own MODULE:NAME"
        raise NdigoError(f"{error}{meant_module(name, 'world') or elsewhere}")
    return make_world(name, **options)
