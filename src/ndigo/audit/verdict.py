"""An audit in plain words: one paragraph, from its numbers alone."""

from __future__ import annotations

from math import isnan

from ndigo.audit.numbers import NOISE, Audit, Known, Offer
from ndigo.report.numbers import nats, percent
from ndigo.report.statistics import Estimate

WALL_CELLS = ("the walls' cells", "cell that it shifts")
LARGE = 0.5  # nats per episode: errors below it are not worth a sentence


def verdict(audit: Audit) -> str:
    """What the reward measured and what it did not, what is known, and what each object has to offer."""
    return " ".join([*_reward(audit), *_noise(audit), *_knowledge(audit.known), *_choice(audit)])


def _reward(audit: Audit) -> list[str]:
    total, reward = audit.pay[0], audit.reward
    if total.learned is None:
        return [f"By definition {reward} pays {nats(total.ideal.mean)} per episode on these episodes."]
    step = "" if total.correlation is None else f" (step by step the two correlate {total.correlation.mean:.2f})"
    sentences = [
        f"The model pays {nats(total.learned.mean)} per episode, a perfect model with the same likelihood would pay "
        f"{nats(total.attainable.mean)}{step}, and by definition, of whole frames, {reward} pays "
        f"{nats(total.ideal.mean)}."
    ]
    excess = total.attainable.mean - total.ideal.mean
    if excess > max(LARGE, 0.2 * total.attainable.mean):
        parts, each = ("the channels", "channel that tells it") if audit.are_walls_whole else WALL_CELLS
        sentences.append(
            f"So even a perfect model would pay {excess:.1f} nats too much: the likelihood takes {parts} "
            f"for independent, and when an object holds the agent up, that one piece of news is paid for every {each}."
        )
    errors = [(line, line.bias) for line in audit.pay[1:] if line.bias is not None and abs(line.bias.mean) >= LARGE]
    for line, bias in errors:
        name = "the walls" if line.kind == "walls" else line.name
        more = "more" if bias.mean > 0 else "less"
        sure = ", though its interval holds zero" if bias.low <= 0 <= bias.high else ""
        sentences.append(f"For {name} the model pays {abs(bias.mean):.1f} nats {more} than the perfect one{sure}.")
    if not errors:
        sentences.append("The model's own error is under half a nat per episode in every channel.")
    return sentences


def _noise(audit: Audit) -> list[str]:
    names = ", ".join(line.name for line in audit.pay if line.kind in NOISE)
    learned, ideal = audit.noise_share, audit.ideal_noise_share
    if learned is not None:
        due = "" if ideal is None else f"; by definition it would be {percent(ideal.mean)}"
        return [f"Noise ({names}) makes up {percent(learned.mean)} of the return{due}."] if names else []
    return [f"Noise ({names}) would make up {percent(ideal.mean)} of it."] if names and ideal is not None else []


def _knowledge(known: tuple[Known, ...]) -> list[str]:
    sentences = []
    for line in known:
        if line.kind == "white_noise":
            continue
        floor = f"{line.floor.mean:.2f}"
        if line.lost is None or line.probe_loss is None:
            sentences.append(f"What was seen leaves {floor} nats per step open about {line.name}.")
        elif line.visits.mean < 1:
            sentences.append(f"It hardly ever sees {line.name}, so there is little to know of it.")
        else:
            sentences.append(
                f"Of the place of {line.name} the probe reads {line.probe_loss.mean:.2f} nats per step short of "
                f"certain, where {floor} is the least that its frames allow: {line.lost.mean:.2f} were seen and are "
                "not known."
            )
    return sentences


def _choice(audit: Audit) -> list[str]:
    """Which object the definition would have an agent seek, and which the predictors: Experiment 4's question."""
    sentences = []
    wanted = [offer for offer in audit.offers if offer.kind not in NOISE]
    for noise in (offer for offer in audit.offers if offer.kind == "brownian" and wanted):
        best = max(wanted, key=lambda offer: offer.ideal.mean)
        worth = "; ".join(f"{offer.name} is worth {_worth(offer, audit.known)}" for offer in (noise, best))
        sentences.append(f"To one that seeks it, {worth} (discounted by {audit.gamma:g} per step).")
        sentences.append(_who_decides(noise, best, audit))
    return sentences


def _who_decides(noise: Offer, other: Offer, audit: Audit) -> str:
    definition = f"the definition of {audit.reward}"
    by_definition = _favours(noise.name, noise.ideal, other.name, other.ideal)
    if by_definition is None:
        return f"By definition the two cannot be told apart, so {audit.reward} itself decides nothing between them."
    if noise.learned is None or other.learned is None:
        return f"So {definition} favours {by_definition}; whether predictors do, an agent with them tells."
    if by_definition == other.name:
        return f"So leaving {noise.name} alone follows from {definition}."
    by_model = _favours(noise.name, noise.learned, other.name, other.learned)
    if by_model == other.name:
        return (
            f"So {definition} favours {noise.name} and this agent's predictors favour {other.name}: an agent that "
            f"leaves {noise.name} alone does so because of its predictors."
        )
    also = "do too" if by_model else "do not tell the two apart"
    visits = {line.name: line.visits.mean for line in audit.known}
    seen = (
        f"it has {noise.name} in view for {visits[noise.name]:.0f} steps and {other.name} for {visits[other.name]:.0f}"
    )
    is_followed = visits[noise.name] > visits[other.name]
    then = f"and the agent follows: {seen}" if is_followed else f"and what it does follows from neither: {seen}"
    return f"So {definition} favours {noise.name}, its predictors {also}, {then}."


def _favours(name: str, x: Estimate, other: str, y: Estimate) -> str | None:
    """The one that is worth more, by intervals that do not overlap (by means, where there are none)."""
    (x_low, x_high), (y_low, y_high) = _ends(x), _ends(y)
    return name if x_low > y_high else other if y_low > x_high else None


def _ends(x: Estimate) -> tuple[float, float]:
    return (x.mean, x.mean) if isnan(x.low) else (x.low, x.high)


def _worth(offer: Offer, known: tuple[Known, ...]) -> str:
    if offer.learned is None:
        return f"{nats(offer.ideal.mean)} by definition"
    is_guess = any(line.name == offer.name and line.visits.mean < 1 for line in known)
    guess = ", a guess, as it hardly ever sees it" if is_guess else ""
    return f"{nats(offer.ideal.mean)} by definition and {nats(offer.learned.mean)} by this agent's model{guess}"
