/**
 * The episode over time, as lanes of one canvas: the reward of each step split by channel (bars), how little the agent
 * knows (lines), and when what was in view (strips). Frames are points in time, steps the bars between them. A bar's
 * height is the square root of its reward, or a first sight would flatten all the rest; its parts share it in
 * proportion. Titles stand beside the lanes, moments above them.
 *
 * Only columns that are new are drawn; the playhead is an element of its own that is moved, not drawn.
 */

import { css } from "./colours.js";
import { button, make } from "./dom.js";
import { momentsOf } from "./moments.js";

const TOP = 18; // page pixels for the marks of moments
const GAP = 8; // between lanes
const STRIP = 5;
const BOTTOM = 6; // below the last strip

/** The least round number that is not below x. */
function ceiling(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  const round = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((n) => n * power >= x * (1 - 1e-9));
  return Number((round * power).toPrecision(2));
}

/** What the lines are: of objects their discovery loss, else the surprise of each frame. */
function linesOf(episode) {
  const { N } = episode.sizes;
  if (N) return { title: "discovery loss", num: N, value: (t, i) => episode.fields.discovery_loss[t * N + i] };
  return { title: "surprise", num: episode.fields.loss_c ? 1 : 0, value: (t) => episode.surprise(t) };
}

/** What the strips are: when objects are in view, or when events hold. */
function stripsOf(episode) {
  const { N, B } = episode.sizes;
  if (!episode.isPictured) return { title: "in view", num: N, holds: (t, i) => episode.isInView(t, i) };
  return { title: B ? "events" : "", num: Math.min(B, 6), holds: (t, i) => episode.fields.events?.[t * B + i] };
}

/** How high the bars and lines of an episode reach, and what of: {up, down, loss, unit}; was any step paid at all. */
function scalesOf(episode, hidden) {
  const { C, N } = episode.sizes;
  const lines = linesOf(episode);
  let [up, down, loss] = [0, 0, N ? 4 : 0.1];
  for (let t = 0; t < episode.steps; t++) {
    let [above, below] = [0, 0];
    for (let c = 0; c < C; c++) {
      const r = episode.fields.reward_c[t * C + c];
      if (r > 0) above += r;
      else if (r < 0) below -= r;
    }
    const r = episode.fields.reward[t];
    [up, down] = [Math.max(up, above, r || 0), Math.max(down, below, -r || 0)];
  }
  for (let i = 0; i < lines.num; i++) {
    if (N && hidden.has(i)) continue;
    for (let t = 0; t < episode.length; t++) loss = Math.max(loss, lines.value(t, i));
  }
  const [gains, isPaid] = [up > 0, up > 0 || down > 1e-3];
  [up, down] = [ceiling(Math.max(up, 0.01)), down > 1e-3 ? ceiling(down) : 0];
  loss = N ? Math.ceil(loss) : ceiling(loss);
  return { gains, isPaid, up, down, loss, unit: episode.unit };
}

/** The timeline and the slider that it is; `onseek(t)` hears where a pointer goes. */
export function makeTimeline(onseek) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const head = make("div", { class: "playhead" });
  const veil = make("div", { class: "veil" });
  const marks = make("div", { class: "marks", role: "group", "aria-label": "Moments" });
  const slider = { role: "slider", tabindex: "0", "aria-label": "Step", "aria-valuemin": "0" };
  const plot = make("div", { class: "plot", ...slider }, canvas, veil, head);
  const titles = ["reward", "loss", "strips"].map((name) => make("div", { class: `lane ${name}` }));
  const labels = make("div", { class: "lanes", "aria-hidden": "true" }, ...titles);
  const element = make("div", { class: "timeline" }, labels, make("div", { class: "track" }, plot, marks));
  const context = canvas.getContext("2d");
  let [width, height, scale] = [1, 1, 1];
  let drawn = null; // {episode, length, scales, style}: what the canvas shows
  let steps = 1;
  let moments = [];
  let onresize = () => {};

  new ResizeObserver(([entry]) => {
    scale = window.devicePixelRatio || 1;
    [width, height] = [entry.contentRect.width, entry.contentRect.height];
    [canvas.width, canvas.height] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
    drawn = null;
    onresize();
  }).observe(canvas);

  function seek(event) {
    const box = canvas.getBoundingClientRect();
    onseek(Math.round(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * steps));
  }
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    seek(event);
  });
  canvas.addEventListener("pointermove", (event) => canvas.hasPointerCapture(event.pointerId) && seek(event));

  const x = (t) => (t / steps) * width;

  function lanes(episode, scales) {
    const strips = stripsOf(episode).num * STRIP;
    const room = (height - TOP - strips - BOTTOM - 2 * GAP) / 2;
    const [up, down] = [Math.sqrt(scales.up), Math.sqrt(scales.down)];
    const zero = TOP + (room * up) / (up + down);
    return { room, unit: room / (up + down), zero, loss: TOP + GAP + room, strips: TOP + 2 * GAP + 2 * room };
  }

  /** Draws frames from `start` on, and nothing left of them. */
  function paint(episode, palette, hidden, scales, start) {
    const lane = lanes(episode, scales);
    const left = start > 0 ? x(start) : -GAP;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.save();
    context.beginPath();
    context.rect(left, 0, width - left + GAP, height);
    context.clip();
    context.clearRect(0, 0, width, height);
    paintGround(palette, scales, lane);
    const first = Math.max(0, start - 1);
    paintRewards(episode, palette, hidden, lane, first);
    paintLosses(episode, palette, hidden, scales, lane, first);
    paintStrips(episode, palette, hidden, lane, first);
    paintHands(episode, palette, first);
    context.restore();
    if (start === 0) writeTitles(episode, scales, lane);
  }

  function paintGround(palette, scales, lane) {
    context.fillStyle = css(palette.line);
    context.fillRect(0, Math.round(lane.zero), width, 1);
    context.fillStyle = css(palette.line, 0.6);
    const apart = [1, 2, 5, 10, 20].find((nats) => scales.loss / nats <= 5) ?? 50;
    for (let nats = 0; nats <= scales.loss; nats += apart) {
      context.fillRect(0, Math.round(lane.loss + lane.room * (1 - nats / scales.loss)), width, 1);
    }
  }

  function paintRewards(episode, palette, hidden, lane, first) {
    const other = css(palette.muted, 0.75);
    const colours = episode.meta.channels.map((_, c) => css(episode.colourOf(c) ?? palette.muted, 0.9));
    episode.channelOf.forEach((c, i) => hidden.has(i) && (colours[c] = null));
    for (let t = first; t < episode.steps; t++) {
      const split = episode.at("reward_c", t);
      const whole = episode.fields.reward[t];
      const hasSplit = !whole || split.some((r) => r !== 0); // a reward that is no sum over channels is one bar
      const parts = hasSplit ? Array.from(split, (r, c) => [r, colours[c]]) : [[whole, other]];
      const shown = parts.filter(([r, colour]) => r && colour); // paid, determined, and not hidden
      paintBar(t, shown.filter(([r]) => r > 0), lane.zero, -lane.unit);
      paintBar(t, shown.filter(([r]) => r < 0), lane.zero, lane.unit);
    }
  }

  /** One direction of a step's bar, away from zero. */
  function paintBar(t, parts, zero, unit) {
    const sum = parts.reduce((total, [r]) => total + Math.abs(r), 0);
    let y = zero;
    for (const [r, colour] of parts) {
      const height = (unit * Math.sqrt(sum) * Math.abs(r)) / sum;
      context.fillStyle = colour;
      context.fillRect(x(t), y, Math.max(1, width / steps), height);
      y += height;
    }
  }

  function paintLosses(episode, palette, hidden, scales, lane, first) {
    const lines = linesOf(episode);
    const isOfObjects = episode.sizes.N > 0;
    context.lineJoin = "round";
    const line = (colour, dash, thick, value) => {
      context.strokeStyle = css(colour);
      context.setLineDash(dash);
      context.lineWidth = thick;
      context.beginPath();
      // Nothing was predicted before the first frame, so it surprises nobody.
      for (let t = isOfObjects ? first : Math.max(first, 1); t < episode.length; t++) {
        context.lineTo(x(t), lane.loss + lane.room * (1 - Math.min(value(t), scales.loss) / scales.loss));
      }
      context.stroke();
      context.setLineDash([]);
    };
    for (let i = 0; i < lines.num; i++) {
      if (isOfObjects && hidden.has(i)) continue;
      const colour = isOfObjects ? episode.meta.objects[i].colour : palette.accent;
      line(colour, [], 1.6, (t) => lines.value(t, i));
      if (episode.fields.exact) line(colour, [2, 3], 1, (t) => episode.exactLoss(t, i));
    }
  }

  function paintStrips(episode, palette, hidden, lane, first) {
    const strips = stripsOf(episode);
    for (let i = 0; i < strips.num; i++) {
      const object = episode.isPictured ? null : episode.meta.objects[i];
      if (object && hidden.has(i)) continue;
      context.fillStyle = css(object?.colour ?? palette.accent);
      const y = lane.strips + i * STRIP;
      for (let t = first; t < episode.length; t++) {
        if (strips.holds(t, i)) context.fillRect(x(t), y, Math.max(1, width / steps), STRIP - 1);
      }
    }
  }

  /** Where a person had the wheel (a line on top) or moved an object (a line across). */
  function paintHands(episode, palette, first) {
    for (let t = first; t < episode.length; t++) {
      context.fillStyle = css(palette.accent);
      if (episode.hands[t] & 1) context.fillRect(x(t), 0, Math.max(1, width / steps), 2);
      if (episode.hands[t] & 2) context.fillRect(x(t) - 0.5, 0, 1, height);
    }
  }

  function writeTitles(episode, scales, lane) {
    const least = scales.down ? `−${scales.down}` : "0";
    const range = scales.isPaid ? `${least} to ${scales.gains ? scales.up : 0}${scales.unit}` : "no step was paid";
    const greys = episode.meta.channels.filter((_, c) => !episode.colourOf(c)).map(({ name }) => name);
    const grey = greys.length === 1 && scales.unit ? `grey: ${greys[0]}` : "";
    const dashed = episode.fields.exact ? "dashed: exact" : "";
    const texts = [
      [lane.zero - lane.unit * Math.sqrt(scales.up), "reward", range, grey],
      [lane.loss, linesOf(episode).title, `0 to ${scales.loss} nats`, dashed],
      [lane.strips - 2, stripsOf(episode).title],
    ];
    texts.forEach(([top, ...lines], i) => {
      titles[i].style.top = `${top}px`;
      titles[i].replaceChildren(...lines.filter(Boolean).map((text) => make("div", {}, text)));
    });
  }

  /** A button for each moment, at its place in time. */
  function mark(episode) {
    const next = momentsOf(episode);
    if (JSON.stringify(next) === JSON.stringify(moments) && marks.childElementCount === next.length) return;
    moments = next;
    marks.replaceChildren(
      ...moments.map(({ t, text, colour }) => {
        const label = `step ${t}: ${text}`;
        const dot = button(() => onseek(t), { class: "moment", "aria-label": label, title: label });
        dot.style.left = `${(100 * t) / steps}%`;
        if (colour) dot.style.setProperty("--dot", colour.join(" "));
        return dot;
      }),
    );
  }

  /** Brings the canvas up to date. `style` is any value that changes with theme or layers. */
  function draw(episode, palette, hidden, style) {
    if (width <= 1) return;
    const before = steps;
    steps = episode.end || 1;
    if (before !== steps) [drawn, moments] = [null, []];
    element.style.setProperty("--strips", stripsOf(episode).num);
    const scales = scalesOf(episode, hidden);
    const isSame = drawn && drawn.episode === episode && drawn.style === style && drawn.version === episode.version;
    const fits = isSame && drawn.length <= episode.length && JSON.stringify(drawn.scales) === JSON.stringify(scales);
    if (!fits) paint(episode, palette, hidden, scales, 0);
    else if (drawn.length < episode.length) paint(episode, palette, hidden, scales, Math.max(0, drawn.length - 2));
    drawn = { episode, style, scales, length: episode.length, version: episode.version };
    mark(episode);
  }

  /** Moves the playhead; what lies after it is dimmed. */
  function point(t) {
    head.style.transform = `translateX(${x(t)}px)`;
    veil.style.transform = `translateX(${x(t)}px)`;
    plot.setAttribute("aria-valuenow", t);
  }

  return {
    element,
    slider: plot,
    draw,
    point,
    set onresize(f) { onresize = f; },
    get moments() { return moments; },
  };
}
