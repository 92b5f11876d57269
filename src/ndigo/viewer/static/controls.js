/** The bar above the panes (what is watched) and the bar below (how it runs). */

import { css } from "./colours.js";
import { button, icon, iconButton, make, setOptions, setText } from "./dom.js";

export const SPEEDS = [1, 2, 4, 8, 15, 30, 60];
const USUAL = 8;
const SHORTEST = 15; // seconds that an episode takes unless someone wants it faster
const MODES = { watch: "Watch", wheel: "Take the wheel", drop: "Move an object" };
const EXACT = "What a perfect memory would know, by Bayes' rule (B)";
const WALKS = { up: "↑", left: "←", stay: "•", right: "→", down: "↓" };

/** The speed for an episode of so many steps: the usual one, or less for a short one. */
export function paceOf(steps) {
  return Math.max(SPEEDS[0], ...SPEEDS.filter((speed) => speed <= USUAL && speed * SHORTEST <= steps));
}

/** A labelled control. */
function field(label, ...controls) {
  return make("label", { class: "field" }, make("span", {}, label), ...controls);
}

export function makeTopBar(actions, isLive) {
  const world = make("select", { onchange: () => actions.chooseWorld(world.value) });
  const episode = make("input", { type: "number", min: "0", step: "1" });
  episode.addEventListener("change", () => actions.chooseEpisode(Number(episode.value)));
  const compare = button(actions.compare, { "aria-pressed": "false" }, icon("compare"), "Compare");
  const exact = button(actions.exact, { "aria-pressed": "false", title: EXACT, hidden: true }, "Exact belief");
  const state = make("span", { class: "state", role: "status" });
  const element = make(
    "header",
    { class: "top" },
    make("span", { class: "mark" }, make("b", {}, "ndigo"), isLive ? " live" : " recorded"),
    field("Experiment", world),
    make(
      "div",
      { class: "field" },
      field("Episode", episode),
      iconButton("previous", "Previous episode", () => actions.nextEpisode(-1)),
      iconButton("next", "Next episode", () => actions.nextEpisode(1)),
    ),
    compare,
    exact,
    make(
      "div",
      { class: "icons" },
      state,
      iconButton("theme", "Dark or light", actions.theme),
      iconButton("?", "Help", actions.help),
    ),
  );

  /** view: {worlds, world, episode, lastEpisode, isComparing, canCompare}. */
  function update(view) {
    setOptions(world, view.worlds, view.world);
    episode.max = String(view.lastEpisode);
    episode.value = String(view.episode);
    compare.hidden = !view.canCompare;
    compare.setAttribute("aria-pressed", String(view.isComparing));
  }

  /** view: {isExact, hasExact}. */
  function mark(view) {
    exact.hidden = !view.hasExact;
    exact.setAttribute("aria-pressed", String(view.isExact));
  }

  return { element, update, mark, say: (text) => setText(state, text) };
}

export function makeTransport(actions, isLive) {
  const play = iconButton("play", "Play", actions.toggle);
  const time = make("output", { class: "time", "aria-live": "off" });
  const speed = make("select", { "aria-label": "Steps per second", title: "Steps per second (+ and −)" });
  speed.addEventListener("change", () => actions.setSpeed(Number(speed.value)));
  setOptions(speed, SPEEDS.map((s) => ({ value: s, label: `${s}/s` })), USUAL);
  const modes = Object.entries(MODES).map(([mode, label]) =>
    button(() => actions.setMode(mode), { "data-mode": mode, "aria-pressed": "false" }, label),
  );
  const group = make("div", { class: "group modes", role: "group", "aria-label": "What the keys do" }, ...modes);
  const pad = make("div", { class: "pad", role: "group", "aria-label": "Walk" });
  const objects = make("div", { class: "group objects", role: "group", "aria-label": "Object to move" });
  const hint = make("span", { class: "hint", role: "status" });
  const element = make(
    "footer",
    { class: "transport" },
    make(
      "div",
      { class: "group", role: "group", "aria-label": "Play" },
      iconButton("restart", "From the start (Home)", () => actions.seek(0)),
      iconButton("back", "One step back", () => actions.step(-1)),
      play,
      iconButton("forward", "One step on", () => actions.step(1)),
    ),
    make(
      "div",
      { class: "group", role: "group", "aria-label": "Moments" },
      iconButton("earlier", "The moment before (,)", () => actions.moment(-1)),
      iconButton("later", "The next moment (.)", () => actions.moment(1)),
    ),
    time,
    speed,
    isLive ? group : "",
    pad,
    objects,
    hint,
  );

  /** view: {t, steps, isPlaying, speed, mode, objects, object}. */
  function update(view) {
    setText(time, `step ${view.t} of ${view.steps}`);
    if (play.dataset.playing !== String(view.isPlaying)) {
      play.dataset.playing = String(view.isPlaying);
      play.replaceChildren(icon(view.isPlaying ? "pause" : "play"));
      play.setAttribute("aria-label", view.isPlaying ? "Pause" : "Play");
      play.title = view.isPlaying ? "Pause (space)" : "Play (space)";
    }
    if (speed.value !== String(view.speed)) speed.value = String(view.speed);
    for (const choice of modes) {
      const isOn = String(choice.dataset.mode === view.mode);
      if (choice.getAttribute("aria-pressed") !== isOn) choice.setAttribute("aria-pressed", isOn);
    }
    pad.hidden = view.mode !== "wheel";
    objects.hidden = view.mode !== "drop";
  }

  /** The buttons of one world: walking, where that is what its actions do, or each action by its name. */
  function shape({ objects: things, actions: names }) {
    const walks = Object.keys(WALKS).every((name) => names.includes(name))
      ? Object.entries(WALKS).map(([name, sign]) => [name, sign, name === "stay" ? "stay" : `walk ${name}`])
      : names.map((name) => [name, null, name]);
    pad.replaceChildren(
      ...walks.map(([name, sign, label]) =>
        sign ? iconButton(sign, label, () => actions.walk(name)) : button(() => actions.walk(name), {}, label),
      ),
    );
    const drop = modes.find((choice) => choice.dataset.mode === "drop");
    if (!things.length) drop.remove(); // there is nothing to move
    else if (!group.contains(drop)) group.append(drop);
    objects.replaceChildren(
      ...things.map((object, i) => {
        const swatch = make("span", { class: "swatch" }, object.label);
        swatch.style.background = css(object.colour);
        const name = make("span", { class: "name" }, object.name);
        return button(() => actions.chooseObject(i), { "aria-pressed": "false", title: object.name }, swatch, name);
      }),
    );
  }

  function chooseObject(i) {
    [...objects.children].forEach((choice, j) => choice.setAttribute("aria-pressed", String(i === j)));
  }

  return { element, update, shape, chooseObject, say: (text) => setText(hint, text) };
}
