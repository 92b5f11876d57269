"""The world model alone as a representation: belief out, and a linear probe on top that reads what no frame shows.

python examples/belief_as_representation.py     # behind which of three doors is the light? A belief remembers.
"""

import jax
import numpy as np
from custom_world import NUM_DOORS, world

import ndigo
from ndigo.config import preset
from ndigo.interop.gymnax import GymnaxWorld

SMALL = preset("cpu", belief_size=32, num_ahead=3, window=12, batch=32, updates_per_round=500, replay_steps=40_000)


def watch(key, N=64, T=120):
    """Random walks of N streams, and behind which door the light was at each frame."""
    env = GymnaxWorld(world)

    def step(state, key):
        keys = jax.random.split(key, N + 1)
        a_t = jax.random.randint(keys[0], (N,), 0, world.num_actions)
        o_tp1, state, _, _, ends, info = jax.vmap(env.step)(keys[1:], state, a_t)
        return state, ((a_t, o_tp1, ends, info["final_observation"]), state.world.lit)

    return jax.lax.scan(step, jax.vmap(env.reset)(jax.random.split(key, N))[1], jax.random.split(key, T))[1]


def beliefs(curiosity, params, stream):
    """b_t after each frame: what `pay` carries along anyway."""

    def step(carry, x):
        carry, _, _ = curiosity.pay(params, carry, *x)
        return carry, curiosity.believe(carry)

    return jax.lax.scan(step, curiosity.start(stream[0].shape[1]), stream)[1]


def probe(x, label):
    """Share of right answers of least squares on one-hot labels: fitted on one half, asked on the other."""
    half, x = len(x) // 2, np.concatenate([x, np.ones((len(x), 1))], axis=1)
    weight, *_ = np.linalg.lstsq(x[:half], np.eye(NUM_DOORS)[label[:half]], rcond=None)
    return ((x[half:] @ weight).argmax(1) == label[half:]).mean()


def main():
    stream, lit = watch(jax.random.key(0))
    curiosity = ndigo.curiosity("random", world.frame, world.num_actions, SMALL)  # nobody is paid: the model alone
    state = curiosity.init(jax.random.key(1), lit.shape[1])
    state, _ = jax.jit(curiosity.learn)(jax.random.key(2), state, *stream)
    seen = {"frame": stream[1], "belief": jax.jit(beliefs, static_argnums=0)(curiosity, state.params, stream)}
    late = np.arange(len(lit)) % world.num_steps == 9  # the eleventh frame of each episode: most doors were open once
    label = np.asarray(lit)[late].ravel()
    return {name: probe(np.asarray(x)[late].reshape(len(label), -1), label) for name, x in seen.items()}


if __name__ == "__main__":
    print(main())
