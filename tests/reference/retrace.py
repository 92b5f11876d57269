"""Retrace by its definition, a double sum in float64 (Munos et al. 2016, equation 4), and h by its own.

    G_t = Q_t + sum_{s >= t} gamma^(s-t) (c_{t+1} ... c_s) delta_s,   delta_s = r_s + gamma V_{s+1} - Q_s

Quadratic in T and written without recursion, so that it shares nothing with the scan it judges.
"""

from __future__ import annotations

import numpy as np


def retrace(r_t: np.ndarray, v_t: np.ndarray, q_t: np.ndarray, c_t: np.ndarray, gamma: float) -> np.ndarray:
    """G_0 .. G_{T-1}. `v_t` has T+1 entries (the last bootstraps), the others T."""
    r_t, v_t, q_t, c_t = (np.asarray(x, np.float64) for x in (r_t, v_t, q_t, c_t))
    T = len(r_t)
    G_t = q_t.copy()
    for t in range(T):
        for s in range(t, T):
            delta = r_t[s] + gamma * v_t[s + 1] - q_t[s]
            G_t[t] += gamma ** (s - t) * np.prod(c_t[t + 1 : s + 1], axis=0) * delta
    return G_t


def h(x: np.ndarray, epsilon: float = 1e-3) -> np.ndarray:
    """The signed hyperbolic as printed (Pohlen et al. 2018), in float64, through log1p where it cancels."""
    x = np.asarray(x, np.float64)
    return np.sign(x) * np.expm1(0.5 * np.log1p(np.abs(x))) + epsilon * x


def h_inverse(y: np.ndarray, epsilon: float = 1e-3) -> np.ndarray:
    """The root of h(x) = y by bisection: no formula to get wrong."""
    y = np.asarray(y, np.float64)
    low, high = np.zeros_like(y), np.full_like(y, 1e9)
    for _ in range(200):
        middle = (low + high) / 2
        is_below = h(middle, epsilon) < np.abs(y)
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.sign(y) * (low + high) / 2
