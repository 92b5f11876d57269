"""Streams: acting in worlds whose episodes end by themselves.

An actor plays one episode after another, and goes on in the next round where it was in the last. What it sees is an
endless stream of *slots*, one frame each: the last frame of an episode, then the first frame of the next. Between those
two lies no real step (`types.Window`). A round's slots are cut into windows for the replay; each window is stored with
the belief and the Q-network's state before it, as they were then (R2D2's stored states).

collector.py      the record that makers of actors return, here and for whole episodes (`training/acting.py`)
actor.py          one actor: its state, its choice at a frame, its step to the next
slots.py          an actor's slots, played on the device and cut into windows
crowd.py          all actors of a seed, exploring and greedy; their slots as windows of the replay

The rest is for worlds whose environments are stepped by processes of the host, while the device decides and learns:

hosted.py         the trainer of such a world
host_slots.py     the environments, and the slots of actors in them
host_episodes.py  greedy episodes, and what is measured of them
"""
