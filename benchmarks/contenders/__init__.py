"""What `benchmarks/worlds.py` compares: one file per library, each importing its library only to run."""
