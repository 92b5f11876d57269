"""Other people's worlds, as SUITE::ID or from Python: `from_gymnax`, `from_navix`, `from_xminigrid`, `from_craftax`,
and `from_gymnasium` for any environment of Gymnasium.

Each suite is one file, whose `by_name` makes a world of an id, and an extra to install. All but Gymnasium's are stepped
on the device.
"""

from __future__ import annotations

import importlib

from ndigo.errors import NdigoError, install, running, unknown_name
from ndigo.interop.suites.craftax import from_craftax
from ndigo.interop.suites.gymnasium import from_gymnasium
from ndigo.interop.suites.gymnax import from_gymnax
from ndigo.interop.suites.navix import from_navix
from ndigo.interop.suites.xminigrid import from_xminigrid
from ndigo.worlds import World

# Of each the extra that installs it.
SUITES = {"craftax": "craftax", "gymnasium": "gym", "gymnax": "gymnax", "navix": "navix", "xminigrid": "xminigrid"}
MARK = "::"


def suite_world(name: str) -> World:
    """The world that SUITE::ID names."""
    suite, _, id_ = name.partition(MARK)
    if suite == "gym":  # whose name is nearer to gymnax
        raise NdigoError(f"unknown suite 'gym'; nearest: gymnasium{MARK}{id_}; known: {', '.join(SUITES)}")
    if suite not in SUITES:
        raise unknown_name("suite", suite, SUITES)
    try:
        package = importlib.import_module(suite)
    except ImportError as error:
        lacks = "is not installed" if error.name in (suite, None) else f"needs {error.name}, which is not installed"
        raise NdigoError(f"world {name}: {suite} {lacks}: {install(SUITES[suite])}") from None
    with running(f"world {name}: {suite}"):  # one that loads its data from elsewhere, say
        return importlib.import_module(f"{__name__}.{suite}").by_name(package, id_)


__all__ = [
    "MARK",
    "SUITES",
    "from_craftax",
    "from_gymnasium",
    "from_gymnax",
    "from_navix",
    "from_xminigrid",
    "suite_world",
]
