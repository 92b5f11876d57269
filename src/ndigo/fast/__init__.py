"""What exists for speed alone: twins of plain functions of the same names, and programs kept between commands.

Each twin is held equal to the plain one by a test over shapes and types (`tests/fast/`). The core of the package knows
them by one line of `training/twins.py`; `--plain` runs without them.
"""
