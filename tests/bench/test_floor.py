"""The floor against the weights that are really there, and `measure` on a run too small to take long."""

from __future__ import annotations

import dataclasses

import jax
import pytest
from custom_world import world as tiny_world
from frames.frame_kinds import KINDS
from tiny_runs import TINY

from ndigo import frames
from ndigo.bench.floor import Cost, Rates, update_floor
from ndigo.bench.layers import encoder_layers, features
from ndigo.bench.timing import measure
from ndigo.config import preset
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.rewards import make_reward
from ndigo.training.learner import make_learner


def test_a_floor_waits_for_the_slower_of_arithmetic_and_bytes():
    assert Cost(operations=100, bytes=10).seconds(Rates(operations=50, bytes=1)) == 10
    assert Cost(operations=100, bytes=10).seconds(Rates(operations=5, bytes=1)) == 20


@pytest.mark.parametrize("predictor", ["open_loop", "mlp"])
def test_arithmetic_is_two_operations_for_each_weight_a_row_meets(predictor):
    config = preset("gpu", batch=3, predictor=predictor, seeds=2)
    world, reward = EXPERIMENTS["exp1"].world, make_reward("ndigo-4")
    params = jax.eval_shape(make_learner(config, world, reward).init, jax.random.key(0)).params
    num_params = sum(x.size for x in jax.tree.leaves(params))

    def core(c) -> int:
        cnn = 25 * c.encoder.conv1.weight.size + 9 * c.encoder.conv2.weight.size  # positions of a 5x5 view
        return cnn + sum(x.size for x in (c.encoder.dense.weight, c.from_features.weight, c.gru.weight))

    def mlp(m) -> int:
        return m.hidden.weight.size + m.output.weight.size

    p = params.model.predictor
    if predictor == "open_loop":
        one_step = p.gru.weight.size + mlp(p.decoder)
    else:
        one_step = (p.from_belief.size + p.output.size) / config.num_ahead  # K networks, each used once
    q = core(params.agent.core) + mlp(params.agent.value) + mlp(params.agent.advantage)
    frames = 3 * (config.window + 1)
    weights = frames * (3 * core(params.model.core) + 3 * q + q)  # the target network only looks
    weights += 3 * config.window * config.num_ahead * 3 * one_step
    weights += 3 * (config.window // config.probe_stride) * 3 * mlp(params.probe.mlp)
    expected = config.seeds * (2 * weights + 12 * num_params)
    assert update_floor(config, world, reward, num_params).operations == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["tiles", "bins", "pixels", "join"])
def test_an_encoders_layers_are_the_weights_it_has(name):
    """Of tiles the rows are picked, one per layer of a cell; all other weights are met once for each position."""
    frame = KINDS[name]
    encoder = jax.eval_shape(lambda: frame.init_encoder(jax.random.key(0), 8, 4))

    def products(frame, encoder) -> int:
        if isinstance(frame, frames.Join):
            return sum(products(part, encoder.parts[name]) for name, part in frame.parts)
        if isinstance(frame, frames.Vector):
            return encoder.dense.weight.size
        if isinstance(frame, frames.Pixels):
            return products(frame.grid, encoder.tokens)
        picked = 0 if isinstance(frame, frames.Bits) else frame.height * frame.width * len(frame.values) * 4
        cnn = encoder if isinstance(frame, frames.Bits) else encoder.cnn
        halved = -(-frame.height // 2) * -(-frame.width // 2)
        convolved = frame.height * frame.width * cnn.conv1.weight.size + halved * cnn.conv2.weight.size
        return picked + convolved + cnn.dense.weight.size

    assert sum(p * i * o for p, i, o in encoder_layers(frame, 8, 4)) == products(frame, encoder)
    assert features(frame, 8) == encoder.num_features


def test_an_agent_that_acts_at_random_has_no_network_to_train():
    config, world = preset("cpu"), EXPERIMENTS["exp1"].world
    walker, ndigo = (update_floor(config, world, make_reward(name), 0).operations for name in ("random", "ndigo-4"))
    assert walker < ndigo


@pytest.mark.parametrize(("stride", "num_frames"), [(4, 3), (5, 2), (40, 1)])
def test_the_probe_meets_the_frames_that_the_learner_picks_for_it(stride, num_frames):
    world, reward = EXPERIMENTS["exp1"].world, make_reward("pe")
    config = preset("cpu", window=11, batch=3, seeds=1, probe_stride=stride)
    params = jax.eval_shape(make_learner(config, world, reward).init, jax.random.key(0)).params
    weights = params.probe.mlp.hidden.weight.size + params.probe.mlp.output.weight.size
    unseen = dataclasses.replace(world, truth=None)
    with_probe, without = (update_floor(config, w, reward, 0).operations for w in (world, unseen))
    assert with_probe - without == 3 * num_frames * 3 * 2 * weights


def test_a_world_without_objects_has_no_probe_to_train():
    world, config = dataclasses.replace(EXPERIMENTS["exp1"].world, objects=()), preset("cpu")
    unseen = dataclasses.replace(world, truth=None)
    assert update_floor(config, world, make_reward("pe"), 0) == update_floor(config, unseen, make_reward("pe"), 0)


@pytest.mark.slow
def test_every_part_is_timed_and_rates_follow_from_the_times():
    settings = {k: v for k, v in TINY.items() if k != "preset"}
    tiny = preset(TINY["preset"], **settings)
    timings = measure(tiny, tiny_world, make_reward("ndigo-1"), repeats=2)
    names = {"iteration", "collection", "update", "sampling", "reward and Retrace", "optimiser"}
    assert names <= set(timings.parts)
    assert all(part.low <= part.ms <= part.high for part in timings.parts.values())
    trained = tiny.seeds * tiny.batch * tiny.window
    assert timings.transitions_per_s["trained"] == pytest.approx(1e3 * trained / timings.parts["update"].ms)
    assert timings.floor_ms > 0
