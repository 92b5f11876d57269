/** The numbers of one frame, as a table: what is known of each object, and what the last step paid for it. */

import { css } from "./colours.js";
import { button, make, setText } from "./dom.js";

export const NOTHING = "–";

/** A reward with its sign, in at most seven characters; `digits` behind the point where they are given. */
export function signed(r, digits = null) {
  if (Number.isNaN(r)) return "…";
  const size = Math.abs(r).toFixed(digits ?? (Math.abs(r) < 9.9995 ? 3 : Math.abs(r) < 99.995 ? 2 : 1));
  return Number(size) === 0 ? size : `${r < 0 ? "−" : "+"}${size}`;
}

function percent(p) {
  if (p >= 0.1) return `${Math.round(100 * p)}%`;
  return p >= 0.001 ? `${(100 * p).toFixed(1)}%` : "<0.1%";
}

const COLUMNS = ["view", "loss", "cell", "reward", "sum"];
const HEADS = {
  view: ["in view", "Whether the agent sees it now"],
  loss: ["discovery loss", "−ln of the belief in its true cell, in nats; 0 when it knows where the object is"],
  cell: ["belief", "The belief in its true cell"],
  reward: ["last step", "Reward of the step that led here; where it has a split by channel, in nats"],
  sum: ["so far", "Sum of the rewards up to here"],
};
const SURPRISE = ["surprise", "−ln of the chance that it gave, a step before, to what it sees now, in nats"];
const MOST_CHANNELS = 8; // rows of a world whose frames have many

/** The table; `ontoggle(i)` hears that an object's layer was clicked. */
export function makeNumbers(ontoggle) {
  const body = make("tbody");
  const head = make("tr");
  const element = make("table", { class: "numbers" }, make("thead", {}, head), body);
  let rows = [];

  function row(label, fields, attributes = {}) {
    const value = (field) => make("span", { class: "value", "data-field": field });
    const cells = Object.fromEntries(fields.map((field) => [field, value(field)]));
    const columns = COLUMNS.map((field) => make("td", { "data-column": field }, cells[field] ?? ""));
    body.append(make("tr", attributes, make("th", { scope: "row" }, label), ...columns));
    return cells;
  }

  function named(sign, name, attributes = {}) {
    return make("span", { class: "channel" }, make("span", { class: "swatch", ...attributes }, sign), name);
  }

  /** Rows for another episode's objects and channels. */
  function shape(episode) {
    const { N, C } = episode.sizes;
    const heads = episode.isPictured && N === 0 ? { ...HEADS, loss: SURPRISE } : HEADS;
    element.classList.toggle("short", N === 0);
    const titles = COLUMNS.map((field) => make("th", { scope: "col", title: heads[field][1] }, heads[field][0]));
    head.replaceChildren(make("th", { scope: "col" }), ...titles);
    COLUMNS.forEach((field, i) => (titles[i].dataset.column = field));
    body.replaceChildren();
    rows = episode.meta.objects.map((object, i) => {
      const swatch = make("span", { class: "swatch" }, object.label);
      swatch.style.background = css(object.colour);
      const about = { "aria-pressed": "true", "aria-label": `${object.name} layer`, title: `show or hide (${i + 1})` };
      const toggle = button(() => ontoggle(i), { class: "layer", ...about }, swatch, object.name);
      return { toggle, cells: row(toggle, COLUMNS, { "data-object": object.name }), c: episode.channelOf[i], i };
    });
    const fields = N === 0 ? ["loss", "reward", "sum"] : ["reward", "sum"];
    let num = 0;
    episode.meta.channels.forEach((channel, c) => {
      if (episode.channelOf.includes(c) || num++ >= MOST_CHANNELS) return;
      const colour = episode.colourOf(c);
      const label = named("", channel.name, { class: colour ? "swatch" : "swatch wall" });
      if (colour) label.firstChild.style.background = css(colour);
      rows.push({ cells: row(label, fields, { "data-channel": channel.name }), c });
    });
    rows.push({ cells: row(named("Σ", "all"), fields, { class: "total", "data-channel": "all" }), c: C });
    if (episode.fields.task) {
      rows.push({ cells: row(named("", "task"), ["reward", "sum"], { "data-channel": "task" }), isTask: true });
    }
  }

  function draw(episode, t, hidden) {
    const { N, C } = episode.sizes;
    const sums = episode.paidUntil(t - 1);
    const last = t > 0 ? [...episode.at("reward_c", t - 1), episode.fields.reward[t - 1]] : null;
    const hasSplit = sums.subarray(0, C).some((sum) => sum !== 0) || sums[C] === 0;
    for (const { cells, c, i, toggle, isTask } of rows) {
      if (isTask) {
        const { task } = episode.fields;
        setText(cells.reward, t > 0 ? signed(task[t - 1]) : NOTHING);
        setText(cells.sum, t > 0 ? signed(task.subarray(0, t).reduce((a, b) => a + b, 0)) : NOTHING);
        continue;
      }
      const isTold = last && c >= 0 && (c === C || hasSplit);
      setText(cells.reward, isTold ? signed(last[c]) : NOTHING);
      setText(cells.sum, isTold ? signed(sums[c]) : NOTHING);
      if (i === undefined) {
        if (cells.loss) setText(cells.loss, surprise(episode, t, c));
        continue;
      }
      const loss = episode.fields.discovery_loss[t * N + i];
      setText(cells.view, !episode.isPictured && episode.isInView(t, i) ? "yes" : NOTHING);
      setText(cells.loss, loss.toFixed(2));
      setText(cells.cell, percent(Math.exp(-loss)));
      toggle.setAttribute("aria-pressed", String(!hidden.has(i)));
    }
  }

  function surprise(episode, t, c) {
    if (t === 0 || !episode.fields.loss_c) return NOTHING;
    return (c === episode.sizes.C ? episode.surprise(t) : episode.at("loss_c", t)[c]).toFixed(2);
  }

  return { element, shape, draw };
}
