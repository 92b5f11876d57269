/** One agent: its maps, views, numbers and timeline, each drawn only when what it shows has changed. */

import { WEIGHT, css, mixed } from "./colours.js";
import { fill, make, setOptions, setText } from "./dom.js";
import { beliefMap, worldMap } from "./maps.js";
import { captionOf } from "./moments.js";
import { makeNumbers } from "./numbers.js";
import { makeTimeline } from "./timeline.js";
import { drawnView, expectedView, seenView } from "./views.js";
import { describeEpisode } from "./words.js";

const WIDE_MAP = 1.5; // columns per row from which a map is not high enough to have anything beside it

function figure(name, title, draw, attributes = {}) {
  const canvas = make("canvas", { role: "img", "aria-label": title, ...attributes });
  const readout = make("span", { class: "readout" });
  const head = make("figcaption", {}, make("span", { class: "title" }, title), readout);
  const element = make("figure", { class: name }, head, make("div", { class: "frame" }, canvas));
  return { element, canvas, readout, ...draw(canvas) };
}

/** The slider over a run's checkpoints; `onchoose(step)` hears the learner step that is wanted. */
function makeCheckpoints(onchoose) {
  const range = make("input", { type: "range", min: "0", step: "1", "aria-label": "Checkpoint" });
  const label = make("output");
  const element = make("label", { class: "checkpoints" }, make("span", {}, "after"), range, label);
  let steps = [];
  const name = (step) => `${step.toLocaleString("en")} learner steps`;
  range.addEventListener("input", () => setText(label, name(steps[Number(range.value)])));
  range.addEventListener("change", () => onchoose(steps[Number(range.value)]));
  function update(all, chosen) {
    steps = all;
    element.hidden = steps.length < 2;
    if (element.hidden) return;
    range.max = String(steps.length - 1);
    range.value = String(Math.max(0, steps.indexOf(chosen ?? steps[steps.length - 1])));
    setText(label, name(steps[Number(range.value)]));
  }
  return { element, update };
}

/** The pane; `actions` are the player's. */
export function makePane(actions, index) {
  const world = figure("world", "World", worldMap, { tabindex: "0" });
  const belief = figure("belief", "Belief", beliefMap);
  const exact = figure("exact", "Exact belief", (canvas) => beliefMap(canvas, "exact"));
  const drawn = figure("drawn", "World", drawnView);
  const seen = figure("seen", "Sees", seenView);
  const expected = figure("expected", "Expects", expectedView);
  const numbers = makeNumbers(actions.layer);
  const timeline = makeTimeline(actions.seek);
  const checkpoints = makeCheckpoints((step) => actions.chooseStep(index, step));
  const agent = make("select", { "aria-label": "Agent" });
  agent.addEventListener("change", () => actions.chooseAgent(index, agent.value));
  const seed = make("select", { "aria-label": "Seed of the agent" });
  seed.addEventListener("change", () => actions.chooseSeed(index, Number(seed.value)));
  const note = make("span", { class: "note" });
  const caption = make("p", { class: "caption", "aria-live": "off" });
  const ahead = make("input", { type: "range", min: "1", step: "1", "aria-label": "Steps ahead" });
  ahead.addEventListener("input", () => actions.lookAhead(Number(ahead.value)));
  expected.element.append(ahead);
  const key = make("ul", { class: "key" });
  seen.element.append(key);
  const scale = make("span", { class: "scale" });
  belief.readout.append("0.1%", scale, "100%");
  const maps = make("div", { class: "maps" });
  const views = make("div", { class: "views" });
  const head = make("header", {}, agent, seed, checkpoints.element, note, caption);
  const side = make("div", { class: "side" }, views, numbers.element);
  const sheet = make("div", { class: "sheet" }, head, maps, side, timeline.element);
  const element = make("section", { class: "pane", "aria-label": `Agent ${index + 1}` }, sheet);
  const parts = [world, belief, exact, drawn, seen, expected];
  const shown = new Map(); // part -> the values it was drawn from
  let episode = null;
  let shownParts = [];
  let pointed = null; // [field, row, col] under the pointer

  for (const part of parts) part.grid.onresize = () => (shown.delete(part), actions.wake());
  timeline.onresize = () => (shown.delete(timeline), actions.wake());
  world.canvas.addEventListener("click", (event) => actions.point(world.grid.cellAt(event)));
  for (const part of [world, belief, exact]) {
    const field = part === exact ? "exact" : "belief";
    part.canvas.addEventListener("pointermove", (event) => {
      pointed = [field, ...part.grid.cellAt(event)];
      actions.wake();
    });
    part.canvas.addEventListener("pointerleave", () => ((pointed = null), actions.wake()));
  }

  /** What a belief says of one cell at frame t. */
  function readCell(t, field, row, col) {
    const { R, W } = episode.sizes;
    const now = episode.at(field, t);
    const chances = episode.meta.objects.flatMap((object, i) => {
      const p = (now[i * R * W + row * W + col] / 255) ** 2;
      return p < 0.0005 ? [] : [`${object.label} ${(100 * p).toFixed(p < 0.1 ? 1 : 0)}%`];
    });
    return `row ${row}, column ${col}: ${chances.join(", ") || "no object"}`;
  }

  /** Runs `draw` if `values` differ from those of the last time. */
  function update(part, values, draw) {
    const before = shown.get(part);
    if (before && values.every((value, i) => Object.is(value, before[i]))) return;
    shown.set(part, values);
    draw();
  }

  /** Puts the parts that this episode has where they belong; `isExact`: with the exact belief. */
  function arrange(isExact) {
    const { hasMap, isPictured, fields, sizes } = episode;
    const large = [];
    if (fields.drawn) large.push(drawn);
    if (hasMap) large.push(world, belief);
    if (isExact && fields.exact) large.push(exact);
    const small = [seen, ...(sizes.K || !isPictured ? [expected] : [])];
    if (!hasMap) large.push(...small.splice(0));
    shownParts = [...large, ...small];
    fill(maps, large.map((part) => part.element));
    fill(views, small.map((part) => part.element));
    views.hidden = small.length === 0;
    sheet.dataset.maps = String(large.length);
    const aspects = large.map((part) => part.grid.cols / part.grid.rows);
    sheet.toggleAttribute("data-wide", Math.min(...aspects) >= WIDE_MAP);
    sheet.style.setProperty("--maps", String(large.length));
    sheet.style.setProperty("--aspect", String(Math.max(0.4, Math.min(3, ...aspects))));
    shown.clear();
    pointed = null; // it may be gone
  }

  /** Another episode; its parts stand where they belong after the next `arrange`. */
  function show(next) {
    episode = next;
    const { R, W, V, K, Y, X, H, S } = episode.sizes;
    for (const part of [world, belief, exact]) part.grid.shape(R || 1, W || 1);
    for (const part of [seen, expected]) part.grid.shape(V || Y || 1, V || X || 1);
    drawn.grid.shape(H || 1, S || 1);
    numbers.shape(episode);
    setText(exact.readout, "of a perfect memory");
    ahead.max = String(Math.max(1, K));
    ahead.disabled = K === 0;
    timeline.slider.setAttribute("aria-valuemax", episode.end);
    const legend = episode.isPictured && episode.meta.legend ? episode.meta.legend.slice(0, 12) : [];
    key.replaceChildren(
      ...legend.map(({ name, colour }) => {
        const swatch = make("span", { class: "swatch" });
        swatch.style.background = css(colour);
        return make("li", {}, swatch, name);
      }),
    );
    const { learner_step: step, seed: number, world: name, trained_in: home } = episode.meta;
    const isTold = !seed.hidden || number === undefined || agent.selectedOptions[0]?.text.includes("seed");
    const facts = [
      isTold ? "" : `seed ${number}`,
      home && home !== name ? `trained in ${home}` : "",
      step && checkpoints.element.hidden ? `${step.toLocaleString("en")} learner steps` : "",
    ];
    setText(note, facts.filter(Boolean).join(" · "));
  }

  /** view: {t, fraction, k, hidden, truth, cursor, object, palette, style}. */
  function draw(view) {
    if (!episode || episode.length === 0) return;
    const t = Math.min(view.t, episode.length - 1);
    const { palette, style, fraction, k } = view;
    const at = { ...view, t };
    const basis = [episode, episode.version, t, style];
    const cursor = view.cursor ? view.cursor.join() : "";
    const is = (part) => shownParts.includes(part);
    if (is(world)) update(world, [...basis, fraction, cursor, view.object], () => world.draw(episode, palette, at));
    if (is(belief)) update(belief, [...basis, fraction, view.truth], () => belief.draw(episode, palette, at));
    if (is(exact)) update(exact, [...basis, fraction, view.truth], () => drawExact(at));
    if (is(drawn)) update(drawn, basis, () => drawn.draw(episode, palette, at));
    update(seen, [...basis, episode.length > t + 1], () => drawSeen(at));
    if (is(expected)) {
      update(expected, [...basis, k, Math.min(episode.length, t + k + 1), episode.isOver], () => drawExpected(at));
    }
    update(numbers, basis, () => numbers.draw(episode, t, view.hidden));
    const length = [episode, episode.version, episode.length, episode.isOver, style];
    update(timeline, length, () => timeline.draw(episode, palette, view.hidden, style));
    timeline.point(t);
    setText(caption, captionOf(episode, timeline.moments, t));
    setText(world.readout, pointed ? readCell(t, ...pointed) : "");
  }

  function drawExact(view) {
    exact.draw(episode, view.palette, view);
    const isLost = episode.at("exact", view.t).every((q) => q === 0);
    const isPossible = !episode.meta.objects.some((_, i) => episode.exactLoss(view.t, i) === Infinity);
    const text = isLost || !isPossible ? "calls this impossible" : "of a perfect memory";
    setText(exact.readout, text);
  }

  function drawSeen(view) {
    seen.draw(episode, view.palette, view);
    const { actions: names } = episode.meta;
    const [taken, next] = [episode.fields.a[view.t], episode.supposed?.[view.t] ?? -1];
    const isLast = episode.isOver && view.t === episode.end;
    const end = isLast ? "the end" : "";
    setText(seen.readout, end || (taken >= 0 ? `then ${names[taken]}` : next >= 0 ? `next ${names[next]}` : ""));
  }

  function drawExpected(view) {
    const { k, t, palette } = view;
    const { K } = episode.sizes;
    expected.draw(episode, palette, view);
    ahead.value = String(k);
    // What a live agent will do is not known yet: it is asked what it would see if it did the same again and again.
    const supposed = episode.meta.actions[episode.supposed?.[t]];
    const doing = supposed ? `${k} × ${supposed}` : `${k} step${k === 1 ? "" : "s"}`;
    setText(expected.readout, K === 0 ? "nothing" : t + k > episode.end ? "beyond the end" : `in ${doing}`);
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
    const words = describeEpisode(episode, s);
    for (const part of [world, belief, seen]) part.canvas.setAttribute("aria-label", words[part.element.className]);
    expected.canvas.setAttribute("aria-label", `What the agent expects to see ${expected.readout.textContent}`);
    timeline.slider.setAttribute("aria-valuetext", `step ${s} of ${episode.end}`);
  }

  function choices({ agents, seeds, steps }, selected) {
    setOptions(agent, agents, selected.agent);
    setOptions(seed, seeds, selected.seed);
    seed.hidden = seeds.length < 2;
    checkpoints.update(steps, selected.step);
  }

  return {
    element,
    show,
    arrange,
    draw,
    recolour,
    describe,
    choices,
    map: world.canvas,
    get moments() { return timeline.moments; },
  };
}
