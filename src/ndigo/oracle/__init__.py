"""What perfect knowledge is worth: the exact filter, ideal rewards and reference agents."""

from ndigo.oracle.exactness import exact_horizon
from ndigo.oracle.filter import Belief, Filter, make_filter
from ndigo.oracle.predictive import Nats, predict_nats, predict_views
from ndigo.oracle.quantities import Knowledge, ideal_table, information_gain, knowledge
from ndigo.oracle.reference_agents import greedy, planner
from ndigo.oracle.search import SearchPath, search_path, seek_path

__all__ = [
    "Belief",
    "Filter",
    "Knowledge",
    "Nats",
    "SearchPath",
    "exact_horizon",
    "greedy",
    "ideal_table",
    "information_gain",
    "knowledge",
    "make_filter",
    "planner",
    "predict_nats",
    "predict_views",
    "search_path",
    "seek_path",
]
