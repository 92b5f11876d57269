"""The recurrent Q-agent: network, Retrace loss, exploration, replay, policies."""

from ndigo.agent.exploration import Stretches, actor_epsilons, chance, draw_episode, draw_lengths, draw_stretches
from ndigo.agent.policies import follow, greedy_policy, random_walker
from ndigo.agent.q_network import QNetwork, q_loss
from ndigo.agent.replay import Replay, Ring, make_replay, time_first, window_starts
from ndigo.agent.retrace import rescale, retrace_targets, unscale

__all__ = [
    "QNetwork",
    "Replay",
    "Ring",
    "Stretches",
    "actor_epsilons",
    "chance",
    "draw_episode",
    "draw_lengths",
    "draw_stretches",
    "follow",
    "greedy_policy",
    "make_replay",
    "q_loss",
    "random_walker",
    "rescale",
    "retrace_targets",
    "time_first",
    "unscale",
    "window_starts",
]
