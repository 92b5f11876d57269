"""What exists for speed alone: twins of plain functions of the same names, and programs kept between commands.

Each twin is held equal to the plain one by a test over shapes and types (`tests/fast/`). The rest of the package knows
them by one line of `training/twins.py`; `--plain` runs without them.
"""

from ndigo.fast.compiling import compiled
from ndigo.fast.encoder import encode
from ndigo.fast.episode import joined, play
from ndigo.fast.gru import unroll
from ndigo.fast.prediction import predict
from ndigo.types import Twins

FAST = Twins(encode=encode, unroll=unroll, predict=predict, joined=joined, play=play, compiled=compiled)
