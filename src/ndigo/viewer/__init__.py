"""Watching an agent: a local page with a live session behind it, and the same player as one file."""
