"""What NDIGO pays in each kind of frame, by a model that predicts as well as the frame's likelihood can.

White noise pays exactly 0. The first sight of one of n symbols that stays pays the entropy of the frame's code of it,

    E r = H(c) = - sum_c p(c) ln p(c)   <=   ln n

with equality where the code tells all n apart. The codes here are by hand, in NumPy.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from frame_kinds import BOOK, JOIN, KINDS, draw

from ndigo.frames import Frame
from ndigo.gate.shapes import once
from ndigo.rewards.ndigo import ndigo_reward

N, T, K = 6, 7, 4


def symbols(name: str) -> tuple[Any, list[Any]]:
    """N frames that differ in one variable alone, and the code of each by hand."""
    frame = KINDS[name]
    if name == "join":
        pocket, codes = symbols("bins")
        still = {part: draw(kind, np.random.default_rng(1)) for part, kind in JOIN.parts}
        parts = {part: np.broadcast_to(o, (N, *o.shape)) for part, o in still.items()}
        return parts | {"pocket": pocket}, codes
    o = np.broadcast_to(draw(frame, np.random.default_rng(0)), (N, *np.shape(draw(frame, np.random.default_rng(0)))))
    o = o.copy()
    if name == "bits":  # the thing in each of the six cells
        o[..., 0] = np.eye(N, dtype=np.uint8).reshape(N, 2, 3)
        return o, list(range(N))
    if name in ("tiles", "listed"):
        o[:, 1, 2] = kinds = [(0, 0, 0), (2, 1, 0), (2, 0, 0), (2, 1, 1), (1, 0, 0), (1, 1, 1)]
        known = {(0, 0, 0), (2, 1, 0), (2, 0, 0), (2, 1, 1)}
        return o, [k if name == "tiles" or k in known else "any other" for k in kinds]
    if name == "bins":  # of width 1 between 0 and 4, what lies outside in the outer ones
        o[:, 0] = values = [-3.0, 0.5, 0.7, 1.5, 3.5, 9.0]
        return o, [min(max(int(np.floor(x)), 0), 3) for x in values]
    assert name == "pixels"
    patches = np.random.default_rng(3).integers(256, size=(N, 2, 2, 3))
    o[:, :2, :2] = patches
    return o, [int(((BOOK.astype(int) - p) ** 2).sum(axis=(1, 2, 3)).argmin()) for p in patches]


def entropy(codes: list[Any]) -> float:
    p = np.unique([codes.index(code) for code in codes], return_counts=True)[1] / len(codes)
    return float(-(p * np.log(p)).sum())


def best_nats(frame: Frame, shown: Any, of: Any) -> jax.Array:
    """Nats by channel [N, C] of the frames `of`, by the logits that are best on average over those `shown`."""
    likelihood = frame.likelihood()
    targets, asked = (likelihood.target(jax.tree.map(jnp.asarray, o)) for o in (shown, of))
    adam = optax.adam(0.3)

    def body(_: int, carry: Any) -> Any:
        logits, state = carry
        gradient = jax.grad(lambda x: likelihood.nats(x, targets).sum(axis=-1).mean())(logits)
        change, state = adam.update(gradient, state)
        return optax.apply_updates(logits, change), state

    start = jnp.zeros(likelihood.num_outputs)
    logits, _ = jax.lax.fori_loop(0, 500, body, (start, adam.init(start)))
    return likelihood.nats(logits, asked)


paid = jax.jit(ndigo_reward, static_argnums=1)


@cache
def first_sight(name: str) -> np.ndarray:
    """Pay by channel [N, C] of the step that first shows each symbol, which then stays."""
    frame, (o, _) = KINDS[name], symbols(name)
    before = np.asarray(once(lambda o: best_nats(frame, o, o))(o))
    alone = jax.tree.map(lambda x: x[:, None], o)
    after = np.asarray(once(jax.vmap(lambda o: best_nats(frame, o, o)))(alone))[:, 0]
    # Frame 3 is the first that shows it; L_{t+k|t} is `before` for t < 3 and `after` from then on.
    is_known = np.arange(T)[:, None, None, None] >= 3
    loss_tk = np.where(is_known, after, before)  # [T, 1, N, C]
    r_t = np.asarray(paid(np.broadcast_to(loss_tk, (T, K, *before.shape)), 2))
    assert np.abs(np.delete(r_t, 3 + 2 - 1, axis=0)).max() == 0  # frame 3's news of frame 5 is paid at step 4
    return r_t[3 + 2 - 1]


@pytest.mark.parametrize("name", ["bits", "tiles", "listed", "bins", "pixels", "join"])
def test_first_sight_of_a_symbol_pays_the_entropy_of_its_code(name):
    codes = symbols(name)[1]
    assert first_sight(name).sum(axis=-1).mean() == pytest.approx(entropy(codes), abs=0.01)
    assert entropy(codes) <= np.log(N) + 1e-12


def test_which_codes_tell_all_symbols_apart():
    """So that the bound above is met by some and not by others."""
    whole = [name for name in ("bits", "tiles", "listed", "bins") if len(set(symbols(name)[1])) == N]
    assert whole == ["bits", "tiles"]


@pytest.mark.parametrize("name", KINDS)
def test_white_noise_pays_nothing_in_any_channel(name):
    """Its prediction is the same whatever was seen, so the two losses are one number, by any prediction at all."""
    frame, rng = KINDS[name], np.random.default_rng(4)
    o = draw(frame, rng, T + K)
    likelihood = frame.likelihood()
    logits = jnp.asarray(rng.normal(size=likelihood.num_outputs), jnp.float32)
    nats = np.asarray(jax.jit(lambda o: likelihood.nats(logits, likelihood.target(o)))(o))  # [T+K, C]
    loss_tk = np.stack([nats[t + 1 : t + K + 1] for t in range(T)])
    for H in range(1, K):
        np.testing.assert_array_equal(paid(loss_tk, H), 0)
