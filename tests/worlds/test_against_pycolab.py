"""Our worlds beside pycolab, the library the paper used, step by step on the same drawing."""

import numpy as np
import pytest
from reference.episodes import recorded
from reference.pycolab_world import PycolabWorld
from reference.simulator import SIMULATORS
from rollouts import replay, world_named

from ndigo.paper.experiments import EXPERIMENTS
from ndigo.worlds import five_rooms
from ndigo.worlds.maze import DRAWING as MAZE
from ndigo.worlds.maze import LEGEND as MAZE_LEGEND


@pytest.mark.parametrize("name", SIMULATORS)
def test_positions_and_cropped_view_equal_pycolabs_at_every_step(name):
    drawn = (MAZE, MAZE_LEGEND) if name == "exp5" else (five_rooms.DRAWING, five_rooms.LEGEND)
    episodes = recorded(name)  # for their random words and actions
    world = world_named(EXPERIMENTS[name].world_name)
    ours = replay(world, episodes.reset_words, episodes.step_words, episodes.actions)
    pycolab = PycolabWorld(*drawn, SIMULATORS[name]().things)
    num_episodes, num_steps = episodes.actions.shape
    assert num_episodes * num_steps >= 4000
    for b in range(num_episodes):
        pycolab.reset(episodes.reset_words[b].tolist())
        for t in range(num_steps + 1):
            if t > 0:
                pycolab.step(episodes.step_words[b, t - 1].tolist(), int(episodes.actions[b, t - 1]))
            cells = [ours.truth.agent[b, t], *ours.truth.objects[b, t]]
            assert pycolab.positions() == [tuple(cell.tolist()) for cell in cells], (b, t)
            np.testing.assert_array_equal(pycolab.observe(), ours.observations[b, t], f"episode {b}, step {t}")
