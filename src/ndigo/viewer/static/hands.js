/** Taking part: walking the agent oneself (wheel), or moving an object behind its back (drop), in all panes alike. */

const MOVES = { up: [-1, 0], down: [1, 0], left: [0, -1], right: [0, 1] };
const HINTS = {
  watch: "",
  wheel: "Arrow keys walk, space stays, escape gives the wheel back.",
  drop: "Click a cell, or choose one by arrow keys and enter.",
};

/**
 * The actions of taking part. `player` is {state, source, episodes(), say(text), warn(text), pause(), arrive(t),
 * refresh(), wake(), takeFocus(), markObject(i)}.
 */
export function makeHands(player) {
  const { state, source } = player;
  let isWalking = false;

  function setMode(mode, takesFocus = true) {
    if (!player.episodes().length || (!source.isLive && mode !== "watch")) return;
    const { meta, sizes } = player.episodes()[0];
    if (mode === "drop" && !sizes.N) return player.warn("this world has no map to move objects on");
    if (mode !== "watch") player.pause();
    state.mode = mode;
    const walks = meta.actions.includes("up");
    player.say(mode === "wheel" && !walks ? "Keys 1 to 9 act, escape gives the wheel back." : HINTS[mode]);
    if (mode === "drop") chooseObject(state.object);
    else state.cursor = null;
    if (mode !== "watch" && takesFocus) player.takeFocus(); // so that space is a key of the map and of no button
    player.refresh();
  }

  async function walk(name) {
    const [episode] = player.episodes();
    const { t } = state;
    const action = episode?.meta.actions.indexOf(name) ?? -1;
    if (isWalking || action < 0 || t >= Math.max(...player.episodes().map(({ end }) => end))) return;
    isWalking = true;
    try {
      await source.act(action, t);
      if (player.episodes().some(({ length }) => length === t + 2)) player.arrive(t + 1);
    } catch (error) {
      player.warn(error.message);
    }
    isWalking = false;
  }

  /** Action i by its number, where the world's actions are no walk; whether it was one. */
  function act(i) {
    const { actions } = player.episodes()[0].meta;
    if (actions.includes("up") || i >= actions.length) return false;
    walk(actions[i]);
    return true;
  }

  /** The object to move; the cursor begins where it is. */
  function chooseObject(i) {
    const [episode] = player.episodes();
    if (i >= episode.sizes.N) return;
    state.object = i;
    state.cursor = [...episode.at("objects", state.t).subarray(2 * i, 2 * i + 2)];
    player.markObject(i);
    player.wake();
  }

  function moveCursor(name) {
    const { R, W } = player.episodes()[0].sizes;
    const [row, col] = state.cursor.map((x, i) => x + MOVES[name][i]);
    if (row >= 0 && row < R && col >= 0 && col < W) state.cursor = [row, col];
    player.wake();
  }

  function point(cell) {
    if (state.mode !== "drop") return;
    state.cursor = cell;
    put();
  }

  async function put() {
    const { object, cursor, t } = state;
    const { name } = player.episodes()[0].meta.objects[object];
    const isThere = (episode) => cursor.every((x, i) => x === episode.at("objects", t)[2 * object + i]);
    if (player.episodes().every(isThere)) return player.say(`${name} is there. ${HINTS.drop}`); // nothing is forgotten
    try {
      await source.drop(object, cursor, t);
      player.warn("");
      const where = `${name} is at row ${cursor[0]}, column ${cursor[1]} now`;
      player.say(`${where}; if in view, it is seen next step. P plays on.`);
    } catch (error) {
      player.say(HINTS.drop);
      player.warn(error.message);
    }
    player.refresh();
  }

  return { setMode, walk, act, chooseObject, moveCursor, point, put };
}
