"""The commands of `ndigo`, one file each, loaded only when called.

`ndigo.commands.NAME` has a frozen dataclass `Arguments`, whose documented fields are the command's
options, and a function `run(args)`, which returns an exit code or None for 0. A command whose defaults
depend on its words also has `defaults(words)`; `GROUPS` are its options in groups, of which --help shows
the first. A new command is one such file and one line here.
"""

COMMANDS = {
    "discover": "train an agent for minutes; compare it with Random and the paper",
    "train": "train an agent in a world, or continue a run",
    "sweep": "train many rows of settings, here, on Ray or on Slurm",
    "evaluate": "measure what a trained agent sees and knows",
    "audit": "compare what an agent's model pays with what a perfect one would",
    "reproduce": "remake rows of the paper's tables, and compare; the cost first",
    "report": "compare runs with the paper, and draw their curves",
    "view": "watch agents on a page, what they believe beside the world",
    "export": "write an agent's episodes as a page, a film, a figure or numbers",
    "bench": "time training on this machine, part by part, beside its floor",
    "worlds": "list the worlds, or draw one",
    "play": "walk a world with the arrow keys",
    "walk": "watch a random walker in every world, beside the paper's numbers",
}
