"""Runs and agents as a notebook shows them: a card, a table, a picture, an inline player."""
