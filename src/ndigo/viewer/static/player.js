/** The player: what is shown, when, and what a person may do about it. */

import { paletteOf } from "./colours.js";
import { SPEEDS, makeTopBar, makeTransport } from "./controls.js";
import { make, setText } from "./dom.js";
import { listenToKeys, makeHelp } from "./keys.js";
import { makePane } from "./pane.js";
import { addPane, agentOptions, firstSelection, fitWorld, removePane, seedOptions, worldOptions } from "./selection.js";
import { toggleTheme, watchTheme } from "./theme.js";

const SLOWEST_SLIDE = 140; // milliseconds that a step's movement takes at most
const MOVES = { up: [-1, 0], down: [1, 0], left: [0, -1], right: [0, 1] };
const HINTS = {
  watch: "",
  wheel: "Arrow keys walk, space stays, escape gives the wheel back.",
  drop: "Click a cell, or choose it with the arrow keys and press enter.",
};

/** Builds the player inside `root`. Keys are heard on `keyTarget`. */
export async function mountPlayer(root, source, keyTarget) {
  const stillness = matchMedia("(prefers-reduced-motion: reduce)");
  const state = {
    selection: null, // {panes: [{agent, seed}], world, episode}
    t: 0,
    isPlaying: false,
    speed: 8,
    mode: "watch",
    k: 4,
    hidden: new Set(),
    truth: true,
    object: 0,
    cursor: null,
    style: 0, // grows with theme and layers
    palette: paletteOf(root),
  };
  let episodes = [];
  let panes = [];
  let slide = null; // {start, length} of a movement being shown
  let request = 0;
  let lastTick = 0;
  let owed = 0; // steps that time has earned and that are not shown yet
  let isWalking = false;

  const actions = {
    now: () => state.t,
    wake,
    toggle: () => (state.isPlaying ? pause() : play()),
    step: (by) => (pause(), go(state.t + by)),
    seek: (t) => (pause(), go(t)),
    setSpeed: (speed) => ((state.speed = speed), refresh()),
    faster: (by) => actions.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(state.speed) + by))]),
    layer(i) {
      if (i >= (episodes[0]?.sizes.N ?? 0)) return;
      state.hidden.has(i) ? state.hidden.delete(i) : state.hidden.add(i);
      restyle();
    },
    truth: () => ((state.truth = !state.truth), restyle()),
    lookAhead: (k) => ((state.k = Math.max(1, Math.min(k, episodes[0]?.sizes.K || 1))), wake()),
    lookFurther: (by) => actions.lookAhead(state.k + by),
    theme: toggleTheme,
    help: () => help.showModal(),
    setMode,
    walk,
    chooseObject(i) {
      if (i >= (episodes[0]?.sizes.N ?? 0)) return;
      state.object = i;
      state.cursor = [...episodes[0].at("objects", state.t).subarray(2 * i, 2 * i + 2)];
      bottom.chooseObject(i);
      wake();
    },
    moveCursor(way) {
      const { R, W } = episodes[0].sizes;
      const [row, col] = state.cursor.map((x, i) => x + MOVES[way][i]);
      state.cursor = [Math.max(0, Math.min(R - 1, row)), Math.max(0, Math.min(W - 1, col))];
      wake();
    },
    point(cell) {
      if (state.mode !== "drop") return;
      state.cursor = cell;
      put();
    },
    put,
    chooseWorld: (world) => choose({ world }),
    chooseEpisode: (episode) => choose({ episode: Math.max(0, Math.min(source.catalogue.last_episode, Math.floor(episode) || 0)) }),
    nextEpisode: (by) => actions.chooseEpisode(state.selection.episode + by),
    chooseAgent: (i, agent) => choose(fitWorld(source.catalogue, state.selection, i, { agent, seed: 0 })),
    chooseSeed: (i, seed) => choose({ panes: state.selection.panes.map((pane, j) => (i === j ? { ...pane, seed } : pane)) }),
    compare() {
      const change = state.selection.panes.length > 1 ? removePane : addPane;
      const panes = change(source.catalogue, state.selection);
      if (panes) choose({ panes });
    },
  };

  const top = makeTopBar(actions, source.isLive);
  const bottom = makeTransport(actions, source.isLive);
  const help = makeHelp(source.isLive);
  const message = make("span");
  const notice = make("div", { class: "notice", role: "alert", hidden: true }, message, make("button", { type: "button", onclick: () => (notice.hidden = true) }, "Close"));
  const area = make("main", { class: "panes" });
  root.replaceChildren(top.element, notice, area, bottom.element, help);
  listenToKeys(keyTarget, actions, () => state.mode, source.isLive);
  watchTheme(() => {
    state.palette = paletteOf(root);
    for (const pane of panes) pane.recolour(state.palette);
    restyle();
  });
  source.onframes = refresh;
  source.onerror = warn;
  source.onstate = (text) => (top.say(text), root.classList.toggle("offline", text !== ""));

  function warn(text) {
    setText(message, text);
    notice.hidden = false;
  }

  function restyle() {
    state.style++;
    wake();
  }

  /** Opens what is selected; the last choice wins. */
  async function choose(change) {
    pause();
    const selection = { ...state.selection, ...change };
    state.selection = selection;
    updateMenus();
    root.setAttribute("aria-busy", "true");
    top.say(source.isLive ? "preparing the agent ..." : "");
    try {
      const opened = await source.open(selection);
      if (!opened || state.selection !== selection) return;
      notice.hidden = true;
      show(opened);
    } catch (error) {
      if (state.selection === selection) warn(error.message);
    }
    top.say("");
    root.removeAttribute("aria-busy");
  }

  function show(opened) {
    const isNewWorld = episodes[0]?.meta.world !== opened[0].meta.world;
    episodes = opened;
    while (panes.length < episodes.length) panes.push(makePane(actions, panes.length));
    panes.length = episodes.length;
    area.replaceChildren(...panes.map((pane) => pane.element));
    area.dataset.panes = String(panes.length);
    updateMenus();
    panes.forEach((pane, i) => (pane.show(episodes[i]), pane.recolour(state.palette)));
    if (isNewWorld) {
      state.hidden.clear();
      state.object = 0;
    }
    bottom.shape(episodes[0].meta.objects);
    state.t = 0;
    actions.lookAhead(state.k);
    setMode(isNewWorld ? "watch" : state.mode, false);
    restyle();
    refresh();
  }

  function updateMenus() {
    const { catalogue } = source;
    const { selection } = state;
    top.update({
      worlds: worldOptions(catalogue, selection),
      world: selection.world,
      episode: selection.episode,
      lastEpisode: catalogue.last_episode,
      canCompare: selection.panes.length > 1 || addPane(catalogue, selection) !== null,
      isComparing: selection.panes.length > 1,
    });
    panes.forEach((pane, i) => {
      if (i >= selection.panes.length) return;
      pane.choices(agentOptions(catalogue, selection, i), seedOptions(catalogue, selection, i), selection.panes[i]);
    });
  }

  const last = () => Math.min(...episodes.map((episode) => episode.length)) - 1;
  const end = () => (episodes[0]?.sizes.T ?? 1) - 1;

  function play() {
    if (!episodes.length || state.isPlaying) return;
    if (state.mode !== "watch") setMode("watch", false);
    if (state.t === end()) state.t = 0;
    state.isPlaying = true;
    [lastTick, owed] = [performance.now(), 0];
    refresh();
  }

  function pause() {
    if (!state.isPlaying) return;
    state.isPlaying = false;
    refresh();
  }

  /** Shows frame t, or the nearest that is known; a live source is asked for the next. */
  function go(t) {
    if (!episodes.length) return;
    if (source.isLive && t === last() + 1 && t <= end()) source.fetchNext().then(() => t <= last() && arrive(t));
    else arrive(Math.max(0, Math.min(t, last())));
  }

  function arrive(t) {
    const isStep = t === state.t + 1 && !stillness.matches;
    slide = isStep ? { start: performance.now(), length: Math.min(SLOWEST_SLIDE, 700 / state.speed) } : null;
    state.t = t;
    if (state.mode === "drop" && !state.cursor) actions.chooseObject(state.object);
    refresh();
  }

  function setMode(mode, takesFocus = true) {
    if (!episodes.length || (!source.isLive && mode !== "watch")) return;
    if (mode !== "watch") pause();
    state.mode = mode;
    root.dataset.mode = mode;
    bottom.say(HINTS[mode]);
    if (mode === "drop") actions.chooseObject(state.object);
    else state.cursor = null;
    if (mode !== "watch" && takesFocus) panes[0].map.focus(); // so that space is a key of the map and of no button
    refresh();
  }

  async function walk(name) {
    const action = episodes[0]?.meta.actions.indexOf(name) ?? -1;
    if (isWalking || action < 0 || state.t === end()) return;
    isWalking = true;
    const t = state.t;
    try {
      await source.act(action, t);
      if (episodes[0].length === t + 2) arrive(t + 1);
    } catch (error) {
      warn(error.message);
    }
    isWalking = false;
  }

  async function put() {
    if (state.mode !== "drop" || !state.cursor) return;
    const { object, cursor, t } = state;
    try {
      await source.drop(object, cursor, t);
      notice.hidden = true;
      bottom.say(`${episodes[0].meta.objects[object].name} is at row ${cursor[0]}, column ${cursor[1]} now. P plays on.`);
      refresh();
    } catch (error) {
      warn(error.message);
    }
  }

  /** Everything that is text, and a picture soon. */
  function refresh() {
    bottom.update({ t: state.t, steps: end(), isPlaying: state.isPlaying, speed: state.speed, mode: state.mode });
    if (root.dataset.t !== String(state.t)) root.dataset.t = String(state.t);
    if (!state.isPlaying) for (const pane of panes) pane.describe(state.t);
    wake();
  }

  function wake() {
    request ||= requestAnimationFrame(tick);
  }

  function tick(now) {
    request = 0;
    if (state.isPlaying) advance(now);
    const fraction = slide ? Math.max(0, Math.min(1, (now - slide.start) / slide.length)) : 1;
    if (fraction === 1) slide = null;
    for (const pane of panes) pane.draw({ ...state, fraction });
    if (state.isPlaying || slide) wake();
  }

  function advance(now) {
    owed = Math.min(owed + ((now - lastTick) / 1000) * state.speed, 2);
    lastTick = now;
    source.play(state.t + 1);
    if (owed < 1 || state.t >= last()) {
      if (state.t === end()) pause();
      return;
    }
    const steps = Math.min(Math.floor(owed), last() - state.t);
    owed -= steps;
    arrive(state.t + steps);
  }

  try {
    await source.hello;
    await choose(firstSelection(source.catalogue));
  } catch (error) {
    warn(error.message);
  }
}
