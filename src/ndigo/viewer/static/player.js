/** The player: what is shown, when, and what a person may do about it. */

import { paletteOf } from "./colours.js";
import { SPEEDS, makeTopBar, makeTransport, paceOf } from "./controls.js";
import { fill, make } from "./dom.js";
import { makeHands } from "./hands.js";
import { listenToKeys, makeHelp } from "./keys.js";
import { makeMessages } from "./messages.js";
import { makePane } from "./pane.js";
import { addPane, firstSelection, fitAgents, fitWorld, optionsOf, removePane, worldOptions } from "./selection.js";
import { toggleTheme, watchTheme } from "./theme.js";

const AHEAD = 5; // frames that a live source fetches before they are shown, so that no step waits for its answer
const SLOWEST_SLIDE = 140; // milliseconds that a step's movement takes at most
const WIDE = 1100; // pixels from which a single agent has the exact belief beside its own

const within = (x, low, high) => Math.max(low, Math.min(high, x));
const PREPARING = "preparing the agent: compiling takes some ten seconds the first time ...";

/** Builds the player inside `root`. Keys are heard on `keyTarget`. */
export async function mountPlayer(root, source, keyTarget) {
  const stillness = matchMedia("(prefers-reduced-motion: reduce)");
  const state = {
    selection: null, // {panes: [{agent, seed}], world, episode}
    t: 0,
    isPlaying: false,
    speed: SPEEDS[0], // steps per second
    chosen: null, // the speed that a person chose
    mode: "watch",
    k: 4,
    hidden: new Set(),
    truth: true,
    exact: null, // whether the exact belief is shown; null: where there is room
    object: 0,
    cursor: null,
    style: 0, // grows with theme and layers
    palette: paletteOf(root),
  };
  let [episodes, panes] = [[], []];
  let slide = null; // {start, length} of a movement being shown
  let goal = null; // the frame to show once a live source has it
  let [request, lastTick] = [0, 0];
  let owed = 0; // steps that time has earned and that are not shown yet
  let isFirst = true; // nothing has been opened yet

  const { warn, wait, elements: said } = makeMessages(root, () => episodes.length > 0);

  const actions = {
    wake,
    toggle: () => (state.isPlaying ? pause() : play()),
    step: (by) => (pause(), go(state.t + by)),
    seek: (t) => (pause(), go(t)),
    setSpeed: (speed) => ((state.speed = state.chosen = speed), refresh()),
    faster: (by) => actions.setSpeed(SPEEDS[within(SPEEDS.indexOf(state.speed) + by, 0, SPEEDS.length - 1)]),
    layer(i) {
      if (i >= (episodes[0]?.sizes.N ?? 0)) return;
      state.hidden.has(i) ? state.hidden.delete(i) : state.hidden.add(i);
      restyle();
    },
    truth: () => ((state.truth = !state.truth), restyle()),
    exact() {
      if (!episodes.some((episode) => episode.fields.exact)) return warn("no exact belief is known in this world");
      state.exact = !isExact();
      rearrange();
    },
    /** To the next moment (1) or the one before (-1), of any agent shown. */
    moment(by) {
      const all = panes.flatMap((pane) => pane.moments.map(({ t }) => t)).sort((a, b) => by * (a - b));
      const next = all.find((t) => by * (t - state.t) > 0);
      if (next !== undefined) actions.seek(next);
    },
    lookAhead: (k) => ((state.k = within(k, 1, episodes[0]?.sizes.K || 1)), wake()),
    lookFurther: (by) => actions.lookAhead(state.k + by),
    theme: toggleTheme,
    help: () => help.showModal(),
    chooseWorld: (world) => choose(fitAgents(source.catalogue, state.selection, world)),
    chooseEpisode(number) {
      const { least_episode: least = 0, last_episode: last } = source.catalogue;
      choose({ episode: within(Math.floor(number) || 0, least, last) });
    },
    nextEpisode: (by) => actions.chooseEpisode(state.selection.episode + by),
    chooseAgent: (i, agent) => choose(fitWorld(source.catalogue, state.selection, i, { agent, seed: 0 })),
    // Earlier steps are kept of the first seed alone: another seed is its newest, and a step is the first seed's.
    chooseSeed: (i, seed) => choosePane(i, ({ agent }) => ({ agent, seed })),
    chooseStep: (i, step) => choosePane(i, ({ agent }) => ({ agent, seed: 0, step })),
    compare() {
      const change = state.selection.panes.length > 1 ? removePane : addPane;
      const panes = change(source.catalogue, state.selection);
      if (panes) choose({ panes });
      else warn("there is one agent here, and none to compare it with: name two, or a folder of them");
    },
  };

  const hands = makeHands({
    state,
    source,
    episodes: () => episodes,
    say: (text) => bottom.say(text),
    warn,
    pause,
    arrive,
    refresh,
    wake,
    takeFocus: () => panes[0].map.focus(),
    markObject: (i) => bottom.chooseObject(i),
  });
  Object.assign(actions, hands);
  const top = makeTopBar(actions, source.isLive);
  const bottom = makeTransport(actions, source.isLive);
  const help = makeHelp(source.isLive);
  const area = make("main", { class: "panes" });
  root.replaceChildren(top.element, make("div", { class: "room" }, area, ...said), bottom.element, help);
  wait("connecting to ndigo ...");
  listenToKeys(keyTarget, actions, () => state.mode, source.isLive);
  watchTheme(() => {
    state.palette = paletteOf(root);
    for (const pane of panes) pane.recolour(state.palette);
    restyle();
  });
  source.onframes = () => {
    if (goal !== null && goal <= last()) arrive(goal);
    else refresh();
  };
  source.onothers = () => state.selection && choose(firstSelection(source.catalogue));
  source.onerror = warn;
  source.onstate = (text) => (top.say(text), root.classList.toggle("offline", text !== ""));

  /** Whether the exact belief is shown, if there is one. */
  const isExact = () => state.exact ?? (episodes.length === 1 && root.clientWidth >= WIDE);

  let wasExact = false;
  function rearrange() {
    wasExact = isExact();
    top.mark({ isExact: wasExact, hasExact: episodes.some((episode) => episode.fields.exact) });
    for (const pane of panes) pane.arrange(wasExact);
    restyle();
  }
  new ResizeObserver(() => episodes.length && wasExact !== isExact() && rearrange()).observe(root);

  function restyle() {
    state.style++;
    wake();
  }

  const choosePane = (i, change) =>
    choose({ panes: state.selection.panes.map((pane, j) => (i === j ? change(pane) : pane)) });

  /** Opens what is selected; the last choice wins. */
  async function choose(change) {
    // A page that is nothing but this player plays at once, unless the person wants things still.
    const plays = isFirst ? keyTarget === document && !stillness.matches : state.isPlaying;
    pause();
    const selection = { ...state.selection, ...change };
    state.selection = selection;
    updateMenus();
    wait(source.isLive ? PREPARING : "reading the episode ...");
    try {
      const opened = await source.open(selection);
      if (!opened || state.selection !== selection) return;
      warn("");
      show(opened);
      isFirst = false;
      if (plays) play();
    } catch (error) {
      if (state.selection === selection) warn(error.message);
    }
    if (state.selection === selection) wait("");
  }

  function show(opened) {
    const isNewWorld = episodes[0]?.meta.world !== opened[0].meta.world;
    episodes = opened;
    while (panes.length < episodes.length) panes.push(makePane(actions, panes.length));
    panes.length = episodes.length;
    fill(area, panes.map((pane) => pane.element));
    area.dataset.panes = String(panes.length);
    updateMenus();
    panes.forEach((pane, i) => (pane.show(episodes[i]), pane.recolour(state.palette)));
    if (isNewWorld) {
      state.hidden.clear();
      state.object = 0;
    }
    bottom.shape(episodes[0].meta);
    [state.t, state.speed] = [0, state.chosen ?? paceOf(end())];
    actions.lookAhead(state.k);
    hands.setMode(isNewWorld ? "watch" : state.mode, false);
    rearrange();
    refresh();
  }

  function updateMenus() {
    const { catalogue } = source;
    const { selection } = state;
    top.update({
      worlds: worldOptions(catalogue),
      world: selection.world,
      episode: selection.episode,
      lastEpisode: catalogue.last_episode,
      canCompare: selection.panes.length > 1 || addPane(catalogue, selection) !== null,
      isComparing: selection.panes.length > 1,
    });
    panes.forEach((pane, i) => {
      if (i >= selection.panes.length) return;
      pane.choices(optionsOf(catalogue, selection, i), selection.panes[i]);
    });
  }

  /** The newest frame that all know; one whose episode has ended waits in its last. */
  function last() {
    const going = episodes.filter((episode) => !episode.isOver);
    const lengths = (going.length ? going : episodes).map((episode) => episode.length);
    return (going.length ? Math.min(...lengths) : Math.max(...lengths)) - 1;
  }
  const end = () => (episodes.length ? Math.max(...episodes.map((episode) => episode.end)) : 0);

  function play() {
    if (!episodes.length || state.isPlaying) return;
    if (state.mode !== "watch") hands.setMode("watch", false);
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
    goal = source.isLive && t > last() && t !== Infinity ? Math.min(t, end()) : null;
    if (goal === null) arrive(within(t, 0, last()));
    else source.fetchUntil(goal);
  }

  function arrive(t) {
    const isStep = t === state.t + 1 && !stillness.matches;
    slide = isStep ? { start: performance.now(), length: Math.min(SLOWEST_SLIDE, 700 / state.speed) } : null;
    state.t = t;
    goal = null;
    refresh();
  }

  /** Everything that is text, and a picture soon. */
  function refresh() {
    bottom.update({ t: state.t, steps: end(), isPlaying: state.isPlaying, speed: state.speed, mode: state.mode });
    if (root.dataset.mode !== state.mode) root.dataset.mode = state.mode;
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
    const fraction = slide ? within((now - slide.start) / slide.length, 0, 1) : 1;
    if (fraction === 1) slide = null;
    for (const pane of panes) pane.draw({ ...state, fraction });
    if (state.isPlaying || slide) wake();
  }

  function advance(now) {
    owed = Math.min(owed + ((now - lastTick) / 1000) * state.speed, 2);
    lastTick = now;
    source.fetchUntil(state.t + AHEAD);
    if (owed < 1 || state.t >= last()) {
      if (state.t >= end()) pause();
      return;
    }
    const steps = Math.min(Math.floor(owed), last() - state.t);
    owed -= steps;
    arrive(state.t + steps);
  }

  try {
    await source.ready;
    await choose(firstSelection(source.catalogue));
    const { panes, world } = state.selection;
    if (source.catalogue.compare && panes.length < 2) warn(`no other agent that was named fits ${world}`);
  } catch (error) {
    wait("");
    warn(error.message);
  }
}
