/** One agent: its maps, views, numbers and timeline, each drawn only when what it shows has changed. */

import { WEIGHT, css, mixed } from "./colours.js";
import { make, setOptions, setText } from "./dom.js";
import { beliefMap, worldMap } from "./maps.js";
import { makeNumbers } from "./numbers.js";
import { makeTimeline } from "./timeline.js";
import { expectedView, seenView } from "./views.js";

function figure(name, title, draw, attributes = {}) {
  const canvas = make("canvas", { role: "img", "aria-label": title, ...attributes });
  const readout = make("span", { class: "readout" });
  const caption = make("span", { class: "title" }, title);
  const head = make("figcaption", {}, caption, readout);
  const element = make("figure", { class: name }, head, make("div", { class: "frame" }, canvas));
  return { element, canvas, caption, readout, ...draw(canvas) };
}

/** The pane; `actions` are the player's. */
export function makePane(actions, index) {
  const world = figure("world", "World", worldMap, { tabindex: "0" });
  const belief = figure("belief", "Belief", beliefMap);
  const seen = figure("seen", "Sees", seenView);
  const expected = figure("expected", "Expects", expectedView);
  const numbers = makeNumbers(actions.layer);
  const timeline = makeTimeline(actions.seek);
  const agent = make("select", { "aria-label": "Agent" });
  agent.addEventListener("change", () => actions.chooseAgent(index, agent.value));
  const seed = make("select", { "aria-label": "Seed of the agent" });
  seed.addEventListener("change", () => actions.chooseSeed(index, Number(seed.value)));
  const note = make("span", { class: "note" });
  const ahead = make("input", { type: "range", min: "1", step: "1", "aria-label": "Steps ahead" });
  ahead.addEventListener("input", () => actions.lookAhead(Number(ahead.value)));
  expected.element.append(ahead);
  const scale = make("span", { class: "scale" });
  belief.readout.append("0.1%", scale, "100%");
  const views = make("div", { class: "views" }, seen.element, expected.element);
  const head = make("header", {}, agent, seed, note);
  const rows = [head, world.element, belief.element, views, numbers.element, timeline.element];
  const sheet = make("div", { class: "sheet" }, ...rows);
  const element = make("section", { class: "pane", "aria-label": `Agent ${index + 1}` }, sheet);
  const parts = [world, belief, seen, expected];
  const shown = new Map(); // part -> the values it was drawn from
  let episode = null;

  for (const part of parts) part.grid.onresize = () => (shown.delete(part), actions.wake());
  timeline.onresize = () => (shown.delete(timeline), actions.wake());
  world.canvas.addEventListener("click", (event) => actions.point(world.grid.cellAt(event)));
  for (const part of [world, belief]) {
    part.canvas.addEventListener("pointermove", (event) => setText(world.readout, readCell(part.grid.cellAt(event))));
    part.canvas.addEventListener("pointerleave", () => setText(world.readout, ""));
  }

  function readCell([row, col]) {
    if (!episode || episode.length === 0) return "";
    const { R, W } = episode.sizes;
    const now = episode.at("belief", Math.min(actions.now(), episode.length - 1));
    const chances = episode.meta.objects.map((object, i) => {
      const p = (now[i * R * W + row * W + col] / 255) ** 2;
      return `${object.label} ${(100 * p).toFixed(p < 0.1 ? 1 : 0)}%`;
    });
    return `row ${row}, column ${col}: ${chances.join(", ")}`;
  }

  /** Runs `draw` if `values` differ from those of the last time. */
  function update(part, values, draw) {
    const before = shown.get(part);
    if (before && values.every((value, i) => Object.is(value, before[i]))) return;
    shown.set(part, values);
    draw();
  }

  function show(next) {
    episode = next;
    const { R, W, V, K } = episode.sizes;
    for (const part of [world, belief]) part.grid.shape(R, W);
    for (const part of [seen, expected]) part.grid.shape(V, V);
    sheet.style.setProperty("--aspect", W / R);
    sheet.style.setProperty("--rows", episode.sizes.C + 1);
    numbers.shape(episode);
    ahead.max = String(Math.max(1, K));
    ahead.disabled = K === 0;
    timeline.element.setAttribute("aria-valuemax", episode.sizes.T - 1);
    const { learner_step: step, seed: number, world: name, trained_in: home } = episode.meta;
    const isTold = !seed.hidden || number === undefined || agent.selectedOptions[0]?.text.includes("seed");
    const facts = [
      isTold ? "" : `seed ${number}`,
      home && home !== name ? `trained in ${home}` : "",
      step ? `${step.toLocaleString("en")} learner steps` : "",
    ];
    setText(note, facts.filter(Boolean).join(" · "));
    shown.clear();
  }

  /** view: {t, fraction, k, hidden, truth, cursor, object, palette, style}. */
  function draw(view) {
    if (!episode || episode.length === 0) return;
    const t = Math.min(view.t, episode.length - 1);
    const { palette, style, fraction, k } = view;
    const at = { ...view, t };
    const basis = [episode, episode.version, t, style];
    const cursor = view.cursor ? view.cursor.join() : "";
    update(world, [...basis, fraction, cursor, view.object], () => world.draw(episode, palette, at));
    update(belief, [...basis, fraction, view.truth], () => belief.draw(episode, palette, at));
    update(seen, [...basis, episode.length > t + 1], () => drawSeen(at));
    update(expected, [...basis, k, Math.min(episode.length, t + k + 1)], () => drawExpected(at));
    update(numbers, basis, () => numbers.draw(episode, t, view.hidden));
    const length = [episode, episode.version, episode.length, style];
    update(timeline, length, () => timeline.draw(episode, palette, view.hidden, style));
    timeline.point(t);
  }

  function drawSeen(view) {
    seen.draw(episode, view.palette, view);
    const { actions: names } = episode.meta;
    const [taken, next] = [episode.fields.a[view.t], episode.supposed?.[view.t] ?? -1];
    setText(seen.readout, taken >= 0 ? `then ${names[taken]}` : next >= 0 ? `next ${names[next]}` : "");
  }

  function drawExpected(view) {
    const { k, t, palette } = view;
    const { K, T } = episode.sizes;
    expected.draw(episode, palette, view);
    ahead.value = String(k);
    // What a live agent will do is not known yet: it is asked what it would see if it did the same again and again.
    const supposed = episode.meta.actions[episode.supposed?.[t]];
    const doing = supposed ? `${k} × ${supposed}` : `${k} step${k === 1 ? "" : "s"}`;
    setText(expected.readout, K === 0 ? "nothing" : t + k >= T ? "beyond the end" : `in ${doing}`);
  }

  /** The scale of belief, in the theme's colours. */
  function recolour(palette) {
    const stops = Array.from({ length: 13 }, (_, i) => WEIGHT[Math.round(255 * Math.sqrt(10 ** (-3 + i / 4)))]);
    const colours = stops.map((weight) => css(mixed(palette.floor, palette.muted, weight)));
    scale.style.background = `linear-gradient(90deg, ${colours.join(", ")})`;
    for (const part of parts) part.grid.forgetLayers();
  }

  /** What the pictures show, in words, for those who cannot see them; said when the play stops. */
  function describe(t) {
    if (!episode || episode.length === 0) return;
    const s = Math.min(t, episode.length - 1);
    const place = (name, i) => episode.at(name, s).subarray(2 * i, 2 * i + 2).join(", column ");
    const things = episode.meta.objects.map((object, i) => `${object.name} at row ${place("objects", i)}`);
    const all = [`agent at row ${place("agent", 0)}`, ...things];
    world.canvas.setAttribute("aria-label", `World at step ${s}: ${all.join("; ")}`);
    const { N, R, W } = episode.sizes;
    const guesses = episode.meta.objects.map((object, i) => {
      const part = episode.at("belief", s).subarray(i * R * W, (i + 1) * R * W);
      const best = part.reduce((top, q, cell) => (q > part[top] ? cell : top), 0);
      const p = Math.round(100 * (part[best] / 255) ** 2);
      return `${object.name} most likely at row ${Math.floor(best / W)}, column ${best % W} (${p}%)`;
    });
    belief.canvas.setAttribute("aria-label", N ? `Belief at step ${s}: ${guesses.join("; ")}` : "Belief");
    const inView = episode.meta.objects.filter((_, i) => episode.isInView(s, i)).map((object) => object.name);
    seen.canvas.setAttribute("aria-label", `The agent sees ${inView.join(" and ") || "no object"}`);
    expected.canvas.setAttribute("aria-label", `What the agent expects to see ${expected.readout.textContent}`);
    timeline.element.setAttribute("aria-valuetext", `step ${s} of ${episode.sizes.T - 1}`);
  }

  function choices(agents, seeds, selected) {
    setOptions(agent, agents, selected.agent);
    setOptions(seed, seeds, selected.seed);
    seed.hidden = seeds.length < 2;
  }

  return { element, show, draw, recolour, describe, choices, map: world.canvas, timeline: timeline.element };
}
