"""Every setting of a run; each default says whose it is.

Presets are changes to `Config()`. "paper" marks the value of the paper's appendix, "ours" a choice that the paper
leaves open or that a study of ours changed (`studies/`); the preset `paper` has all of the paper's values.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndigo.errors import NdigoError, unknown_name

PRECISIONS = ("bfloat16", "float32")
LAST_SEED = 2**32 - 1  # JAX's keys are made of 32 bits
LARGEST = 2**31 - 1  # of any count: the device counts in 32 bits
LARGEST_NUMBER = 1e30  # of a whole number given for a float: JSON holds some that no float can
LONGEST_HORIZON = 1000  # K, and any reward's own horizon
SIZES = ("belief_size", "num_filters", "num_features", "predictor_hidden", "head_hidden", "probe_hidden")
# What is larger is a mistake. What is smaller may still not fit the machine.
LARGEST_OF = {
    **dict.fromkeys(SIZES, 65_536),
    **dict.fromkeys(("batch", "actors", "evaluation_episodes", "updates_per_round", "rounds_per_chunk"), 100_000),
    "longest_stretch": 100_000,
    "seeds": 10_000,
    "num_ahead": LONGEST_HORIZON,
}
TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "float | None": ((int, float, type(None)), "a number"),
    "str": ((str,), "text"),
    "bool": ((bool,), "true or false"),
}
SETTINGS_LISTED = "ndigo train --help-all"

# What other libraries call an option, and what it is here.
RATES = ("--model-rate", "--agent-rate", "--probe-rate")
ELSEWHERE: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("lr", "learning-rate", "rate"), RATES),
    **dict.fromkeys(
        ("steps", "total-steps", "total-timesteps", "timesteps", "iterations", "epochs"), ("--learner-steps",)
    ),
    "batch-size": ("--batch",),
    "num-envs": ("--actors",),
    "num-seeds": ("--seeds",),
    **dict.fromkeys(("output", "output-dir", "logdir", "save"), ("--out",)),
    **dict.fromkeys(("device", "gpu", "cpu", "cuda"), ("--preset",)),
    **dict.fromkeys(("wandb", "tensorboard", "track"), ("--log",)),
    "buffer-size": ("--replay-steps",),
}

MOST_MINUTES = 1_000_000  # two years


@dataclass(frozen=True)
class Config:
    """Settings of a training run."""

    world: str = "exp1"
    """An experiment (exp1 .. exp5), a world's name, or MODULE:NAME of your own."""
    reward: str = "ndigo-4"
    """random, pe, pg, icm, ndigo-H (any H >= 1), ndigo-sum, task; exact: ig, ig-L, ideal-pe, ideal-ndigo-H."""
    curiosity_weight: float = 1.0
    """The agent earns this times the intrinsic reward, plus its share of the task's."""
    task_weight: float = 0.0
    """The agent earns this times the world's own task reward, where the world has one."""
    seeds: int = 10
    """Independent agents trained side by side (paper: 10)."""
    seed: int = 0
    """What all randomness starts from."""

    predictor: str = "open_loop"
    """mlp (paper), action_gru (paper's alternative) or open_loop (ours)."""
    likelihood: str = "categorical"
    """categorical (ours: an object is in one cell or absent; walls cell by cell), mixture (ours: the same, but walls a
    mixture of pictures) or bernoulli (every cell on its own)."""
    num_ahead: int = 10
    """K, steps predicted ahead (paper); raised to H + 1 where the reward needs it."""
    belief_size: int = 128
    """Units of the belief's GRU, and of the Q-network's (paper)."""
    num_filters: int = 16
    """Filters of each of the CNN's two layers (paper)."""
    num_features: int = 256
    """Units of the dense layer after the CNN (paper)."""
    predictor_hidden: int = 256
    """Hidden units of a predictor (ours; paper 64)."""
    head_hidden: int = 128
    """Hidden units of the value and advantage heads (paper)."""
    probe_hidden: int = 64
    """Hidden units of the probe (paper)."""

    model_rate: float = 1e-3
    """Adam's step for the world model and the reward's own networks (ours; paper 5e-4)."""
    agent_rate: float = 1e-4
    """Adam's step for the Q-network (paper)."""
    probe_rate: float = 1e-3
    """Adam's step for the probe (ours; paper 5e-4)."""
    last_rate: float = 1.0
    """What the three rates end at, as a share of themselves: they fall in a line over the learner steps (ours: 0.1 with
    `gpu` and `cpu`, which settles policies that else come and go; paper: constant)."""
    last_model_rate: float | None = None
    """The same of the world model and the reward's own networks alone; without it as the agent's and the probe's."""
    batch: int = 64
    """Windows in a learner step (ours; paper 256)."""
    window: int = 100
    """Steps in a window: trace length and replay period (paper); where nobody sets it, an episode's at most."""
    gamma: float = 0.99
    """Discount (paper)."""
    lambda_: float = 0.97
    """Eligibility trace of Retrace (paper)."""
    target_period: int = 400
    """Learner steps between copies to the target network (ours; paper 1024)."""
    policy_mean: int = 1
    """Learner steps over which the Q-network's weights are averaged for the policy that is evaluated, kept and exported
    (ours: 1,000 with `gpu`, 500 with `cpu`; paper: 1, the newest weights, which training always uses)."""
    probe_stride: int = 8
    """The probe learns from every n-th frame of a window (ours: it is the widest layer)."""

    precision: str = "bfloat16"
    """Type of weights and activations in products, bfloat16 or float32; states and losses are float32 (ours)."""
    plain: bool = False
    """Compute by the plain functions alone, without their fast twins: slower, for looking into things."""

    actors: int = 32
    """Worlds a seed acts in at once (ours; paper 100)."""
    first_epsilon: float = 1.0
    """Chance that an idle step of the first actor begins a random stretch; the others' fall in equal ratios (ours; the
    paper prints none)."""
    last_epsilon: float = 0.4**8
    """The same of the last actor (R2D2)."""
    longest_stretch: int = 100
    """Steps for which a random action is repeated, at most: P(n) ~ n^-2 (ours; 1 is epsilon-greedy)."""
    updates_per_round: int = 16
    """Learner steps after each round of one episode per actor (ours)."""
    round_steps: int = 400
    """Steps of each actor in a round, in worlds whose episodes end by themselves (ours: as many as an episode of the
    paper's has); cut to a multiple of the window."""
    replay_steps: int = 1_000_000
    """Steps the replay holds for each seed (paper)."""
    learner_steps: int = 16_000
    """Length of the run in learner steps (ours)."""

    rounds_per_chunk: int = 20
    """Rounds between two visits to the host: a line of metrics and, where saving is due, a checkpoint (ours)."""
    chunks_per_evaluation: int = 5
    """Chunks between two evaluations (ours)."""
    evaluation_episodes: int = 100
    """Greedy episodes of an evaluation, for each seed (the paper does not say)."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(Config):
            value, (types, what) = getattr(self, field.name), TYPES[str(field.type)]
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                raise NdigoError(f"{field.name} {value!r}: must be {what}")
            if field.type != "int" and isinstance(value, int) and abs(value) > LARGEST_NUMBER:
                raise NdigoError(f"{field.name} {str(value)[:9]}...: must be at most {LARGEST_NUMBER:g}")
            low, high = (0, LAST_SEED) if field.name == "seed" else (1, LARGEST_OF.get(field.name, LARGEST))
            if field.type == "int" and not low <= value <= high:
                limit = f"at least {low}" if value < low else f"at most {high}"
                raise NdigoError(f"{field.name} {value}: must be {limit}")
        for name in ("model_rate", "agent_rate", "probe_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise NdigoError(f"{name} {getattr(self, name)}: a learning rate must be above 0, and finite")
        for name in ("curiosity_weight", "task_weight"):
            if not math.isfinite(getattr(self, name)):
                raise NdigoError(f"{name} {getattr(self, name)}: a weight must be a finite number")
        if self.precision not in PRECISIONS:
            raise unknown_name("precision", self.precision, PRECISIONS)
        for name in ("gamma", "lambda_", "last_rate", "last_model_rate", "first_epsilon", "last_epsilon"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise NdigoError(f"{name} {value}: must lie between 0 and 1")

    @property
    def last_step(self) -> int:
        """Where a run ends: `learner_steps`, raised to whole chunks."""
        return -(-self.learner_steps // self.updates_per_chunk) * self.updates_per_chunk

    @property
    def updates_per_chunk(self) -> int:
        return self.rounds_per_chunk * self.updates_per_round


PRESETS: dict[str, Config] = {
    # A probe at 1e-3, which falls too, lags behind the belief it reads (studies/first-recipe).
    "gpu": Config(last_rate=0.1, probe_rate=1e-2, policy_mean=1_000, actors=128, learner_steps=32_000),
    # One seed on two cores, in minutes: a smaller network but for the decoder and the heads, many large steps on few
    # windows each, by which its model learns soonest, and a nearer horizon, cheaper to predict (studies/two-cores).
    "cpu": Config(
        reward="ndigo-2",
        seeds=1,
        precision="float32",
        num_ahead=3,
        belief_size=64,
        num_filters=8,
        num_features=64,
        head_hidden=256,
        probe_hidden=256,
        model_rate=4e-3,
        agent_rate=4e-4,
        probe_rate=1e-2,
        last_rate=0.1,
        target_period=200,
        policy_mean=500,
        batch=8,
        gamma=0.97,
        probe_stride=2,
        actors=64,
        updates_per_round=32,
        learner_steps=11_520,
        rounds_per_chunk=4,
        chunks_per_evaluation=4,
    ),
    # The appendix's numbers, with the corrections of docs/deviations.md.
    "paper": Config(
        precision="float32",
        predictor="mlp",
        predictor_hidden=64,
        model_rate=5e-4,
        probe_rate=5e-4,
        batch=256,
        target_period=1024,
        probe_stride=1,
        actors=100,
        updates_per_round=100,
        learner_steps=100_000,
        rounds_per_chunk=2,
    ),
}


# Numbers that a compiled program takes as arguments: settings that differ only in these can train side by side.
VARIED = (
    *("model_rate", "agent_rate", "probe_rate", "last_rate", "last_model_rate"),
    *("gamma", "lambda_", "first_epsilon", "last_epsilon"),
)

SETTLED = ("window", "actors")  # settings of a preset that a world may change (`naming.settled`)


def varied_values(beside: Sequence[Config]) -> dict[str, np.ndarray]:
    """The numbers in which settings side by side differ, one for each lane: a setting's seeds, then the next one's."""
    resolved = [
        dataclasses.replace(c, last_model_rate=c.last_rate if c.last_model_rate is None else c.last_model_rate)
        for c in beside
    ]
    named = {name: [getattr(config, name) for config in resolved] for name in VARIED}
    return {
        name: np.repeat(np.asarray(values, np.float32), beside[0].seeds)
        for name, values in named.items()
        if len(set(values)) > 1
    }


def refuse_unlike(beside: Sequence[Config], names: Sequence[str]) -> None:
    """An error for settings that one program cannot train side by side."""
    for config, name in zip(beside, names, strict=True):
        for field in dataclasses.fields(Config):
            values = getattr(beside[0], field.name), getattr(config, field.name)
            if field.name not in VARIED and values[0] != values[1]:
                raise NdigoError(
                    f"{names[0]} and {name} cannot train side by side: {field.name} is {values[0]} and {values[1]}; "
                    f"what may differ: {', '.join(name.strip('_') for name in VARIED)}"
                )


def with_values(config: Config, values: Mapping[str, Any]) -> Config:
    """The settings with some numbers replaced by JAX's, which the checks of `Config` could not read."""
    own = copy.copy(config)
    for name, value in values.items():
        object.__setattr__(own, name, value)
    return own


def check_minutes(minutes: float | None) -> None:
    """An error for what is no number of minutes; None is no limit."""
    if not isinstance(minutes, int | float | None) or isinstance(minutes, bool):
        raise NdigoError(f"minutes is {minutes!r}, expected a number")
    if minutes is not None and not 0 < minutes <= MOST_MINUTES:
        raise NdigoError(f"--minutes {minutes}: must be above 0, and at most {MOST_MINUTES}")


def unknown_setting(name: str, known: Collection[str]) -> NdigoError:
    """The error for a setting that does not exist: the nearest, or what others call so."""
    meant = [option.strip("-").replace("-", "_") for option in ELSEWHERE.get(name.replace("_", "-"), ())]
    if not (meant := [setting for setting in meant if setting in known]):
        return unknown_name("setting", name, known, SETTINGS_LISTED)
    return NdigoError(
        f"unknown setting {name!r}; nearest: {', '.join(meant)}; {SETTINGS_LISTED} lists all {len(known)}"
    )


def preset(name: str, **changes: object) -> Config:
    """A preset with some fields changed; an error for an unknown name lists the known ones."""
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    known = {field.name for field in dataclasses.fields(Config)}
    for field in changes:
        if field not in known:
            raise unknown_setting(field, known)
    return dataclasses.replace(PRESETS[name], **changes)  # type: ignore[arg-type]
