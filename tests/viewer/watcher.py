"""Someone at a browser: presses keys, and reads numbers and pixels off the page."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from playwright.sync_api import BrowserContext

PATIENCE = 60.0  # seconds; an agent's programs may have to be compiled on a machine busy with other tests

# The colour at a point of every cell of a canvas, (dy, dx) of a cell from its upper left corner: [rows, cols, 3].
CELLS = """([selector, pane, rows, cols, dy, dx]) => {
  const canvas = document.querySelectorAll(selector)[pane];
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const cells = [];
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) {
      const x = Math.floor(((c + dx) * canvas.width) / cols), y = Math.floor(((r + dy) * canvas.height) / rows);
      cells.push(...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3));
    }
  }
  return cells;
}"""

SHOWS = "(t) => document.querySelector('.ndigo').dataset.t === t"
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Watcher:
    def __init__(self, context: BrowserContext, url: str):
        self.context, self.page = context, context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(url)

    def ready(self) -> Watcher:
        """Once an episode is shown."""
        self.page.wait_for_selector(".ndigo[data-t]:not([aria-busy]) .numbers .total", timeout=1000 * PATIENCE)
        return self

    @property
    def t(self) -> int:
        return int(self.page.get_attribute(".ndigo", "data-t") or -1)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def wait_for(self, what: str, is_so: Any) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < deadline, f"not within {PATIENCE:g} s: {what}"
            self.page.wait_for_timeout(20)
        self.page.evaluate(FRAMES)

    def reach(self, t: int) -> None:
        """Waits until frame t is shown."""
        self.page.wait_for_function(SHOWS, arg=str(t), timeout=1000 * PATIENCE)
        self.page.evaluate(FRAMES)

    def step_to(self, t: int) -> None:
        """By keys alone, ten steps or one at a time."""
        now = self.t
        while now != t:
            by = 10 if abs(t - now) >= 10 else 1
            by = by if t > now else -by
            self.press({10: "PageDown", 1: "ArrowRight", -10: "PageUp", -1: "ArrowLeft"}[by])
            now += by
            self.page.wait_for_function(SHOWS, arg=str(now), timeout=1000 * PATIENCE)
        self.page.evaluate(FRAMES)

    def number(self, row: str, field: str, pane: int = 0) -> str:
        """A number of the table: of an object ("fixed") or of a channel ("walls", "all")."""
        selector = f'[data-object="{row}"] [data-field={field}], [data-channel="{row}"] [data-field={field}]'
        return self.page.locator(".pane").nth(pane).locator(selector).inner_text().replace("\u2212", "-")

    def cells(
        self, figure: str, shape: tuple[int, int], at: tuple[float, float] = (0.5, 0.5), pane: int = 0
    ) -> np.ndarray:
        """What colour each cell has at a point of it, in the figure "world", "belief", "seen" or "expected"."""
        self.page.evaluate(FRAMES)
        colours = self.page.evaluate(CELLS, [f"figure.{figure} canvas", pane, *shape, *at])
        return np.array(colours).reshape(*shape, 3)

    def colour(self, name: str) -> np.ndarray:
        """A colour of the theme."""
        value = "(name) => getComputedStyle(document.querySelector('.ndigo')).getPropertyValue('--' + name)"
        return np.array(self.page.evaluate(value, name).split(), int)

    def text(self, selector: str) -> str:
        """What an element says, once what was asked for is drawn."""
        self.page.evaluate(FRAMES)
        return self.page.locator(selector).inner_text()
