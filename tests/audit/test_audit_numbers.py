"""The audit's numbers from arrays made by hand, and the words it finds for them."""

from __future__ import annotations

import dataclasses
import json
from math import nan

import numpy as np
import pytest

from ndigo.audit.episodes import AuditedEpisode
from ndigo.audit.numbers import Audit, Known, Offer, Pay, summarise
from ndigo.audit.verdict import verdict
from ndigo.report.statistics import Estimate, interval, mean_of

CHANNELS, KINDS = ["walls", "fixed", "noise"], {"fixed": "fixed", "noise": "white_noise"}
GAMMA = 0.5


def random_episodes(num_minds: int, num_episodes: int = 40, S: int = 20, seed: int = 0, **changes) -> AuditedEpisode:
    rng = np.random.default_rng(seed)
    attainable = rng.gamma(0.5, size=(num_minds, num_episodes, S, 3)) * [1.0, 2.0, 0.0]
    fields = {
        "learned": 1.5 * attainable + 0.3 * rng.random(attainable.shape),
        "attainable": attainable,
        "ideal": 0.5 * attainable + [0.0, 0.0, 0.1],
        "probe_loss": rng.random((num_minds, num_episodes, S, 2)) + 1,
        "floor": rng.random((num_minds, num_episodes, S, 2)),
        "is_visible": rng.random((num_minds, num_episodes, S, 2)) < 0.25,
    }
    return AuditedEpisode(**(fields | changes))


def audit_of(audited: AuditedEpisode, seekers=None, kinds=KINDS) -> Audit:
    return summarise(audited, seekers or {}, reward="ndigo-4", gamma=GAMMA, channels=CHANNELS, kinds=kinds)


@pytest.mark.parametrize("num_minds", [1, 3])
def test_numbers_are_those_of_a_loop_over_episodes(num_minds):
    audited = random_episodes(num_minds)
    assert audited.learned is not None
    audit = audit_of(audited)
    assert [line.name for line in audit.pay] == ["all", *CHANNELS]
    assert [line.kind for line in audit.pay] == ["all", "walls", "fixed", "white_noise"]
    episodes = [(m, e) for m in range(num_minds) for e in range(audited.learned.shape[1])]
    for c, line in enumerate(audit.pay[1:]):
        learned = [audited.learned[m, e, :, c].sum() for m, e in episodes]
        best = [audited.attainable[m, e, :, c].sum() for m, e in episodes]
        assert line.learned is not None
        assert line.bias is not None
        assert line.share is not None
        assert line.learned.mean == pytest.approx(np.mean(learned))
        assert line.attainable.mean == pytest.approx(np.mean(best))
        assert line.ideal.mean == pytest.approx(np.mean(best) / 2 + (2 if line.name == "noise" else 0))
        assert line.bias.mean == pytest.approx(np.mean(learned) - np.mean(best))
        assert line.share.mean == pytest.approx(np.sum(learned) / audited.learned.sum())
        assert line.bias.low < line.bias.mean < line.bias.high
        # An interval is over minds, or over the episodes of the only one.
        units = learned if num_minds == 1 else np.reshape(learned, (num_minds, -1)).mean(axis=1)
        assert line.learned == pytest.approx(interval(mean_of(np.array(units))))
        if KINDS.get(line.name) == "white_noise":
            assert line.correlation is None  # a reward that is always 0 has nothing to be correlated with
            continue
        assert line.correlation is not None
        x, y = audited.attainable[..., c].ravel(), audited.learned[..., c].ravel()
        assert line.correlation.mean == pytest.approx(np.corrcoef(x, y)[0, 1])
        assert line.correlation.low <= line.correlation.mean <= line.correlation.high
    assert audit.noise_share is not None
    assert audit.noise_share.mean == pytest.approx(audited.learned[..., 2].sum() / audited.learned.sum())
    assert audit.ideal_noise_share is not None
    assert audit.ideal_noise_share.mean == pytest.approx(audited.ideal[..., 2].sum() / audited.ideal.sum())
    assert audit_of(audited, kinds={"fixed": "fixed", "noise": "brownian"}).noise_share == audit.noise_share
    for i, line in enumerate(audit.known):
        assert audited.probe_loss is not None
        assert line.lost is not None
        assert line.floor.mean == pytest.approx(audited.floor[..., i].mean())
        assert line.lost.mean == pytest.approx((audited.probe_loss - audited.floor)[..., i].mean())
        assert line.visits.mean == pytest.approx(audited.is_visible[..., i].sum() / len(episodes))


def test_interval_of_a_correlation_is_196_standard_errors_wide():
    """Of n independent normal pairs, the standard error is (1 - rho^2) / sqrt(n)."""
    rng, rho, n = np.random.default_rng(0), 0.6, 1000
    x = rng.normal(size=(1, n, 1, 3))
    y = rho * x + 0.8 * rng.normal(size=x.shape)
    widths = []
    for line in audit_of(random_episodes(1, n, 1, attainable=x, learned=y)).pay[1:]:
        assert line.correlation is not None
        assert line.correlation.low < rho < line.correlation.high
        widths.append((line.correlation.high - line.correlation.low) / 2)
    assert np.mean(widths) == pytest.approx(1.96 * (1 - rho**2) / np.sqrt(n), rel=0.1)


def test_offer_is_the_discounted_return_of_the_object_that_is_sought():
    seeker = random_episodes(1, seed=1)
    (offer,) = audit_of(random_episodes(1), {"fixed": seeker}).offers
    for found, r_tc in ((offer.learned, seeker.learned), (offer.ideal, seeker.ideal)):
        assert found is not None
        assert r_tc is not None
        expected = [sum(GAMMA**t * r for t, r in enumerate(episode)) for episode in r_tc[0, :, :, 1]]
        assert found.mean == pytest.approx(np.mean(expected))


def test_json_holds_every_number_and_null_where_there_is_none():
    audit = audit_of(random_episodes(1, learned=None, probe_loss=None), {"noise": random_episodes(1, learned=None)})
    read_back = json.loads(json.dumps(audit.as_dict()))
    assert read_back["pay"][1]["ideal"] == pytest.approx([*audit.pay[1].ideal])
    assert read_back["pay"][1]["learned"] is None
    assert read_back["noise_share"] is None
    assert read_back["offers"][0]["name"] == "noise"
    single = dataclasses.replace(audit, noise_share=Estimate(0.5, nan, nan))
    assert single.as_dict()["noise_share"] == [0.5, None, None]


def of(mean: float) -> Estimate:
    return Estimate(mean, mean - 0.1, mean + 0.1)


def experiment_4(learned: tuple[float, float] | None, ideal=(8.0, 3.0), visits=(1.0, 200.0)) -> Audit:
    """An audit in which seeking (brownian, fixed) pays so much."""
    names = ("brownian", "fixed")
    return Audit(
        reward="ndigo-4",
        gamma=0.99,
        are_walls_whole=False,
        pay=(Pay("all", "all", of(3.0), of(3.0), of(3.0), of(0.0), None, None),),
        noise_share=None,
        ideal_noise_share=None,
        known=tuple(Known(n, n, of(v), of(0.2), of(0.5), of(0.3)) for n, v in zip(names, visits, strict=True)),
        offers=tuple(
            Offer(n, n, of(ideal[i]), None if learned is None else of(learned[i])) for i, n in enumerate(names)
        ),
    )


@pytest.mark.parametrize(
    ("audit", "words"),
    [
        (experiment_4((1.0, 4.0)), "an agent that leaves brownian alone does so because of its predictors"),
        (
            experiment_4((9.0, 4.0)),
            "its predictors do too, and what it does follows from neither: it has brownian in view for 1 steps",
        ),
        (experiment_4((9.0, 4.0), visits=(300.0, 2.0)), "and the agent follows: it has brownian in view for 300 steps"),
        (experiment_4((4.0, 4.1)), "its predictors do not tell the two apart"),
        (experiment_4((9.0, 4.0), ideal=(2.0, 3.0)), "leaving brownian alone follows from the definition of ndigo-4"),
        (experiment_4((9.0, 4.0), ideal=(3.0, 3.1)), "By definition the two cannot be told apart"),
        (experiment_4(None), "the definition of ndigo-4 favours brownian; whether predictors do"),
    ],
)
def test_verdict_says_whether_definition_or_predictors_decide(audit, words):
    assert words in verdict(audit)


def test_verdict_calls_the_pay_for_what_was_hardly_seen_a_guess():
    assert verdict(experiment_4((9.0, 4.0), visits=(300.0, 0.2))).count("a guess") == 1
    assert "a guess" not in verdict(experiment_4((9.0, 4.0), visits=(300.0, 2.0)))


def test_verdict_blames_the_likelihood_for_what_a_perfect_model_would_overpay_and_the_model_for_the_rest():
    audited = random_episodes(1)
    assert audited.learned is not None
    text = verdict(audit_of(audited))
    excess = (audited.attainable - audited.ideal).sum(axis=(2, 3)).mean()
    assert f"So even a perfect model would pay {excess:.1f} nats too much" in text
    assert "the likelihood takes the walls' cells for independent" in text
    assert "the likelihood takes the channels for independent" in verdict(
        dataclasses.replace(audit_of(audited), are_walls_whole=True)
    )
    assert "For the walls the model pays" in text
    perfect = verdict(audit_of(random_episodes(1, learned=audited.attainable, ideal=audited.attainable)))
    assert "too much" not in perfect
    assert "The model's own error is under half a nat per episode in every channel." in perfect
    assert "Noise (noise) makes up 0.0% of the return" in perfect
