/**
 * Episodes played by the server as they are watched. Frames are asked for a little ahead of the play; to act at a frame
 * other than the newest, the server goes back to it and what came after is forgotten.
 *
 * All that was done is remembered in `moves`, so that a server that comes back can be brought to the same frame.
 */

import { Disconnected, connect } from "./connection.js";
import { emptyEpisode } from "./episode.js";
import { readArray } from "./payload.js";

function readFrame(packed) {
  return Object.fromEntries(
    Object.entries(packed).map(([name, value]) => [name, value?.data === undefined ? value : readArray(value).values]),
  );
}

/** The source of a live page: `ready` once the server has said what it has. The player sets what hears, `on...`. */
export function liveSource(url) {
  let episodes = [];
  let selection = null;
  let moves = []; // {t, action} or {t, drop: [object, row, col]}, in order
  let epoch = 0; // answers to questions of an earlier one come too late
  let inFlight = 0;
  let greet, turnAway;
  let hello = new Promise((resolve, reject) => ([greet, turnAway] = [resolve, reject])); // the next time it is there

  const source = {
    isLive: true,
    catalogue: null,
    onframes: () => {},
    onstate: () => {},
    onerror: () => {},
    onothers: () => {}, // the server has other agents than before
    open,
    fetchUntil,
    act,
    drop,
  };
  source.ready = hello;

  const connection = connect(url, {
    onhello({ catalogue }) {
      const isAsBefore = JSON.stringify(catalogue) === JSON.stringify(source.catalogue);
      source.catalogue = catalogue;
      greet();
      hello = new Promise((resolve) => (greet = resolve));
      if (!isAsBefore) source.onothers();
      else if (episodes.length) resume();
    },
    onstate: (text) => source.onstate(text),
    onfull: (text) => (source.catalogue ? source.onstate(text) : turnAway(new Error(text))),
  });

  const newest = () => Math.max(...episodes.map((episode) => episode.length)) - 1;
  const isOver = () => episodes.every((episode) => episode.isOver);

  /** New episodes of the agents that are selected, at their first frame. */
  async function open(wanted) {
    const mine = ++epoch;
    [selection, moves, inFlight, episodes] = [wanted, [], 0, []];
    let answer = null;
    while (!answer && mine === epoch) {
      try {
        answer = await connection.ask({ type: "open", ...wanted, moves });
      } catch (error) {
        if (!(error instanceof Disconnected)) throw error;
        await hello;
      }
    }
    if (mine !== epoch) return null;
    episodes = answer.panes.map(({ meta, walls, frame }) => {
      const { values, shape } = readArray(walls);
      const episode = emptyEpisode(meta, values, shape, frame);
      episode.put(readFrame(frame));
      return episode;
    });
    return episodes;
  }

  /** Brings a new connection to where the old one was. */
  async function resume() {
    const mine = ++epoch;
    inFlight = 0;
    try {
      await connection.ask({ type: "open", ...selection, moves });
      if (mine === epoch) source.onframes();
    } catch (error) {
      if (!(error instanceof Disconnected)) source.onerror(error.message);
    }
  }

  /** Asks, and takes in the frames that are the answer. */
  async function ask(message, move) {
    const mine = epoch;
    const answer = await connection.ask(message);
    if (mine !== epoch) return;
    moves.push(move);
    // One whose episode has ended waits, and its last frame comes again.
    answer.frames.forEach((frame, i) => (move.drop || !episodes[i].isOver) && episodes[i].put(readFrame(frame)));
    source.onframes();
  }

  /** Asks for frames by the agents' own choice, until frame t is there or on its way. */
  function fetchUntil(t) {
    if (!episodes.length || isOver()) return;
    while (newest() + inFlight < Math.min(t, episodes[0].sizes.T - 1)) fetchNext();
  }

  async function fetchNext() {
    const mine = epoch;
    const t = newest() + inFlight++;
    try {
      await ask({ type: "step", action: null }, { action: null, t });
    } catch (error) {
      // What was asked for beyond an end that nobody knew of is refused.
      if (!(error instanceof Disconnected) && mine === epoch && !isOver()) source.onerror(error.message);
    } finally {
      if (mine === epoch) inFlight--;
    }
  }

  /** Makes frame t the newest, here and on the server. */
  function rewind(t) {
    if (t === newest() && inFlight === 0) return;
    epoch++;
    inFlight = 0;
    moves = moves.filter((move) => (move.drop ? move.t <= t : move.t < t));
    for (const episode of episodes) episode.cut(t + 1);
    connection.ask({ type: "rewind", t }).catch(() => {}); // lost with the connection, and made good by `resume`
  }

  /** A person's action at frame t, for every agent. */
  async function act(action, t) {
    if (!episodes.length) return; // another episode is being opened
    rewind(t);
    await ask({ type: "step", action }, { action, t });
    for (const episode of episodes) episode.hands[t] |= 1;
  }

  async function drop(object, [row, col], t) {
    if (!episodes.length) return;
    rewind(t);
    await ask({ type: "drop", object, cell: [row, col] }, { drop: [object, row, col], t });
    for (const episode of episodes) episode.hands[t] |= 2;
  }

  return source;
}
