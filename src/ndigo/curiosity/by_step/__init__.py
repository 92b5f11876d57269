"""Pay step by step, for N streams at once: any stream can be paid as it comes.

paying.py    rewards that are sums over the table of losses, and what all pay shares
flight.py    the predictions in flight that such sums read
recent.py    any other reward, by a window of the last few steps
"""
