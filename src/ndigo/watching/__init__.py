"""Watching one agent: recorded episodes, live sessions, films and snapshots."""
