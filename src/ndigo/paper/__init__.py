"""The paper, deletable as a whole: its experiments, the rows that reproduce it, tables, figures and verdicts."""
