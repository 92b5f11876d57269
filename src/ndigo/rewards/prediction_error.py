"""PE: pays what the model did not expect. White noise pays for ever.

r_t = L_{t+1|t}
"""

from ndigo.rewards.reward import IntrinsicReward

PREDICTION_ERROR = IntrinsicReward(name="pe", reads=((1, 1.0),))
