"""The experiments as pycolab games (the library the paper used), built from a drawing.

pycolab moves the agent, repaints the board, then moves the objects: two update groups. What blocks
whom is read from the painted board by `MazeWalker`; the view is a `ScrollingCropper`'s. Random
choices come from given words, as in `reference.simulator`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from pycolab import cropping, engine, things
from pycolab.prefab_parts import sprites
from reference.simulator import Thing, choose

AGENT, WALL, CORRIDOR = "P", "#", " "
MOTIONS = ("_stay", "_north", "_south", "_east", "_west")  # by action; without the first: by direction
OPPOSITE = {"_north": "_south", "_south": "_north", "_east": "_west", "_west": "_east"}
OBJECTS = "abcdefgh"  # the characters that stand for objects on the board


class PycolabWorld:
    """One episode at a time; a pycolab engine plays only one."""

    def __init__(self, drawing: str, legend: Mapping[str, str], objects: list[Thing], view: int = 5):
        self.rows = drawing.strip("\n").split("\n")
        self.legend, self.objects, self.view = legend, objects, view
        board = np.array([list(row) for row in self.rows])
        (self.start,) = np.argwhere(board == AGENT).tolist()
        board[board == AGENT] = board[self.start[0], self.start[1] - 1]
        self.backdrop = board.view(np.uint32).astype(np.uint8)
        self.cells = {room: [(int(r), int(c)) for r, c in np.argwhere(board == char)] for char, room in legend.items()}

    def reset(self, words: list[int]) -> None:
        draws = iter(words)
        self.engine = engine.Engine(*self.backdrop.shape, occlusion_in_layers=False)
        characters = "".join([WALL, CORRIDOR, *self.legend])
        self.engine.set_prefilled_backdrop(characters, self.backdrop, things.Backdrop)
        chars = OBJECTS[: len(self.objects)]
        blocking = [char for char, thing in zip(chars, self.objects, strict=True) if thing.kind != "white_noise"]
        self.engine.update_group("1 agent")
        self.engine.add_sprite(AGENT, tuple(self.start), Walker, [WALL, *blocking])
        self.engine.update_group("2 objects")
        for char, thing in zip(chars, self.objects, strict=True):
            cells = [cell for room in thing.rooms for cell in self.cells[room]]
            cells = [cell for cell in cells if not (thing.spares_mouths and self._is_mouth(cell))]
            start = choose(next(draws), cells)
            room = next(self.cells[room] for room in thing.rooms if start in self.cells[room])
            self.engine.add_sprite(char, start, SPRITES[thing.kind], room, draws)
        self.cropper = cropping.ScrollingCropper(
            self.view, self.view, [AGENT], pad_char=WALL, scroll_margins=(None, None)
        )
        self.cropper.set_engine(self.engine)
        self._keep(self.engine.its_showtime())

    def step(self, words: list[int], action: int) -> None:
        self.engine.the_plot["draws"] = iter(words)
        self._keep(self.engine.play(action))

    def observe(self) -> np.ndarray:
        layers = [self.crop.layers[char] for char in (WALL, *OBJECTS[: len(self.objects)])]
        return np.stack(layers, axis=-1).astype(np.uint8)

    def positions(self) -> list[tuple[int, int]]:
        """Of the agent, then of every object."""
        return [tuple(self.engine.things[char].position) for char in (AGENT, *OBJECTS[: len(self.objects)])]

    def _keep(self, played) -> None:
        observation, reward, _ = played
        assert reward is None  # these worlds pay nothing
        self.crop = self.cropper.crop(observation)

    def _is_mouth(self, cell: tuple[int, int]) -> bool:
        r, c = cell
        around = self.backdrop[[r - 1, r + 1, r, r], [c, c, c - 1, c + 1]]
        return bool((around == ord(CORRIDOR)).any())


class Walker(sprites.MazeWalker):
    """The agent; it tells the plot what it bumped into."""

    def __init__(self, corner, position, character, impassable):
        super().__init__(corner, position, character, impassable)

    def update(self, actions, board, layers, backdrop, things, the_plot):
        if actions is not None:
            the_plot["bumped"] = getattr(self, MOTIONS[actions])(board, the_plot)


class InRoom(sprites.MazeWalker):
    """An object: walls, doors (blank cells) and the agent stop it."""

    def __init__(self, corner, position, character, room, draws: Iterator[int]):
        super().__init__(corner, position, character, impassable=[WALL, CORRIDOR, AGENT])
        self.room = room
        self.begin(draws)

    def begin(self, draws: Iterator[int]) -> None:
        pass

    def update(self, actions, board, layers, backdrop, things, the_plot):
        if actions is not None:
            self.agent = tuple(things[AGENT].position)
            self.move(board, the_plot)

    def move(self, board, the_plot) -> None:
        pass


class Bouncing(InRoom):
    def begin(self, draws):
        self.motion = choose(next(draws), MOTIONS[1:])

    def move(self, board, the_plot):
        if getattr(self, self.motion)(board, the_plot):  # what stopped it, if anything did
            self.motion = OPPOSITE[self.motion]
            getattr(self, self.motion)(board, the_plot)


class Brownian(InRoom):
    def move(self, board, the_plot):
        getattr(self, choose(next(the_plot["draws"]), MOTIONS[1:]))(board, the_plot)


class WhiteNoise(InRoom):
    def move(self, board, the_plot):
        self._teleport(choose(next(the_plot["draws"]), [cell for cell in self.room if cell != self.agent]))


class Movable(InRoom):
    def move(self, board, the_plot):
        word = next(the_plot["draws"])
        if the_plot["bumped"] == self.character:
            taken = (tuple(self.position), self.agent)
            self._teleport(choose(word, [cell for cell in self.room if cell not in taken]))


SPRITES = {
    "fixed": InRoom,
    "bouncing": Bouncing,
    "brownian": Brownian,
    "white_noise": WhiteNoise,
    "movable": Movable,
}
