"""The commands of `ndigo`, one file each, loaded only when called.

`ndigo.commands.NAME` has a frozen dataclass `Arguments`, whose documented fields are the command's
options, and a function `run(args)`, which returns an exit code or None for 0. A command whose defaults
depend on its words also has `defaults(words)`. A new command is one such file and one line here.
"""

COMMANDS = {
    "discover": "train an agent for some minutes and compare it with Random and the paper",
    "train": "train an agent in a world, or continue a run",
    "sweep": "train many rows of settings, here, on Ray or on Slurm, and say how far they are",
    "evaluate": "measure what a trained agent sees and knows",
    "audit": "compare what an agent's model pays with what a perfect one would",
    "reproduce": "remake rows of the paper's tables, with their cost before and a comparison after",
    "report": "compare runs with the paper, and draw their curves",
    "view": "watch agents on a local page, the world they believe in beside the real one",
    "export": "write a trained agent's episodes as a page, a film, a figure or numbers",
    "bench": "time training on this machine, part by part, beside its floor",
    "worlds": "list the worlds, or draw one",
    "play": "walk a world with the arrow keys",
    "walk": "watch a random walker in every world, with its statistics beside the paper's",
}
