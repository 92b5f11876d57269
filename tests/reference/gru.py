"""The gated recurrent unit as a plain loop in float64, one stream at a time."""

from __future__ import annotations

import numpy as np


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gru(x_t: np.ndarray, weight: np.ndarray, h_0: np.ndarray) -> np.ndarray:
    """States [T, D] after each input [T, 3D]: reset gate, update gate, candidate, in this order."""
    D = len(h_0)
    x_t, weight, h = (np.asarray(x, np.float64) for x in (x_t, weight, h_0))
    W_r, W_u, W_n = weight[:, :D], weight[:, D : 2 * D], weight[:, 2 * D :]
    states = []
    for x in x_t:
        r = sigmoid(x[:D] + h @ W_r)
        u = sigmoid(x[D : 2 * D] + h @ W_u)
        candidate = np.tanh(x[2 * D :] + r * (h @ W_n))
        h = u * h + (1 - u) * candidate
        states.append(h)
    return np.stack(states)
