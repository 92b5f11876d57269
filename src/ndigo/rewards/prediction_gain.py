"""PG: pays for how much the last learner steps improved the prediction.

r_t = L'_{t+1|t} - L_{t+1|t},   L' under a copy of the model saved every 2 learner steps
"""

import jax
import jax.numpy as jnp

from ndigo.rewards.reward import IntrinsicReward

PERIOD = 2  # paper


def after_update(memory, model, paid, step):
    """On even steps copies the model that has just paid. So the copy is 1 or 2 updates old (0 at the first update)."""
    return jax.tree.map(lambda old, new: jnp.where(step % PERIOD == 0, new, old), memory, model)


PREDICTION_GAIN = IntrinsicReward(
    name="pg",
    remember=lambda model: model,
    after_update=after_update,
    reads=((1, -1.0),),
    reads_memory=((1, 1.0),),
    needs_float32=True,  # one Adam step is near bfloat16's spacing of the weights it moves
)
