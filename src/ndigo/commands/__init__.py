"""The commands of `ndigo`, one file each, loaded only when called.

`ndigo.commands.NAME` has a frozen dataclass `Arguments`, whose documented fields are the command's
options, and a function `run(args)`. A new command is one such file and one line here.
"""

COMMANDS = {
    "worlds": "list the worlds, or draw one",
    "play": "walk a world with the arrow keys",
    "walk": "watch a random walker in every world, with its statistics beside the paper's",
}
