"""Streams: actors in a world whose episodes end by themselves, one after another.

A slot holds one frame. After a frame that ends its episode stands the first frame of the next, and the "step" between
them is none (`types.Window`). An actor goes on from round to round where it was; its belief and its network's state are
stored before every window, as of the round they were computed in (R2D2's stored states).

collector.py      what a maker of actors returns, here and for whole episodes (`training/acting.py`)
actor.py          what an actor carries, how it chooses, and what an end leaves of it
slots.py          a stretch of its stream on the device, as rows for the replay
crowd.py          all actors of a seed, exploring and greedy
hosted.py         the same streams where the world's environments are stepped by processes of the host
host_rows.py      the rows they become
host_slots.py     a stretch of such a stream: all environments step, the device decides
host_episodes.py  greedy episodes there, and what is measured of them
"""
