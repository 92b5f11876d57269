"""The audit's numbers: returns by channel, learned beside ideal, and what is known beside what could be.

All in nats and, but for the last, over the audited policy's own episodes:

    return        sum over an episode of what a channel paid: learned, attainable or ideal (`audit.episodes`)
    bias          learned return less attainable return, on the same episodes
    correlation   of learned and attainable reward, step by step
    share         of a channel in the learned return; noise share: that of white noise and Brownian objects
    floor         discovery loss of the exact filter; what the probe loses beyond it, the agent saw and does not know
    offer         discounted return of an object's channel to one that goes and looks for it and does nothing else
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ndigo.audit.episodes import AuditedEpisode
from ndigo.report.statistics import Estimate, bootstrap, bootstrap_of, estimates

NOISE = ("white_noise", "brownian")
LEAST_SPREAD = 1e-3  # nats: a reward that varies less has nothing to be correlated with
LEAST_RETURN = 0.1  # nats: of less, a share says nothing


@dataclass(frozen=True)
class Pay:
    """One channel of the reward, or `all` of them."""

    name: str
    kind: str  # an object's kind, `walls` or `all`
    ideal: Estimate
    attainable: Estimate
    learned: Estimate | None
    bias: Estimate | None
    correlation: Estimate | None
    share: Estimate | None  # of the learned return


@dataclass(frozen=True)
class Known:
    """How well one object's place is known."""

    name: str
    kind: str
    visits: Estimate
    floor: Estimate
    probe_loss: Estimate | None
    lost: Estimate | None  # probe_loss - floor


@dataclass(frozen=True)
class Offer:
    """What one object pays to an agent that seeks it."""

    name: str
    kind: str
    ideal: Estimate
    learned: Estimate | None


@dataclass(frozen=True)
class Audit:
    reward: str
    gamma: float
    are_walls_whole: bool  # in the likelihood: all cells of a view together, not each on its own
    pay: tuple[Pay, ...]  # `all` first
    noise_share: Estimate | None
    ideal_noise_share: Estimate | None
    known: tuple[Known, ...]
    offers: tuple[Offer, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: estimates are [mean, low, high], and null where a number would mean nothing."""

        def plain(x: Any) -> Any:
            if isinstance(x, Estimate):
                return [None if np.isnan(value) else value for value in x]
            if isinstance(x, tuple):
                return [plain(line) for line in x]
            if dataclasses.is_dataclass(x):
                return {field.name: plain(getattr(x, field.name)) for field in dataclasses.fields(x)}
            return x

        return plain(self)


def summarise(
    audited: AuditedEpisode,
    seekers: Mapping[str, AuditedEpisode],
    *,
    reward: str,
    gamma: float,
    channels: Sequence[str],
    kinds: Mapping[str, str],
    are_walls_whole: bool = False,
) -> Audit:
    """The audit of audited episodes [minds, episodes, S, ...]; `kinds` has each object's, in the channels' order."""
    names = ["all", *channels]
    all_kinds = ["all", *(kinds.get(name, "walls") for name in channels)]
    is_noise = np.array([kinds.get(name) in NOISE for name in channels])
    ideal, best_t = _per_unit(_with_total(audited.ideal).sum(axis=2)), _with_total(audited.attainable)
    best = _per_unit(best_t.sum(axis=2))
    columns: dict[str, list[Any]] = {"ideal": estimates(ideal), "attainable": estimates(best)}
    noise_share = None
    if audited.learned is not None:
        learned_t = _with_total(audited.learned)
        learned = _per_unit(learned_t.sum(axis=2))
        columns |= {
            "learned": estimates(learned),
            "bias": estimates(learned - best),
            "correlation": _correlations(best_t, learned_t),
            "share": _shares(learned),
        }
        noise_share = _noise_share(learned, is_noise)
    nothing = [None] * len(names)
    fields = [field.name for field in dataclasses.fields(Pay)[2:]]
    rows = zip(names, all_kinds, *(columns.get(field, nothing) for field in fields), strict=True)
    return Audit(
        reward=reward,
        gamma=gamma,
        are_walls_whole=are_walls_whole,
        pay=tuple(Pay(*row) for row in rows),
        noise_share=noise_share,
        ideal_noise_share=_noise_share(ideal, is_noise),
        known=_known(audited, kinds),
        offers=_offers(seekers, gamma, channels, kinds),
    )


def _per_unit(x: ArrayLike) -> np.ndarray:
    """What intervals rest on: seeds, each the mean of its episodes, or the episodes of a single one."""
    x = np.asarray(x, float)
    return x[0] if len(x) == 1 else x.mean(axis=1)


def _with_total(r_tc: ArrayLike) -> np.ndarray:
    r_tc = np.asarray(r_tc, float)
    return np.concatenate([r_tc.sum(axis=-1, keepdims=True), r_tc], axis=-1)


def _correlations(x_t: np.ndarray, y_t: np.ndarray) -> list[Estimate | None]:
    """Pearson's, over all steps of all episodes, for each column."""
    moments = _per_unit(np.stack([x.mean(axis=2) for x in (x_t, y_t, x_t**2, y_t**2, x_t * y_t)], axis=2))

    def spread(m: np.ndarray, i: int) -> np.ndarray:
        return np.sqrt(np.maximum(m[..., 2 + i, :] - m[..., i, :] ** 2, 1e-12))

    def correlation(m: np.ndarray) -> np.ndarray:
        return (m[..., 4, :] - m[..., 0, :] * m[..., 1, :]) / (spread(m, 0) * spread(m, 1))

    is_flat = spread(moments.mean(axis=0), 0) < LEAST_SPREAD
    found = zip(is_flat, *bootstrap_of(correlation, moments), strict=True)
    return [None if flat else Estimate(*map(float, column)) for flat, *column in found]


def _shares(returns: np.ndarray) -> list[Estimate | None]:
    """Each column's part of the first, which is the total."""
    if returns[:, 0].mean() < LEAST_RETURN:
        return [None] * returns.shape[1]
    # Some resamples of few units earn next to nothing.
    found = bootstrap_of(lambda m: m / np.maximum(m[..., :1], LEAST_RETURN), returns)
    return [Estimate(*map(float, column)) for column in zip(*found, strict=True)]


def _noise_share(returns: np.ndarray, is_noise: np.ndarray) -> Estimate | None:
    total, noise = returns[:, 0], returns[:, 1:] @ is_noise
    return _shares(np.stack([total, noise], axis=1))[1]


def _known(audited: AuditedEpisode, kinds: Mapping[str, str]) -> tuple[Known, ...]:
    floor = _per_unit(audited.floor.mean(axis=2))
    columns: list[Sequence[Any]] = [estimates(_per_unit(audited.is_visible.sum(axis=2))), estimates(floor)]
    if audited.probe_loss is None:
        columns += [[None] * len(kinds)] * 2
    else:
        loss = _per_unit(audited.probe_loss.mean(axis=2))
        columns += [estimates(loss), estimates(loss - floor)]
    return tuple(Known(*row) for row in zip(kinds, kinds.values(), *columns, strict=True))


def _offers(
    seekers: Mapping[str, AuditedEpisode], gamma: float, channels: Sequence[str], kinds: Mapping[str, str]
) -> tuple[Offer, ...]:
    offers = []
    for name, seeker in seekers.items():
        c, discount = channels.index(name), gamma ** np.arange(seeker.ideal.shape[2])
        values = [
            None if r is None else Estimate(*map(float, bootstrap(_per_unit((r[..., c] * discount).sum(axis=2)))))
            for r in (seeker.ideal, seeker.learned)
        ]
        assert values[0] is not None
        offers.append(Offer(name, kinds[name], values[0], values[1]))
    return tuple(offers)
