"""The recurrent Q-agent: network, Retrace loss, replay."""

from ndigo.agent.q_network import QNetwork, actor_epsilons, q_loss
from ndigo.agent.replay import Replay, Rows, make_replay, pack, unpack, window_starts
from ndigo.agent.retrace import rescale, retrace_targets, unscale

__all__ = [
    "QNetwork",
    "Replay",
    "Rows",
    "actor_epsilons",
    "make_replay",
    "pack",
    "q_loss",
    "rescale",
    "retrace_targets",
    "unpack",
    "unscale",
    "window_starts",
]
