"""Set-up of all tests: a program is compiled once for all runs and traced once in each; one tiny run serves many."""

from __future__ import annotations

import dataclasses
import functools
import gc
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import ndigo
    from ndigo.agents.agent import Agent
    from ndigo.storage.episodes import Recording

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))

# Read by jax when it is first imported, hence set here and not in a fixture.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE / "ndigo" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# Most of a first run of the tests is compilation. Unoptimised it takes half the time; programs this small lose little.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

# Tracing makes many objects and little garbage: looked for at every 700th, it is a tenth of the time.
gc.set_threshold(50_000, 20, 20)

# A shell that starts the tests in its background has them, and all that they start, ignore Ctrl-C, and `nohup` the
# terminal's end; some tests send it.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


@pytest.fixture(scope="session", autouse=True)
def traced_once() -> Iterator[Callable[[], None]]:
    """Runs of one configuration in this process share its programs.

    A trainer is made of the records themselves, whatever name the settings have for them, and a run draws its first
    key from its seed. That a fresh process gets the same numbers is what tests/training/test_run_resume.py shows, with
    processes of their own. Yields what makes it forget them.
    """
    from ndigo.training import cost, run, trained, trainer

    shared = functools.cache(trainer.make_trainer)

    def make_trainer(
        config: ndigo.Config,
        world: ndigo.World,
        reward: ndigo.IntrinsicReward,
        mesh: Any = None,
        beside: tuple[ndigo.Config, ...] = (),
    ) -> trainer.Trainer:
        # In full: a run leaves out of its first call what it says in its second, and both are of one trainer.
        return shared(dataclasses.replace(config, world="", reward="", seed=0), world, reward, mesh, beside)

    with pytest.MonkeyPatch.context() as patch:
        for module in (run, trained, cost):
            patch.setattr(module, "make_trainer", make_trainer)
        yield shared.cache_clear


# Every compiled program maps memory of its own; beyond the system's 65,530 maps the next one is a segmentation fault.
# One test of the peers' suites adds 5,000. To count them takes milliseconds, hence only after tests that take seconds.
MOST_MAPS = 40_000


@pytest.fixture(autouse=True)
def room_for_programs(traced_once: Callable[[], None]) -> Iterator[None]:
    """Drops the programs of earlier tests where there are too many."""
    began = time.monotonic()
    yield
    maps = Path("/proc/self/maps")
    if time.monotonic() > began + 1 and maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        import jax

        traced_once()
        jax.clear_caches()
        gc.collect()


@pytest.fixture(scope="session")
def interpret() -> bool:
    """Whether a kernel has to run in Pallas' interpreter: there is no GPU."""
    import jax

    return jax.default_backend() != "gpu"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> ndigo.Run:
    """An uninterrupted tiny run. Read only."""
    from tiny_runs import train_tiny

    return train_tiny(tmp_path_factory.mktemp("finished") / "run")


@pytest.fixture(scope="session")
def shipped() -> Agent:
    """The agent that ships with the checkout; in float32, for slow loops to compare with to the last digits."""
    from ndigo.api import load

    agent = load(Path(__file__).parent.parent / "results/agents/exp1-ndigo-4.safetensors")
    return dataclasses.replace(agent, config=dataclasses.replace(agent.config, precision="float32"))


@pytest.fixture(scope="session")
def recorded(shipped: Agent) -> Recording:
    """Two greedy episodes of the shipped agent. Read only."""
    from ndigo.watching.recording import episode_key, record

    return record(shipped, [episode_key(seed=0, episode=i) for i in range(2)])
