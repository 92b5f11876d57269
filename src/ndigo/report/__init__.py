"""Intervals, tables, curves and pages of any run."""
