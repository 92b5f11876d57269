"""The player of `ndigo export --html` inside a notebook's cell: the single-file page in a frame of its own."""

from __future__ import annotations

import html
from pathlib import Path

from ndigo.agents.agent import Agent
from ndigo.errors import NdigoError
from ndigo.report.numbers import how_many
from ndigo.storage.episodes import Recording
from ndigo.viewer.page import export_html, single_page
from ndigo.watching.recording import record_numbered

MOST_EPISODES = 20  # a notebook keeps the page in its file
HEIGHT = 860  # pixels of the frame


class Player:
    """Recorded episodes that play in a cell. `player.episodes` are the arrays, `player.save(path)` writes the page."""

    def __init__(self, episodes: Recording, height: int = HEIGHT):
        self.episodes, self.height = episodes, height

    def save(self, path: str | Path) -> Path:
        """One page that plays in any browser."""
        return export_html([self.episodes], path)

    def _repr_html_(self) -> str:
        # A frame may run the page's own script and nothing else: it shares nothing with the notebook.
        page = html.escape(single_page([self.episodes]), quote=True)
        size = f'width="100%" height="{self.height}" style="border: 0"'
        return f'<iframe title="ndigo" sandbox="allow-scripts" {size} srcdoc="{page}"></iframe>'

    def __repr__(self) -> str:
        meta = self.episodes.meta
        return f"Player({meta['label']} in {meta['world']}, {how_many(len(self.episodes.keys), 'episode')})"


def play(agent: Agent, episode: int = 0, *, episodes: int = 1, seed: int = 0, height: int = HEIGHT) -> Player:
    """Greedy episodes of the agent, from number `episode` of a seed on, as a player for a notebook."""
    if not 1 <= episodes <= MOST_EPISODES:
        raise NdigoError(f"episodes {episodes}: must be from 1 to {MOST_EPISODES}")
    if episode < 0 or seed < 0:
        raise NdigoError(f"episode {episode} of seed {seed}: neither may be below 0")
    return Player(record_numbered(agent, seed, episode, episodes), height)
