"""Files only: run folders, checkpoints, agents. Imported by training and by everything that looks."""
