"""Many rows: a sweep read from a file, each row a run of its own, trained by an engine that a group already has."""
