"""Takes the guide's picture of `ndigo view`: python docs/pictures/view.py (needs the extra `dev` and a Chromium)."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

from ndigo.commands.view import Arguments, find_all, gather, opening_scene
from ndigo.viewer.server import bind, make_app, make_server

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1280, 840
STEPS = 64  # NDIGO has found the object, and prediction error the noise


def main() -> None:
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    args = Arguments(paths=opening_scene())
    server = make_server(make_app(gather(args, find_all(args)), None, "127.0.0.1", port))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(
            color_scheme="dark", reduced_motion="reduce", viewport={"width": WIDTH, "height": HEIGHT}
        )
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
