"""Random: uniform actions and no reward. It trains the model and the probe like the others."""

from ndigo.rewards.reward import IntrinsicReward

RANDOM = IntrinsicReward(name="random", acts_at_random=True, reads=((1, 0.0),))
