"""Measures of how much of the world an agent knows and has seen. The only code that reads `truth`."""
