"""How fast a world model begins to read its frames: `python studies/features/run.py [WORLD ...]`.

A model of the preset `gpu` learns from the first steps of episodes of a random walker, with its features normalised and
as the CNN gives them: no agent, no reward. Kept are the nats of the next frame, means over 100 updates, in losses.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ndigo.agent.policies import random_walker
from ndigo.config import Config
from ndigo.frames.cnn import Encoder, LayerNorm, init_norm
from ndigo.frames.tiles import TileEncoder
from ndigo.interop.finding import find_world
from ndigo.model import WorldModel, init_world_model, make_likelihood, prediction_loss
from ndigo.worlds import World
from ndigo.worlds.rollout import rollout

FILE = Path(__file__).with_name("losses.json")
WORLDS = ("navix::Navix-KeyCorridorS3R3-v0", "craftax::Craftax-Classic-Symbolic-v1", "exp3", "maze")
STEPS, WINDOW, BATCH, AHEAD = 3_000, 16, 16, 2
EPISODES, EACH, MEAN_OF = 1_024, 32, 100


def walks(world: World) -> tuple[np.ndarray, np.ndarray]:
    """A random walker's episodes: packed frames [episodes, T+1, ...] and actions [episodes, T]."""
    policy = random_walker(world)

    @jax.jit
    @jax.vmap
    def walk(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = rollout(world, policy, key)
        return jax.vmap(world.frame.pack)(found.o_t), found.a_t

    keys = jax.random.split(jax.random.key(0), EPISODES).reshape(-1, EACH)
    each = [walk(some) for some in keys]
    return np.concatenate([o for o, _ in each]), np.concatenate([a for _, a in each])


class Normalised(eqx.Module):
    """The encoder of bits with what that of tiles has at its end."""

    cnn: Encoder
    norm: LayerNorm

    def __call__(self, o_t: jax.Array) -> jax.Array:
        return self.norm(self.cnn(o_t))


def with_norm(encoder: Any) -> Any:
    return Normalised(encoder, init_norm(encoder.num_features)) if isinstance(encoder, Encoder) else encoder


def without_norm(encoder: Any) -> Any:
    """The encoder, with the features of tiles as their CNN gives them."""

    def strip(x: Any) -> Any:
        return eqx.tree_at(lambda e: e.norm, x, lambda z_t: z_t) if isinstance(x, TileEncoder) else x

    return jax.tree.map(strip, encoder, is_leaf=lambda x: isinstance(x, TileEncoder))


KINDS = {"as they come": without_norm, "normalised": with_norm}


def make_model(world: World, kind: str, seed: int) -> WorldModel:
    sizes = Config()
    model = init_world_model(
        jax.random.key(seed),
        frame=world.frame,
        num_actions=world.num_actions,
        likelihood=make_likelihood("categorical", world.frame),
        predictor="open_loop",
        num_ahead=AHEAD,
        num_features=sizes.num_features,
        num_filters=sizes.num_filters,
        belief_size=sizes.belief_size,
        num_hidden=sizes.predictor_hidden,
    )
    return eqx.tree_at(lambda m: m.core.encoder, model, KINDS[kind](model.core.encoder))


def losses(world: World, kind: str, seed: int, frames: np.ndarray, actions: np.ndarray) -> Iterator[float]:
    """The nats of the next frame, of one update after the other."""
    optimiser = optax.adam(Config().model_rate)
    weights, rest = eqx.partition(make_model(world, kind, seed), eqx.is_inexact_array)

    def loss_of(weights: Any, o_t: Any, a_t: jax.Array) -> tuple[jax.Array, jax.Array]:
        model, o_t = eqx.combine(weights, rest), world.frame.unpack(o_t)
        a_tm1 = jnp.concatenate([jnp.zeros_like(a_t[:1]), a_t])
        b_t = model.core.unroll(model.core.encoder(o_t), a_tm1, jnp.zeros((BATCH, model.core.size)))
        loss_tk = model.losses(b_t[:-1], a_t, jax.tree.map(lambda x: x[1:], o_t), AHEAD)
        return prediction_loss(loss_tk), loss_tk[:, 0].sum(axis=-1).mean()

    @jax.jit
    def update(weights: Any, moments: Any, o_t: Any, a_t: jax.Array) -> tuple[Any, Any, jax.Array]:
        (_, next_frame), slope = jax.value_and_grad(loss_of, has_aux=True)(weights, o_t, a_t)
        change, moments = optimiser.update(slope, moments)
        return optax.apply_updates(weights, change), moments, next_frame

    moments, rng = optimiser.init(weights), np.random.default_rng(seed)
    for _ in range(STEPS):
        chosen = rng.integers(0, len(actions), BATCH)
        o_t, a_t = (jnp.asarray(np.swapaxes(x[chosen], 0, 1)) for x in (frames, actions))
        weights, moments, next_frame = update(weights, moments, o_t, a_t)
        yield float(next_frame)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="*", metavar="WORLD", default=WORLDS)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    for name in args.worlds:
        world = replace(find_world(name), num_steps=WINDOW)
        frames, actions = walks(world)
        of_world = {}
        for kind in KINDS:
            each = [list(losses(world, kind, seed, frames, actions)) for seed in range(args.seeds)]
            of_world[kind] = np.reshape(each, (args.seeds, -1, MEAN_OF)).mean(axis=-1).round(3).tolist()
            print(f"{name}, {kind}: {of_world[kind]}", flush=True)
        kept = json.loads(FILE.read_text()) if FILE.exists() else {}
        FILE.write_text(json.dumps(kept | {name: of_world}, indent=1) + "\n")


if __name__ == "__main__":
    main()
