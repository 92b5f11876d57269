"""Takes the README's picture of `ndigo view`: python docs/pictures/view.py (needs the extra `dev` and a Chromium)."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

from ndigo.commands.view import Arguments, gather
from ndigo.viewer.server import bind, make_app, make_server

HERE = Path(__file__).parent
AGENT = HERE.parents[1] / "results/agents/exp1-ndigo-4.safetensors"
STEPS = 80  # the object has been found, and is out of sight again


def main() -> None:
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = make_server(make_app(gather(Arguments(paths=(AGENT,))), None, "127.0.0.1", port))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(color_scheme="dark", reduced_motion="reduce", viewport={"width": 1280, "height": 800})
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector(".ndigo[data-t] .numbers td", timeout=120_000)
        for t in range(1, STEPS + 1):
            page.keyboard.press("ArrowRight")
            page.wait_for_selector(f".ndigo[data-t='{t}']")
        page.wait_for_timeout(200)
        page.screenshot(path=HERE / "view.png")
        browser.close()
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main()
