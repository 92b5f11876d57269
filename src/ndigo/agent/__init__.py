"""The recurrent Q-agent: network, Retrace loss, exploration, replay, policies."""

from ndigo.agent.exploration import actor_epsilons, chance, draw_episode, draw_lengths
from ndigo.agent.policies import greedy_policy, random_walker
from ndigo.agent.q_network import QNetwork, q_loss
from ndigo.agent.replay import Replay, Ring, make_replay, time_first, window_starts

__all__ = [
    "QNetwork",
    "Replay",
    "Ring",
    "actor_epsilons",
    "chance",
    "draw_episode",
    "draw_lengths",
    "greedy_policy",
    "make_replay",
    "q_loss",
    "random_walker",
    "time_first",
    "window_starts",
]
