/** The numbers of one frame, as a table: what is known of each object, and what the last step paid for it. */

import { css } from "./colours.js";
import { button, make, setText } from "./dom.js";

export const NOTHING = "–";

/** Nats with their sign, in at most seven characters. */
function signed(r) {
  if (Number.isNaN(r)) return "…";
  const size = Math.abs(r).toFixed(Math.abs(r) < 9.9995 ? 3 : Math.abs(r) < 99.995 ? 2 : 1);
  return Number(size) === 0 ? size : `${r < 0 ? "−" : "+"}${size}`;
}

function percent(p) {
  if (p >= 0.1) return `${Math.round(100 * p)}%`;
  return p >= 0.001 ? `${(100 * p).toFixed(1)}%` : "<0.1%";
}

/** The table; `ontoggle(i)` hears that an object's layer was clicked. */
export function makeNumbers(ontoggle) {
  const body = make("tbody");
  const heads = ["", "in view", "discovery loss", "belief", "last step", "so far"];
  const titles = [
    "",
    "Whether the agent sees it now",
    "−ln of the belief in its true cell, in nats; 0 when it knows where the object is",
    "The belief in its true cell",
    "Intrinsic reward of the step that led here, in nats",
    "Sum of the rewards up to here, in nats",
  ];
  const head = make("tr", {}, ...heads.map((text, i) => make("th", { scope: "col", title: titles[i] }, text)));
  const element = make("table", { class: "numbers" }, make("thead", {}, head), body);
  let rows = [];

  function row(label, fields, attributes = {}) {
    const value = (field) => make("span", { class: "value", "data-field": field });
    const cells = Object.fromEntries(fields.map((field) => [field, value(field)]));
    const columns = ["view", "loss", "cell", "reward", "sum"].map((field) => make("td", {}, cells[field] ?? ""));
    body.append(make("tr", attributes, make("th", { scope: "row" }, label), ...columns));
    return cells;
  }

  /** Rows for another episode's objects and channels. */
  function shape(episode) {
    body.replaceChildren();
    rows = episode.meta.objects.map((object, i) => {
      const swatch = make("span", { class: "swatch" }, object.label);
      swatch.style.background = css(object.colour);
      const about = { "aria-pressed": "true", "aria-label": `${object.name} layer`, title: `show or hide (${i + 1})` };
      const toggle = button(() => ontoggle(i), { class: "layer", ...about }, swatch, object.name);
      const cells = row(toggle, ["view", "loss", "cell", "reward", "sum"], { "data-object": object.name });
      return { toggle, cells, c: episode.channelOf[i], i };
    });
    episode.meta.channels.forEach((channel, c) => {
      if (episode.channelOf.includes(c)) return;
      const label = make("span", { class: "channel" }, make("span", { class: "swatch wall" }), channel.name);
      rows.push({ cells: row(label, ["reward", "sum"], { "data-channel": channel.name }), c });
    });
    const all = make("span", { class: "channel" }, make("span", { class: "swatch" }, "Σ"), "all");
    rows.push({ cells: row(all, ["reward", "sum"], { class: "total", "data-channel": "all" }), c: episode.sizes.C });
  }

  function draw(episode, t, hidden) {
    const { N, C } = episode.sizes;
    const sums = episode.paidUntil(t - 1);
    const last = t > 0 ? [...episode.at("reward_c", t - 1), episode.fields.reward[t - 1]] : null;
    const hasSplit = sums.subarray(0, C).some((sum) => sum !== 0) || sums[C] === 0;
    for (const { cells, c, i, toggle } of rows) {
      const isTold = last && c >= 0 && (c === C || hasSplit);
      setText(cells.reward, isTold ? signed(last[c]) : NOTHING);
      setText(cells.sum, isTold ? signed(sums[c]) : NOTHING);
      if (i === undefined) continue;
      const loss = episode.fields.discovery_loss[t * N + i];
      setText(cells.view, episode.isInView(t, i) ? "yes" : NOTHING);
      setText(cells.loss, loss.toFixed(2));
      setText(cells.cell, percent(Math.exp(-loss)));
      toggle.setAttribute("aria-pressed", String(!hidden.has(i)));
    }
  }

  return { element, shape, draw };
}
