"""Curiosity for anyone's agent: one record of pure functions, safe under `jit`, `vmap` and `scan`.

    curiosity = ndigo.curiosity("ndigo-4", frame, num_actions)
    state     = curiosity.init(key, num_envs)                                     # weights, optimiser, replay
    carry     = curiosity.start(num_envs)                                         # beliefs, predictions in flight
    carry, r, r_c      = curiosity.pay(state.params, carry, a_t, o_tp1, is_first)           # [N], [N, C] in nats
    carry, r, is_known = curiosity.pay_rollout(state.params, carry, a_t, o_tp1, is_first)   # [T, N]
    state, numbers     = curiosity.learn(key, state, a_t, o_tp1, is_first)                  # [T, N]

A stream is frames in a row, each with the action before it; `is_first` marks the first frame of an episode, whose
action means nothing. It begins with one: `pay` the frame of a reset with `is_first` True. `o_last` is for worlds that
reset within a step: there, beside the new first frame, stands the true last frame of the old episode (anywhere else it
is not read). Pay a rollout with the parameters from before `learn`: a model that has learned from it is not surprised.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ndigo.config import LAST_SEED, Config, preset
from ndigo.curiosity import learning, streams
from ndigo.curiosity.by_step import paying, recent
from ndigo.curiosity.by_step.paying import Params, Pay, Step
from ndigo.curiosity.learning import Numbers, State
from ndigo.errors import NdigoError, of_gymnasium
from ndigo.frames import Frame, by_part, check_shape, empty
from ndigo.gate import check_pay
from ndigo.networks import lower
from ndigo.rewards import REWARDS, IntrinsicReward, make_reward, refuse_short
from ndigo.training.model_and_reward import init_model
from ndigo.training.twins import computed_by, twins

# One model on two cores beside somebody's agent: the `cpu` preset's, with windows as short as many rollouts are.
DEFAULT = preset("cpu", window=32, batch=16, updates_per_round=16, replay_steps=100_000, model_rate=1e-3)


class PayFunction(Protocol):
    def __call__(
        self, params: Params, carry: Any, a_t: Any, o_tp1: Any, is_first: Any, o_last: Any = None
    ) -> tuple[Any, Array, Array]: ...


class LearnFunction(Protocol):
    def __call__(
        self,
        key: Array,
        state: State,
        a_t: Any,
        o_tp1: Any,
        is_first: Any,
        o_last: Any = None,
        num_updates: int | None = None,  # None: `config.updates_per_round`
    ) -> tuple[State, Numbers]: ...


@dataclass(frozen=True, eq=False)
class PureCuriosity:
    """The functions, and what they were made for."""

    init: Callable[[Array, int], State]  #: key, number of streams
    start: Callable[[int], Any]  #: number of streams -> carry
    pay: PayFunction  #: -> carry, r [N], r_c [N, C]
    pay_rollout: PayFunction  #: -> carry, r [T, N], is_known [T, N]: False where no step led to a frame
    learn: LearnFunction  #: adds to the replay, then updates from it, once every stream has `config.window` steps
    believe: Callable[[Any], Float[Array, "N D"]]  #: carry -> b_t, for whoever wants a representation
    reward: IntrinsicReward
    frame: Frame
    num_actions: int
    config: Config

    @property
    def channels(self) -> tuple[str, ...]:
        """What pay is split by."""
        return tuple(channel.name for channel in self.frame.channels)


def make_curiosity(
    reward: str | IntrinsicReward, frame: Frame, num_actions: SupportsIndex, config: Config | None = None
) -> PureCuriosity:
    """`reward` by name or as a record; of `config` what concerns the world model and its replay (DEFAULT without)."""
    reward = make_reward(reward) if isinstance(reward, str) else reward
    num_actions = check_arguments(reward, frame, num_actions, config)
    config = DEFAULT if config is None else config
    if not any(reward is ours for ours in REWARDS.values()) and not reward.is_sum_alone:
        check_pay(reward, frame, num_actions, config)
    init_params, checked = make_weights(reward, frame, num_actions, config)
    start, pay, pay_rollout = make_pay(reward, frame, config, init_params, checked)
    init, learn = make_learn(reward, frame, num_actions, config, init_params, checked)

    def believe(carry: Any) -> Float[Array, "N D"]:
        return carry.flights[0].b if reward.reads else carry.frames.b_t[-1]

    return PureCuriosity(
        init=init,
        start=start,
        pay=pay,
        pay_rollout=pay_rollout,
        learn=learn,
        believe=believe,
        reward=reward,
        frame=frame,
        num_actions=num_actions,
        config=config,
    )


def make_weights(
    reward: IntrinsicReward, frame: Frame, num_actions: int, config: Config
) -> tuple[Callable[[Array], Params], Callable[[Params], Params]]:
    """How weights are drawn, and how those of another frame, reward or size are refused."""

    def init_params(key: Array) -> Params:
        key_model, key_reward = jax.random.split(key)
        model = init_model(key_model, config, reward, frame, num_actions)
        params = Params(model=model, reward=reward.init(key_reward, model), memory=reward.remember(model))
        return computed_by(twins(config), params)

    @cache
    def params_like() -> Params:
        return jax.eval_shape(init_params, jax.random.key(0))

    def checked(params: Params) -> Params:
        check_params(params, params_like())
        return params

    return init_params, checked


def make_pay(
    reward: IntrinsicReward,
    frame: Frame,
    config: Config,
    init_params: Callable[[Array], Params],
    checked: Callable[[Params], Params],
) -> tuple[Callable[[int], Any], PayFunction, PayFunction]:
    """`start`, `pay` and `pay_rollout`."""

    def lowered(params: Params) -> Params:
        params = checked(params)
        return params if reward.needs_float32 else lower(params, config.precision)

    @cache
    def start_like(num_envs: int) -> Any:
        def begin(key: Array) -> Any:
            params = lowered(init_params(key))
            if reward.reads:
                return paying.start(params, reward, num_envs)
            return recent.start(params, reward, empty(frame, num_envs))

        return jax.eval_shape(begin, jax.random.key(0))

    def start(num_envs: int) -> Any:
        like = start_like(check_count("num_envs", num_envs))
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), like)

    def pay_step(params: Params, carry: Any, step: Step, encoded: Any) -> tuple[Any, Pay]:
        if reward.reads:
            return paying.pay(params, reward, carry, step, encoded)
        return recent.pay(params, reward, carry, step, len(frame.channels))

    def encode(params: Params, step: Step) -> Any:
        return paying.encode(params, reward, step) if reward.reads else None

    def pay(params: Params, carry: Any, a_t: Any, o_tp1: Any, is_first: Any, o_last: Any = None):
        step = _step(frame, (carry.ages.num.shape[0],), a_t, o_tp1, is_first, o_last)
        params = lowered(params)
        carry, paid = pay_step(params, carry, step, encode(params, step))
        return carry, paid.r, paid.r_c

    def pay_rollout(params: Params, carry: Any, a_t: Any, o_tp1: Any, is_first: Any, o_last: Any = None):
        steps = _step(frame, (*jnp.shape(a_t)[:1], carry.ages.num.shape[0]), a_t, o_tp1, is_first, o_last)
        params = lowered(params)
        encoded = encode(params, steps)
        if reward.reads and paying.rollout_is_faster():
            carry, paid = paying.pay_rollout(params, reward, carry, steps, encoded)
        else:
            carry, paid = lax.scan(lambda carry, x: pay_step(params, carry, *x), carry, (steps, encoded))
        return carry, paid.r, paid.is_known

    return start, pay, pay_rollout


def make_learn(
    reward: IntrinsicReward,
    frame: Frame,
    num_actions: int,
    config: Config,
    init_params: Callable[[Array], Params],
    checked: Callable[[Params], Params],
) -> tuple[Callable[[Array, int], State], LearnFunction]:
    """`init` and `learn`."""
    C, optimiser = len(frame.channels), learning.make_optimiser(config)
    update = learning.make_update(config, reward, twins(config), C)

    def init(key: Array, num_envs: int) -> State:
        num_envs = check_count("num_envs", num_envs)
        params = init_params(key)
        num_windows = max(config.replay_steps // (config.window * num_envs), 2)
        packed = jax.eval_shape(lambda: frame.pack(empty(frame)))
        return State(
            params=params,
            optimiser=optimiser.init((params.model, params.reward)),
            streams=streams.empty(packed, config.belief_size, num_envs, num_windows, config.window, num_actions),
            step=jnp.int32(0),
        )

    def learn(
        key: Array,
        state: State,
        a_t: Any,
        o_tp1: Any,
        is_first: Any,
        o_last: Any = None,
        num_updates: int | None = None,
    ) -> tuple[State, Numbers]:
        checked(state.params)
        N, L = len(state.streams.is_first), state.streams.num_held
        steps = _step(frame, (*jnp.shape(a_t)[:1], N), a_t, o_tp1, is_first, o_last)
        if (1 if o_last is None else 2) * len(a_t) > L:
            raise NdigoError(
                f"learn: a rollout of {len(a_t)} steps does not fit a replay of {L} frames per stream; "
                f"raise replay_steps above {config.replay_steps}"
            )
        added = streams.add(state.streams, lower(state.params.model, config.precision), steps, frame.pack)
        state = eqx.tree_at(lambda s: s.streams, state, added)

        def body(state: State, key: Array) -> tuple[State, Numbers]:
            return update(state, streams.sample(key, added, config.batch, frame.unpack))

        num_updates = config.updates_per_round if num_updates is None else num_updates
        if num_updates == 0:
            return state, learning.nothing_learned(0, C)
        first, end = streams.windows_of(added)
        return lax.cond(
            (first < end).all(),
            lambda state: lax.scan(body, state, jax.random.split(key, num_updates)),
            lambda state: (state, learning.nothing_learned(num_updates, C)),
            state,
        )

    return init, learn


def check_arguments(reward: IntrinsicReward, frame: Frame, num_actions: SupportsIndex, config: Config | None) -> int:
    """The number of actions; an error in one line where no curiosity can be made of these."""
    if jnp.zeros(()).dtype != jnp.float32:
        raise NdigoError("JAX is set to 64 bits, in which no world model learns: unset jax_enable_x64 (JAX_ENABLE_X64)")
    check_config(config)
    if not isinstance(reward, IntrinsicReward):
        raise NdigoError(f"reward is a {type(reward).__name__}, expected a name, such as ndigo-4, or a record")
    if reward.on_episode is not None:
        raise NdigoError(f"reward {reward.name} is computed on whole episodes of a world we know; pe, ndigo-H stream")
    if reward.pays_task:
        raise NdigoError(f"reward {reward.name} pays the world's own task, which your agent has; try pe or ndigo-H")
    if not hasattr(frame, "spec"):
        known = f"one of ndigo.frames, such as frames.tiles(){of_gymnasium(frame)}"
        raise NdigoError(f"frame is a {type(frame).__name__}, expected {known}")
    refuse_short(reward, "a window", (config or DEFAULT).window, "its model would never learn to")
    return check_count("num_actions", num_actions)


def check_config(config: Any) -> None:
    if config is not None and not isinstance(config, Config):
        kind = type(config).__name__
        raise NdigoError(f'config is a {kind}, expected a Config, such as ndigo.config.preset("cpu", window=16)')


def check_count(name: str, count: Any) -> int:
    """A whole number of at least 1, whatever its type: as an int, which every file can hold."""
    try:
        found = 0 if isinstance(count, bool) else operator.index(count)
    except TypeError:
        found = 0
    if found < 1:
        raise NdigoError(f"{name} is {count!r}, expected a whole number of at least 1")
    return found


def check_params(params: Params, like: Params) -> None:
    """An error where the weights are those of another frame, reward or size: shapes alone, so under `jit` too."""
    if not isinstance(params, Params):
        raise NdigoError(f"params is a {type(params).__name__}, expected the params of this curiosity's state")
    named, expected = (_shapes(tree) for tree in (params, like))
    for name in (*expected, *named):
        if named.get(name) != expected.get(name):
            found, wanted = (str(shapes.get(name, "none")) for shapes in (named, expected))
            raise NdigoError(f"weights of another frame, reward or size: {name[1:]} is {found}, expected {wanted}")
    if params.model.likelihood != like.model.likelihood:
        raise NdigoError(f"weights of another frame: {params.model.likelihood}, expected {like.model.likelihood}")


def _shapes(tree: Any) -> dict[str, list[int]]:
    return {jax.tree_util.keystr(path): list(x.shape) for path, x in jax.tree_util.tree_leaves_with_path(tree)}


def _step(frame: Frame, lead: tuple[int, ...], a_t: Any, o_tp1: Any, is_first: Any, o_last: Any) -> Step:
    """The arguments as one record; an error names the first of another shape or kind of numbers, under `jit` too."""
    for name, x in (("a_t", a_t), ("is_first", is_first)):
        if jnp.shape(x) != lead:
            raise NdigoError(f"{name} has the shape {list(jnp.shape(x))}, expected {list(lead)}")
    if 0 in lead:
        raise NdigoError("a_t has no steps, expected a rollout of at least 1")
    if not jnp.issubdtype(jnp.asarray(a_t).dtype, jnp.integer):
        raise NdigoError(f"a_t is {jnp.asarray(a_t).dtype}, expected whole numbers")
    for name, o in (("o_tp1", o_tp1), ("o_last", o_last)):
        if o is not None:
            check_frames(name, frame, o, lead)

    def stored(x: Any, spec: Any) -> Array:
        # A frame of pixels knows pictures by their type. What this one cannot hold is the nearest that it can.
        if all(jnp.issubdtype(dtype, jnp.integer) for dtype in (spec.dtype, x.dtype)):
            ours, own = jnp.iinfo(spec.dtype), jnp.iinfo(x.dtype)  # JAX has no 64 bits to clip NumPy's numbers in
            x = x.clip(max(ours.min, own.min), min(ours.max, own.max))
        return jnp.asarray(x, spec.dtype)

    o_tp1, o_last = (None if o is None else jax.tree.map(stored, o, frame.spec) for o in (o_tp1, o_last))
    a_t, is_first = jnp.asarray(a_t, jnp.int32), jnp.asarray(is_first, bool)
    return Step(a_t=a_t, o_tp1=o_tp1, is_first=is_first, o_last=o_last)


def check_seed(seed: Any) -> int:
    """A whole number of which JAX makes a key of its own; an error in one line for any other."""
    try:
        found = operator.index(seed)
    except TypeError:
        found = -1
    if not 0 <= found <= LAST_SEED:
        raise NdigoError(f"seed is {seed!r}, expected a whole number from 0 to {LAST_SEED}")
    return found


def check_frames(name: str, frame: Frame, o: Any, lead: tuple[int, ...]) -> None:
    """An error where `o` is no tree of frames with these leading axes, of whole numbers where the frame has those."""
    check_shape(name, frame, o, lead)
    for part, leaf, spec in by_part(name, frame, o):
        is_whole = jnp.issubdtype(spec.dtype, jnp.integer)
        allowed = (jnp.bool_, jnp.integer) if is_whole else (jnp.bool_, jnp.integer, jnp.floating)
        if not any(jnp.issubdtype(leaf.dtype, kind) for kind in allowed):
            raise NdigoError(f"{part} are {leaf.dtype}, expected {'whole ' * is_whole}numbers ({spec.dtype})")
