"""A Brownian object watched by an agent that never moves: plain matrices, in float64.

The object's law is one matrix P over its room's cells, so k steps ahead is P^k, and a view is a
partition of the cells: each cell in view by itself, all others together.
"""

from __future__ import annotations

import numpy as np

Cell = tuple[int, int]


class ParkedWatcher:
    def __init__(self, room: list[Cell], agent: Cell, half: int) -> None:
        self.cells = [c for c in room if c != agent]
        index = {c: i for i, c in enumerate(self.cells)}
        n = len(self.cells)
        self.P = np.zeros((n, n))
        for (r, c), i in index.items():
            for dr, dc in ((-1, 0), (1, 0), (0, 1), (0, -1)):
                self.P[i, index.get((r + dr, c + dc), i)] += 0.25
        is_seen = np.array([max(abs(r - agent[0]), abs(c - agent[1])) <= half for r, c in self.cells])
        # view[i] is what cell i looks like: its own number, or n when out of view.
        self.view = np.where(is_seen, np.arange(n), n)
        self.to_view = (self.view[:, None] == np.arange(n + 1)).astype(float)  # [cell, view]

    def condition(self, b: np.ndarray, view: np.ndarray) -> np.ndarray:
        b = b * (self.view == view[:, None])
        return b / b.sum(axis=1, keepdims=True)

    def mean_rewards(
        self, rng: np.random.Generator, horizons: tuple[int, ...], num_chains: int, num_steps: int
    ) -> np.ndarray:
        """Per H and chain, the mean over late t of E[r_{t+H-1} | h_t] = KL(P_{t+H|t} || P_{t+H|t-1})."""
        n = len(self.cells)
        ahead = np.stack([np.linalg.matrix_power(self.P, H) @ self.to_view for H in horizons])
        cumulative = self.P.cumsum(axis=1)
        y = rng.integers(n, size=num_chains)
        b = self.condition(np.full((num_chains, n), 1 / n), self.view[y])
        gains = []
        for t in range(1, num_steps):
            y = (rng.random(num_chains)[:, None] > cumulative[y]).sum(axis=1)
            before = b @ self.P
            b = self.condition(before, self.view[y])
            if t >= 60 and t % 20 == 0:
                p, q = b @ ahead, before @ ahead
                gains.append(np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / np.where(q > 0, q, 1)), 0).sum(axis=-1))
        return np.mean(gains, axis=0)

    def loss_table(self, path: list[Cell], K: int) -> np.ndarray:
        """L_{t+k|t} along one path of the object, [T, K]; NaN beyond its end."""
        y = np.array([self.cells.index(c) for c in path])
        T, n = len(y) - 1, len(self.cells)
        loss = np.full((T, K), np.nan)
        b = np.full((1, n), 1 / n)
        for t in range(T):
            b = self.condition(b @ self.P if t else b, self.view[y[t : t + 1]])
            for k in range(1, min(K, T - t) + 1):
                p = b @ np.linalg.matrix_power(self.P, k) @ self.to_view
                loss[t, k - 1] = -np.log(p[0, self.view[y[t + k]]])
        return loss
