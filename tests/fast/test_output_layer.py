"""The output layer's one pass is the loss of its logits, with JAX's own gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_weights import random_weights
from small_frames import bits_of

from ndigo import frames
from ndigo.fast.prediction import output_loss
from ndigo.networks import Linear, lower

TILES = frames.tiles((3, 2), 2, 3)
BITS = bits_of(3, ("binary", "one_hot"))
FRAMES = {
    "tiles": TILES,
    "listed tiles": frames.tiles((3, 2), 2, 3, listed=[(0, 0), (2, 1)]),
    "join": frames.join(map=TILES, pocket=frames.vector(2, low=0.0, high=1.0, bins=4)),
    "join of a join": frames.join(both=frames.join(mobs=frames.tiles((4,), 2, 3), map=TILES), view=BITS),
}


def frames_of(frame: frames.Frame, rng: np.random.Generator, lead: tuple[int, ...]):
    """Packed bytes are any, and unpacked into what the frame can show."""
    packed = jax.eval_shape(lambda: frame.pack(frames.empty(frame)))
    return frame.unpack(jnp.asarray(rng.integers(2, size=(*lead, *packed.shape)), packed.dtype))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.02)])  # which keeps 8 bits
@pytest.mark.parametrize("name", FRAMES)
def test_loss_and_gradients_are_those_that_jax_derives(name, dtype, tolerance):
    rng, lead, num_hidden = np.random.default_rng(0), (2, 5), 6
    likelihood = FRAMES[name].likelihood()
    target = likelihood.target(frames_of(FRAMES[name], rng, lead))
    output = lower(random_weights(lambda key: Linear(key, num_hidden, likelihood.num_outputs)), dtype)
    x = jnp.asarray(rng.normal(size=(*lead, num_hidden)), dtype)
    weight = jnp.asarray(rng.uniform(size=lead), jnp.float32)

    def plain(output, x):
        loss = likelihood.nats(output.in_float32(x), target)
        return (loss.sum(axis=-1) * weight).sum(), loss

    def ours(output, x):
        return output_loss(likelihood, output, x, target, weight)

    def gradient(form):
        return jax.value_and_grad(lambda *of: (lambda total, loss: (3 * total, loss))(*form(*of)), (0, 1), has_aux=True)

    one, two = jax.jit(lambda *of: (gradient(ours)(*of), gradient(plain)(*of)))(output, x)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        assert a.dtype == b.dtype
        a, b = (np.asarray(v, np.float64) for v in (a, b))
        assert np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b)
