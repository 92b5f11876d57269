"""What perfect knowledge is worth: the exact filter, ideal rewards and reference agents."""

from ndigo.oracle.episode import Episode, ReferenceAgent, follow, play, random_walker
from ndigo.oracle.filter import Belief, Filter, make_filter

__all__ = ["Belief", "Episode", "Filter", "ReferenceAgent", "follow", "make_filter", "play", "random_walker"]
