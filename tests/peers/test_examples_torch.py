"""The example in the style of CleanRL, with real PyTorch and MiniGrid."""

# pyright: reportMissingImports=false

from __future__ import annotations

import cleanrl_ppo
import numpy as np
import torch


def test_a_hand_written_loop_is_paid_rollout_by_rollout():
    """A weight of 0 plays the same first rollout with the same seed: the weight is no part of what is paid."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    paid = list(cleanrl_ppo.train(steps=3 * 4 * 16, N=4, T=16))
    assert len(paid) == 3
    tasks, nats = np.array(paid).T
    assert np.isfinite(nats).all()
    assert np.abs(nats).min() > 0
    assert (tasks >= 0).all()
    torch.manual_seed(0)
    first, *_ = cleanrl_ppo.train(steps=4 * 16, N=4, T=16, weight=0.0)
    assert first == paid[0]
