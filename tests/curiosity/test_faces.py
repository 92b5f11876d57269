"""Curiosity around other people's environments: each action is paid what whole episodes pay it, in every dialect."""

from __future__ import annotations

import ast
import copy
import dataclasses
import importlib
import inspect
import pickle
import re
import sys
from pathlib import Path
from typing import Any, cast, get_type_hints

import gymnasium
import jax
import numpy as np
import pytest
from counter_env import FRAME, Counter, Parted, expected
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from probe_worlds import two_arms
from stream_of_episodes import Played, paid_by_windows

import ndigo
from ndigo import frames
from ndigo.config import preset
from ndigo.curiosity import make_curiosity
from ndigo.curiosity.gymnasium import CuriousVectorEnv
from ndigo.curiosity.gymnax import CuriousGymnax
from ndigo.curiosity.host import Curiosity
from ndigo.curiosity.paymaster import Options, Paymaster, num_discrete
from ndigo.curiosity.pending import Pending
from ndigo.curiosity.record import check_frames
from ndigo.errors import NdigoError
from ndigo.interop.gymnax import GymnaxWorld
from ndigo.rewards import make_reward

CONFIG = preset(
    "cpu",
    belief_size=16,
    num_features=16,
    num_filters=4,
    predictor_hidden=16,
    num_ahead=2,
    window=8,
    batch=4,
    updates_per_round=2,
)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
def test_a_vector_environment_is_paid_as_its_episodes_are_in_both_ways_to_reset(mode):
    lengths, reward, rng = (3, 4, 2), make_reward("ndigo-1"), np.random.default_rng(0)
    makers: list[Any] = [lambda length=length: Counter(length) for length in lengths]
    envs = CuriousVectorEnv(
        SyncVectorEnv(makers, autoreset_mode=mode), reward, FRAME, weight=0.5, task_weight=2.0, config=CONFIG, seed=3
    )
    params = jax.device_get(envs.curiosity.state.params)
    envs.reset(seed=0)
    current: list[list[int]] = [[] for _ in lengths]
    paid: list[list[float]] = [[] for _ in lengths]
    is_over, ended = np.zeros(3, bool), []
    for _ in range(20):
        actions = rng.integers(2, size=3)
        _, total, terminations, truncations, infos = envs.step(actions)
        ends = terminations | truncations
        np.testing.assert_allclose(total, 2 * infos["reward_task"] + 0.5 * infos["reward_intrinsic"], atol=1e-6)
        np.testing.assert_allclose(sum(infos["nats"].values()), infos["reward_intrinsic"], atol=1e-6)
        for n in range(3):
            if mode is AutoresetMode.NEXT_STEP and is_over[n]:
                assert infos["reward_intrinsic"][n] == 0, "the action that resets is no action"
                continue
            current[n].append(int(actions[n]))
            paid[n].append(infos["reward_intrinsic"][n])
            assert infos["reward_task"][n] == len(current[n])
            if ends[n]:
                ended.append((current[n], paid[n]))
                current[n], paid[n] = [], []
        is_over = ends
    assert len(ended) >= 9
    for (_, got), by_windows in zip(ended, expected(params, reward, [actions for actions, _ in ended]), strict=True):
        np.testing.assert_allclose(got, by_windows[: len(got)], atol=1e-5)
        assert got[0] == 0
        assert np.abs(got[1:]).min() > 0, "but for its first, every step pays"
    assert envs.curiosity.num_pending == 20


def test_scaled_pay_is_the_same_in_both_ways_to_reset():
    """To the last bit for one environment: the step that resets, and a frame of a reset, add no return."""
    paid: dict[AutoresetMode, list[float]] = {}
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        makers: list[Any] = [lambda: Counter(2)]
        vector = SyncVectorEnv(makers, autoreset_mode=mode)
        envs = CuriousVectorEnv(vector, "ndigo-1", FRAME, config=CONFIG, seed=3, scale="return-std")
        for _ in range(2):  # the second ends an episode that has just begun
            envs.reset(seed=0)
        has_ended, found = False, paid.setdefault(mode, [])
        while len(found) < 40:
            _, _, terminations, _, infos = envs.step(np.array([len(found) % 2]))
            if mode is AutoresetMode.SAME_STEP or not has_ended:
                found.append(float(infos["reward_intrinsic"][0]))
            has_ended = bool(terminations[0])
    next_step, same_step = paid.values()
    assert next_step == same_step
    assert np.count_nonzero(same_step) > 25


def test_it_learns_where_every_episode_is_shorter_than_the_steps_between():
    """All are reset by hand: eight steps are two episodes and two of the third."""
    makers: list[Any] = [lambda: Counter(3)]
    vector = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.DISABLED)
    envs = CuriousVectorEnv(vector, "ndigo-1", FRAME, config=CONFIG, learn_every=8)
    learned = []
    for length in (3, 4, 5):
        envs.reset()
        for _ in range(length):
            envs.step(np.zeros(1, int))
            learned.append(int(envs.curiosity.state.step))
    assert learned == [0] * 7 + [2] * 5
    assert envs.curiosity.num_pending == 4


def test_an_environment_that_is_paid_can_be_copied_and_pickled():
    """Both ask a new object, which has no environment yet, for methods by name."""
    env = CuriousGymnax(Still(), cast(Any, None), weight=0.5)
    for other in (copy.copy(env), pickle.loads(pickle.dumps(env))):
        assert (other.weight, other.num_actions) == (0.5, 2)


class Still:
    """All that a wrapper asks of an environment that is not stepped."""

    num_actions = 2


def test_every_option_is_named_where_one_looks_for_it():
    options = [name for name, p in inspect.signature(Paymaster).parameters.items() if p.kind is p.KEYWORD_ONLY]
    own = [name for name, p in inspect.signature(Curiosity).parameters.items() if p.kind is p.KEYWORD_ONLY]
    assert {"see", "learn_every"} <= {*options} - {*own}
    assert [*get_type_hints(Options).items()] == [(name, get_type_hints(Paymaster.__init__)[name]) for name in options]
    assert "Unpack[Options]" in str(inspect.signature(CuriousVectorEnv)), "what an editor completes"
    for face, names in ((Paymaster, options), (Curiosity, own)):
        words = re.findall(r"\w+", face.__doc__ or "")
        assert [name for name in names if name not in words] == []


PAGE = (Path(__file__).parents[2] / "docs" / "use-with-your-agent.md").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
LOOPS = [text for text in SNIPPETS if re.search(r"curiosity\.pay(_rollout)?\(actions", text)]
PACKAGES = {"frames", "gymnasium", "ndigo", "np", "preset"}
MODES = {"NEXT_STEP": AutoresetMode.NEXT_STEP, "SAME_STEP": AutoresetMode.SAME_STEP}


def test_the_page_imports_what_it_uses_from_top_to_bottom():
    imported: set[str] = set()
    for snippet in map(ast.parse, SNIPPETS):
        nodes = list(ast.walk(snippet))
        of_imports = (node.names for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
        imported |= {alias.asname or alias.name for names in of_imports for alias in names}
        text = ast.unparse(snippet)
        assert bool(re.search("(import|from) minigrid", text)) == ("MiniGrid-" in text), "or Gymnasium has no such id"
        assert {node.id for node in nodes if isinstance(node, ast.Name)} & PACKAGES <= imported


@pytest.mark.parametrize(("loop", "mode"), [*zip(LOOPS[:2], MODES, strict=True)], ids=MODES)
def test_the_pages_loops_pay_what_the_face_pays_and_its_rollouts_the_same(loop, mode, monkeypatch):
    """The face is held to whole episodes above. Without `finals` a rollout pays 0 where an episode ends."""
    assert len(LOOPS) == 3
    makers: list[Any] = [lambda length=length: Counter(length) for length in (6, 7, 5)]
    first, second = (SyncVectorEnv(makers, autoreset_mode=MODES[mode]) for _ in range(2))
    config, T = dataclasses.replace(CONFIG, num_ahead=5), 40
    chosen = np.random.default_rng(0).integers(2, size=(T, 3))
    pays = []

    class Heard(Curiosity):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, config=config, seed=3)

        def pay(self, *args: Any, **more: Any) -> Any:
            pays.append(super().pay(*args, **more)[0])
            return pays[-1], None

    monkeypatch.setattr(ndigo, "Curiosity", Heard)
    names = {"ndigo": ndigo, "np": np, "frame": FRAME, "num_actions": 2, "num_envs": 3, "num_steps": T}
    names |= {"read": ndigo.frame_of("counter", Counter.observation_space, first.reset)[1]}
    exec(compile(loop, "page", "exec"), names | {"envs": first, "act": lambda _: chosen[len(pays)]})
    face, shown = CuriousVectorEnv(second, "ndigo-4", FRAME, config=config, seed=3, learn_every=48), []
    observations, done, by_face = face.reset()[0], np.zeros(3, bool), []
    for actions in chosen:
        shown.append((observations, done))
        observations, _, terminated, truncated, infos = face.step(actions)
        done = terminated | truncated
        by_face.append(infos["reward_intrinsic"])
    np.testing.assert_array_equal(pays, by_face)
    obs, dones = map(np.stack, zip(*shown, strict=True))
    names |= {"curiosity": Heard("ndigo-4", FRAME, 2, 3), "mode": mode, "actions": chosen, "obs": obs, "dones": dones}
    names |= {"next_obs": observations, "next_done": done}
    exec(compile(LOOPS[2], "page", "exec"), names)
    ends = np.concatenate([dones[1:], done[None]])
    unpaid = ends if mode == "SAME_STEP" else np.zeros_like(ends)
    np.testing.assert_allclose(names["r"], np.where(unpaid, 0, by_face), atol=1e-5)
    assert (np.abs(names["r"]) > 1e-4).sum() > 10


class Looks:
    """Checks what a loop hands to its curiosity, and compiles nothing."""

    def __init__(self, reward: str, frame: Any, num_actions: int, num_envs: int):
        self.frame, self.num_envs, self.num_ends = frame, num_envs, 0

    def reset(self, observations: Any) -> None:
        check_frames("observations", self.frame, observations, (self.num_envs,))

    def pay(self, actions: Any, observations: Any, is_first: np.ndarray, finals: Any = None) -> tuple[None, None]:
        self.reset(observations)
        self.num_ends += is_first.sum()
        if finals is not None:
            for n in np.flatnonzero(is_first):
                check_frames("finals", self.frame, finals[n], ())
        return None, None

    def learn(self) -> None:
        assert self.num_ends > 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "make",
    [lambda: gymnasium.make("CartPole-v1"), lambda: gymnasium.make("FrozenLake-v1"), lambda: Parted(3)],
    ids=["numbers without bounds", "one number", "parts"],
)
def test_the_pages_loops_read_the_observations_of_any_space(make, mode, monkeypatch):
    monkeypatch.setattr(ndigo, "Curiosity", Looks)
    envs = SyncVectorEnv([make, make], autoreset_mode=MODES[mode])
    names = {"num_actions": 4, "num_envs": 2, "num_steps": 100, "envs": envs, "act": lambda _: np.ones(2, int)}
    before, *_ = LOOPS[0].partition("curiosity =")  # what the other loop takes from this one
    for text in (before, dict(zip(MODES, LOOPS, strict=False))[mode]):
        exec(compile(text, "page", "exec"), names)


@pytest.mark.parametrize(
    ("face", "package", "extra"), [("sb3", "stable_baselines3", "sb3"), ("gymnasium", "gymnasium", "gym")]
)
def test_a_face_whose_package_is_missing_says_how_to_get_it(face, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    for name in [name for name in sys.modules if name.startswith((f"{package}.", f"ndigo.curiosity.{face}"))]:
        monkeypatch.delitem(sys.modules, name)
    needed = package.replace("_", "-")
    says = rf"^ndigo\.curiosity\.{face} needs {needed}: .* in a checkout pip install -e '\.\[{extra}\]'$"
    with pytest.raises(NdigoError, match=says):
        importlib.import_module(f"ndigo.curiosity.{face}")


class Broken(Counter):
    """Its third reward is no number."""

    def step(self, action: Any) -> Any:
        o, reward, *rest = super().step(action)
        return o, np.nan if self.t == 3 else reward, *rest


def test_a_loop_of_ones_own_may_hand_over_gymnasiums_final_obs_as_they_are():
    makers: list[Any] = [lambda length=length: Counter(length) for length in (3, 4, 2)]
    envs = [SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP) for _ in range(2)]
    wrapped = CuriousVectorEnv(envs[0], "ndigo-1", FRAME, config=CONFIG, seed=3, learn_every=20)
    bonus, rng = Curiosity("ndigo-1", FRAME, 2, 3, config=CONFIG, seed=3), np.random.default_rng(0)
    wrapped.reset(seed=0)
    bonus.reset(envs[1].reset(seed=0)[0])
    num_ends = 0
    for _ in range(9):
        actions = rng.integers(2, size=3)
        observations, _, terminations, truncations, infos = envs[1].step(actions)
        ends = terminations | truncations
        num_ends += int(ends.sum())
        r, _ = bonus.pay(actions, observations, is_first=ends, finals=infos.get("final_obs"))
        np.testing.assert_array_equal(r, wrapped.step(actions)[4]["reward_intrinsic"])
    assert num_ends > 5
    assert repr(bonus) == "Curiosity(ndigo-1, 3 environments, 10 steps, 0 updates)"


def test_an_option_that_no_face_has_is_one_line_with_the_nearest():
    makers: list[Any] = [lambda: Counter(3)]
    with pytest.raises(NdigoError, match=r"unknown option 'weights'; nearest: weight; known: .*"):
        CuriousVectorEnv(SyncVectorEnv(makers), "ndigo-1", FRAME, **cast(Any, {"weights": 1}))


def test_what_is_no_vector_and_a_step_before_the_reset_are_refused():
    with pytest.raises(
        NdigoError, match=r"^env is a Counter, expected a VectorEnv, as gymnasium\.make_vec returns it$"
    ):
        CuriousVectorEnv(cast(Any, Counter(3)), "ndigo-1", FRAME, config=CONFIG)
    vector = gymnasium.make_vec("CartPole-v1", num_envs=2)
    envs = CuriousVectorEnv(vector, "ndigo-1", frames.vector(4, low=-5, high=5), config=CONFIG)
    with pytest.raises(NdigoError, match=r"^step before the first frames: reset\(\) first$"):
        envs.step(np.zeros(2, int))


def test_it_learns_when_told_and_refuses_what_is_no_number(monkeypatch):
    learned_at = []

    def learn(self):
        learned_at.append(self.clock)
        self._pending = Pending()

    monkeypatch.setattr(Curiosity, "learn", learn)
    makers: list[Any] = [lambda: Counter(9), lambda: Broken(9), lambda: Counter(9)]
    envs = CuriousVectorEnv(SyncVectorEnv(makers), "ndigo-1", FRAME, config=CONFIG, learn_every=2, seed=3)
    envs.reset()
    for _ in range(2):
        envs.step(np.zeros(3, int))
    assert learned_at == [3], "the frames of the reset were one step, and two are all that it learns from"
    with pytest.raises(NdigoError, match="environment 1 returned the reward nan, expected a finite number"):
        envs.step(np.zeros(3, int))
    assert envs.curiosity.clock == 3
    short = dataclasses.replace(CONFIG, replay_steps=300)
    with pytest.raises(NdigoError, match=r"learn_every is 80, expected at most 48: replay_steps 300 is room for"):
        CuriousVectorEnv(SyncVectorEnv(makers), "ndigo-1", FRAME, config=short, learn_every=80)
    with pytest.raises(NdigoError, match="config is a str, expected a Config"):
        CuriousVectorEnv(SyncVectorEnv(makers), "ndigo-1", FRAME, config=cast(Any, "cpu"), updates=3)
    continuous = SyncVectorEnv([lambda: gymnasium.make("Pendulum-v1")])
    with pytest.raises(NdigoError, match=r"the actions are Box.*, expected Discrete\(n\) from 0 on"):
        CuriousVectorEnv(continuous, "ndigo-1", FRAME)
    with pytest.raises(NdigoError, match="reset_mask: the environments of a curious vector are reset together"):
        envs.reset(options={"reset_mask": np.array([True, False])})


def test_a_scan_over_a_gymnax_environment_is_paid_as_its_episodes_are():
    world, reward, N, T = two_arms(num_steps=6), make_reward("ndigo-1"), 3, 18
    curiosity = make_curiosity(reward, world.frame, world.num_actions, CONFIG)
    env = CuriousGymnax(GymnaxWorld(world), curiosity, weight=2.0)
    assert env.num_actions == 3

    @jax.jit
    def run(key):
        params = env.params(curiosity.init(key, N).params)
        o_0, state = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(key, N), params)

        def body(state, key):
            key_action, key_step = jax.random.split(key)
            a_t = jax.random.randint(key_action, (N,), 0, 3)
            step = jax.vmap(env.step, in_axes=(0, 0, 0, None))
            _, state, r, _, truncated, info = step(jax.random.split(key_step, N), state, a_t, params)
            return state, (r, truncated, info)

        return params.curiosity, o_0, jax.lax.scan(body, state, jax.random.split(key, T))[1]

    params, o_0, (r, truncated, info) = jax.device_get(run(jax.random.key(0)))
    np.testing.assert_array_equal(truncated, np.broadcast_to((np.arange(T) % 6 == 5)[:, None], (T, N)))
    stream = info["stream"]
    for episode in range(3):
        steps = slice(6 * episode, 6 * episode + 6)
        begin = o_0 if episode == 0 else stream["o_tp1"][6 * episode - 1]
        seen = [begin, *stream["o_tp1"][steps][:-1], stream["o_last"][steps][-1]]
        played = Played(np.stack(seen, axis=1), stream["a_t"][steps].T)
        by_windows = paid_by_windows(params, reward, played).T
        np.testing.assert_allclose(info["reward_intrinsic"][steps], by_windows, atol=1e-5)
    np.testing.assert_allclose(r, 2 * info["reward_intrinsic"] + info["reward_task"], atol=1e-6)
    np.testing.assert_allclose(info["nats"].sum(-1), info["reward_intrinsic"], atol=1e-5)


class Floats:
    """Observations as float32, as gymnax's MinAtar has them, and a space that asks its own parameters."""

    default_params = 3.0

    def __init__(self) -> None:
        self.env = GymnaxWorld(two_arms(num_steps=6))

    def observation_space(self, params: float) -> float:
        return 2 * params

    action_space = observation_space

    def reset(self, key: Any, params: Any) -> Any:
        o_0, state = self.env.reset(key)
        return o_0.astype(np.float32), state

    def step(self, key: Any, state: Any, action: Any, params: Any) -> Any:
        o, *rest, info = self.env.step(key, state, action)
        return o.astype(np.float32), *rest, {"final_observation": info["final_observation"].astype(np.float32)}


def test_a_gymnax_environment_whose_observations_are_others_is_paid_in_units_of_its_own_returns():
    """Against float64: R <- gamma R + r, anew with every episode, from the 0 before an environment's first step on."""
    world, N, T = two_arms(num_steps=6), 2, 14
    curiosity = make_curiosity("pe", world.frame, world.num_actions, CONFIG)
    more: dict[str, Any] = {"see": lambda o: o.astype(np.uint8), "scale": "return-std", "gamma": 0.9}
    env = CuriousGymnax(Floats(), curiosity, **more)

    @jax.jit
    def run(key):
        params, keys = env.params(curiosity.init(key, N).params), jax.random.split(key, (T + 1, N))
        _, state = jax.vmap(env.reset, in_axes=(0, None))(keys[0], params)
        step = jax.vmap(lambda key, state: env.step(key, state, cast(Any, 0), params)[1:])
        return jax.lax.scan(lambda state, key: (lambda s, *x: (s, x))(*step(key, state)), state, keys[1:])[1]

    _, _, ends, info = jax.device_get(run(jax.random.key(0)))
    R, seen = np.zeros(N), [np.zeros(N)]
    for t in range(T):
        r = info["nats"][t].sum(-1, dtype=np.float64)
        R = 0.9 * R + r
        seen.append(R)
        np.testing.assert_allclose(info["reward_intrinsic"][t], r / np.std(seen, axis=0), rtol=1e-3)
        R = np.where(ends[t], 0.0, R)
    assert info["stream"]["o_last"].dtype == np.uint8
    params = env.params(cast(Any, None))
    assert (env.observation_space(params), env.action_space(params), env.action_space(4.0)) == (6.0, 6.0, 8.0)
    with pytest.raises(NdigoError, match="unknown scale 'std'; known: return-std"):
        CuriousGymnax(Floats(), curiosity, scale="std")
    with pytest.raises(NdigoError, match=r"params is a float, expected env\.params\(state\.params, env_params\)"):
        env.reset(jax.random.key(0), cast(Any, env.default_params))


def test_options_that_no_face_can_use_are_named_as_they_were_given():
    makers: list[Any] = [lambda: Counter(3)]
    options = {
        r"updates is 0, expected a whole number of at least 1": {"updates": 0},
        r"see is 'image', expected a function of observations": {"see": "image"},
    }
    for message, option in options.items():
        with pytest.raises(NdigoError, match=message):
            CuriousVectorEnv(SyncVectorEnv(makers), "ndigo-1", FRAME, config=CONFIG, **cast(Any, option))
    several = Paymaster("ndigo-1", FRAME, 2, 1, config=CONFIG, weight=np.float64(0.5))
    several.reset(np.zeros((1, *FRAME.spec.shape), np.uint8))
    with pytest.raises(NdigoError, match=r"the environments' rewards have the shape \[1, 1\], expected \[1\]"):
        several.pay(np.zeros(1, int), np.zeros((1, *FRAME.spec.shape), np.uint8), np.zeros((1, 1)), np.zeros(1, bool))
    for space in (gymnasium.spaces.MultiBinary(2), gymnasium.spaces.MultiBinary((2, 2))):
        with pytest.raises(NdigoError, match=r"the actions are MultiBinary.*, expected Discrete\(n\) from 0 on"):
            num_discrete(space)
