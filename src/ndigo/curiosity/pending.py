"""What a curiosity was paid for and has not learned from, until the next `learn`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import jax
import numpy as np

Steps = tuple[np.ndarray, Any, np.ndarray, Any]  # a_t, o_tp1, is_first, o_last or None; [T, N] each
NO_ACTION = -1  # before the frames of a reset


class Pending:
    """Steps that were paid and not learned from, and how many: to count them at every step would take ever longer."""

    def __init__(self, rollouts: Sequence[Steps] = ()):
        self.rollouts: list[Steps] = []
        self.num_steps = 0
        self.num_frames = 0  # of resets too
        self.add(rollouts)

    def add(self, rollouts: Sequence[Steps]) -> None:
        self.rollouts += rollouts
        for a_t, *_ in rollouts:
            self.num_steps += int((a_t[:, 0] != NO_ACTION).sum())
            self.num_frames += len(a_t)

    def split(self, num_held: int) -> tuple[list[Steps], Pending]:
        """What a replay of `num_held` frames would overwrite before it is learned from, and the rest.

        The replay is handed the first at once. Only `learn` changes the weights, so beliefs and windows become what
        they would have been then.
        """
        sizes = np.array([len(a_t) for a_t, *_ in self.rollouts])
        num_old = int((sizes[::-1].cumsum()[::-1] - sizes >= num_held).sum())  # what came after fills the replay
        return self.rollouts[:num_old], Pending(self.rollouts[num_old:])


def rollouts_of(pending: list[Steps], L: int) -> list[Steps]:
    """All steps as rollouts that a ring of L frames takes one after the other, the last of which is learned from.

    Steps with and without last frames are no one rollout, and a last frame has a slot of its own. Whenever one learns,
    few lengths occur, so that little is compiled: of each such group the last is a power of two, the others of eight.
    """
    cut: list[Steps] = []
    for has_last, group in groupby(_alike(pending), key=lambda steps: steps[3] is not None):
        steps, pieces = jax.tree.map(lambda *xs: np.concatenate(xs), *group), []
        T, most = len(steps[0]), L // 2 if has_last else L
        while T > 0:
            bits = min(T, most).bit_length() - 1
            size = 2 ** (bits - bits % 3 if pieces else bits)
            pieces.append(jax.tree.map(lambda x, end=T, size=size: x[end - size : end], steps))
            T -= size
        cut += reversed(pieces)
    return cut


def _alike(pending: list[Steps]) -> list[Steps]:
    """Where all streams go on no last frame is read: steps without are handed any, if those after them have them."""
    known = [o_last is not None for _, _, is_first, o_last in pending if o_last is not None or is_first.any()]
    alike, has_last = [], known[-1] if known else False
    for a_t, o_tp1, is_first, o_last in reversed(pending):
        if o_last is not None or is_first.any():
            has_last = o_last is not None
        alike.append((a_t, o_tp1, is_first, o_tp1 if has_last and o_last is None else o_last))
    return alike[::-1]
