"""pycolab, the library the paper used: the same world, Experiment 1, as lean as it can be written."""

from __future__ import annotations

import random
from pathlib import Path

from contenders.contender import Contender, Run

MAP = Path(__file__).parents[2] / ".bench" / "five_rooms.txt"  # the package's drawing, written by the driver
STEPS = 20_000  # in one timing, over all copies: an engine's speed does not depend on their number


def start(copies: int) -> Run:
    import numpy as np
    from pycolab import cropping, engine, things
    from pycolab.prefab_parts import sprites

    art = MAP.read_text(encoding="utf-8").strip("\n").split("\n")
    board = np.array([list(row) for row in art])
    (agent_at,) = (tuple(at) for at in np.argwhere(board == "P").tolist())
    rooms = {room: [tuple(at) for at in np.argwhere(board == room).tolist()] for room in "UD"}
    backdrop = np.where(board == "#", ord("#"), ord(" ")).astype(np.uint8)
    motions = ("_stay", "_north", "_south", "_east", "_west")

    class Agent(sprites.MazeWalker):
        def __init__(self, corner, position, character):
            super().__init__(corner, position, character, impassable="#f")

        def update(self, actions, board, layers, backdrop, things, the_plot):
            if actions is not None:
                getattr(self, motions[actions])(board, the_plot)

    class Still(things.Sprite):
        def update(self, actions, board, layers, backdrop, things, the_plot):
            pass

    class Noise(sprites.MazeWalker):
        def __init__(self, corner, position, character):
            super().__init__(corner, position, character, impassable="")

        def update(self, actions, board, layers, backdrop, things, the_plot):
            agent = things["P"].position
            at = random.choice(rooms["D"])
            while at == agent:
                at = random.choice(rooms["D"])
            self._teleport(at)

    class Copy:
        """One engine, made anew for each episode: pycolab's engines play only one."""

        def reset(self) -> None:
            self.engine = engine.Engine(*backdrop.shape, occlusion_in_layers=False)
            self.engine.set_prefilled_backdrop("# ", backdrop, things.Backdrop)
            self.engine.update_group("1")
            self.engine.add_sprite("P", agent_at, Agent)
            self.engine.update_group("2")
            self.engine.add_sprite("f", random.choice(rooms["U"]), Still)
            self.engine.add_sprite("n", random.choice(rooms["D"]), Noise)
            self.cropper = cropping.ScrollingCropper(5, 5, ["P"], pad_char="#", scroll_margins=(None, None))
            self.cropper.set_engine(self.engine)
            self.engine.its_showtime()

        def step(self, action: int) -> np.ndarray:
            layers = self.cropper.crop(self.engine.play(action)[0]).layers
            return np.stack([layers[c] for c in "#fn"], axis=-1)

    many = [Copy() for _ in range(copies)]

    def run(seed: int) -> int:
        random.seed(seed)
        total, num_rounds = 0, max(1, STEPS // copies)
        for t in range(num_rounds):
            for copy in many:
                if t % 400 == 0:
                    copy.reset()
                total += int(copy.step(random.randrange(5))[2, 2, 1])
        return num_rounds * copies

    return run


CONTENDERS = {
    "pycolab": Contender(
        "pycolab",
        "5x5x3 layers",
        "white noise, every step",
        "every 400 steps",
        start,
        requirements=("pycolab==1.2", "numpy==2.4.6"),
    )
}
