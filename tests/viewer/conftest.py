"""A real browser, and a server with two agents in one world: one of each for all tests of a module."""

from __future__ import annotations

import dataclasses
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import jax
import pytest
from playwright.sync_api import Browser, sync_playwright

from ndigo.agents.agent import Agent
from ndigo.errors import NdigoError
from ndigo.viewer.server import bind, make_app, make_server
from ndigo.viewer.stage import Company, Performer
from viewer.watcher import Watcher

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")  # while it is open no other test of its process could run an event loop
def browser() -> Iterator[Browser]:
    """The system's Chromium; nothing is downloaded."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium found")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def watch(browser: Browser) -> Iterator[Callable[..., Watcher]]:
    """Opens a page: `watch(url, color_scheme="light", viewport=...)`. Fails if it logs an error."""
    watchers: list[Watcher] = []

    def open_page(url: str, **options) -> Watcher:
        # Movements between steps are drawn at once, so that what is seen after a step is that step.
        context = browser.new_context(
            **{"reduced_motion": "reduce", "viewport": {"width": 1280, "height": 800}, **options}
        )
        watchers.append(Watcher(context, url))
        return watchers[-1]

    yield open_page
    for watcher in watchers:
        watcher.context.close()
    assert [error for watcher in watchers for error in watcher.errors] == []


@pytest.fixture(scope="session")
def idler(shipped: Agent) -> Agent:
    """The shipped agent with nothing left in its policy: it always stays."""
    blank = jax.tree.map(lambda x: 0 * x, shipped.params.agent)
    return dataclasses.replace(shipped, params=dataclasses.replace(shipped.params, agent=blank))


@pytest.fixture(scope="session")
def company(shipped: Agent, idler: Agent) -> Company:
    def damaged(seed: int, world: str) -> Agent:
        raise NdigoError("broken.safetensors is damaged: it does not match its sha256")

    return Company(
        performers=(
            Performer("walker", ("seed 0",), ("exp1",), lambda seed, world: shipped),
            Performer("idler", ("seed 0", "seed 1"), ("exp1",), lambda seed, world: idler),
            Performer("broken", ("seed 0",), ("exp1",), damaged),
        ),
        titles={"exp1": "exp1: a title that is longer than a narrow screen is wide"},
    )


@contextmanager
def serving(company: Company | None, recording: bytes | None = None, port: int = 0, **limits: int) -> Iterator[str]:
    """A server in a thread; gives its address, and stops it."""
    listener = bind("127.0.0.1", port)
    port = listener.getsockname()[1]
    server = make_server(make_app(company, recording, "127.0.0.1", port, **limits))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def live(company: Company) -> Iterator[str]:
    """The address of a live page."""
    with serving(company) as url:
        yield url
