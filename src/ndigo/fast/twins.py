"""The fast functions, as the one place that chooses (`training/twins.py`) finds them."""

from ndigo.fast.compiling import compiled
from ndigo.fast.encoder import encode
from ndigo.fast.episode import joined, play
from ndigo.fast.gru import unroll
from ndigo.fast.prediction import predict
from ndigo.fast.resets import begin_where
from ndigo.types import Twins

FAST = Twins(
    encode=encode,
    unroll=unroll,
    predict=predict,
    joined=joined,
    play=play,
    begin_where=begin_where,
    compiled=compiled,
)
