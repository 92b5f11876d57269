"""Measures of how much of the world an agent knows and has seen. No learner reads `truth`."""
