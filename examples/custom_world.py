"""A world of your own: one cell in view, three doors. Behind one, drawn each episode, a light is on.

ndigo train custom_world:world --minutes 1       # from this folder
"""

import equinox as eqx
import jax
import jax.numpy as jnp

import ndigo
from ndigo import frames

NUM_DOORS = 3


class State(eqx.Module):
    door: jax.Array  # the one the agent looks behind
    lit: jax.Array  # the one with the light


def step(key, state, a_t):
    return State(door=(state.door + jnp.array([0, 1, -1])[a_t]) % NUM_DOORS, lit=state.lit)


world = ndigo.World(
    name="three_doors",
    frame=frames.bits([*(f"door{i}" for i in range(NUM_DOORS)), frames.Channel("light", "one_hot")], 1),
    actions=("stay", "next", "back"),
    num_steps=12,
    reset=lambda key: State(door=jnp.int32(0), lit=jax.random.randint(key, (), 0, NUM_DOORS)),
    step=step,
    observe=lambda s: jnp.append(jnp.arange(NUM_DOORS) == s.door, s.door == s.lit).astype(jnp.uint8)[None, None],
)

if __name__ == "__main__":
    run = ndigo.train(world, "ndigo-1", preset="cpu", window=6, learner_steps=320)
    print(run.path, run.metrics()[-1]["evaluation"]["visits"])  # seeds x objects; it stops looking once it knows
