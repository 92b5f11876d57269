"""Runs and agents in one line, and as a small table for a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ndigo.agents.agent import Agent
from ndigo.report.numbers import how_many


def card(title: str, rows: Mapping[str, str]) -> str:
    """A table of names and values."""
    cells = "".join(
        f'<tr><th style="text-align: left">{html.escape(name)}</th>'
        f'<td style="text-align: left">{html.escape(value)}</td></tr>'
        for name, value in rows.items()
        if value
    )
    return f"<table><caption><b>{html.escape(title)}</b></caption><tbody>{cells}</tbody></table>"


def run_line(path: Any, config: Any, step: int) -> str:
    """`Run(runs/first: ndigo-4 in exp1, 3 seeds, 2,048 of 16,000 learner steps)`."""
    what = f"{config.reward} in {config.world}, {how_many(config.seeds, 'seed')}"
    return f"Run({path}: {what}, {step:,} of {how_many(config.learner_steps, 'learner step')})"


def agent_card(agent: Agent) -> str:
    """Who an agent is and what it is made of; its line as the title."""
    about, model = agent.about, agent.params.model
    step, seed = about.get("learner_step"), about.get("seed")
    ahead = f"{how_many(agent.num_ahead, 'step')} ahead" if agent.num_ahead else "nothing"
    weights = sum(np.size(leaf) for leaf in jax.tree.leaves(agent.params))
    rows = {
        "world": about.get("world", agent.world.name),
        "reward": about.get("reward", agent.reward.name),
        "seed": "" if seed is None else str(seed),
        "learner steps": "" if step is None else f"{step:,}",
        "predicts": ahead,
        "belief": how_many(model.core.size, "number"),
        "weights": f"{weights:,}, computed in {agent.config.precision}",
    }
    return card(repr(agent), rows)


def latest(lines: Sequence[Mapping[str, Any]], world: Mapping[str, Any]) -> dict[str, str]:
    """The newest evaluation, each number a mean over seeds."""
    found = next((line["evaluation"] for line in reversed(lines) if "evaluation" in line), None)
    if found is None:
        return {}
    shown: dict[str, str] = {}
    kinds = {"discovery_loss": ("discovery loss (nats)", "objects"), "visits": ("visits (steps in view)", "in_view")}
    for metric, (title, of) in kinds.items():
        mean = np.asarray(found.get(metric, []), float)
        if mean.size:
            pairs = zip(world.get(of, ()), mean.mean(axis=0), strict=False)
            shown[title] = ", ".join(f"{name} {value:.2f}" for name, value in pairs)
    return shown
