/**
 * The episode over time, as lanes of one canvas: the reward of each step split by channel (bars), each object's
 * discovery loss (lines), and when each was in view (strips). Frames are points in time, steps the bars between them.
 * A bar's height is the square root of its reward, or a first sight would flatten all the rest; its parts share it in
 * proportion.
 *
 * Only columns that are new are drawn; the playhead is an element of its own that is moved, not drawn.
 */

import { css } from "./colours.js";
import { make } from "./dom.js";

const GAP = 14; // between lanes, in page pixels: room for a lane's title
const STRIP = 5;

/** The least round number that is not below x. */
function ceiling(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  const round = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((n) => n * power >= x * (1 - 1e-9));
  return Number((round * power).toPrecision(2));
}

/** How high the bars and lines of an episode reach: {up, down, loss}. */
export function scalesOf(episode, hidden) {
  const { C, N } = episode.sizes;
  let [up, down, loss] = [0.01, 0, 4];
  for (let t = 0; t < episode.length; t++) {
    let [above, below] = [0, 0];
    for (let c = 0; c < C; c++) {
      const r = episode.fields.reward_c[t * C + c];
      if (r > 0) above += r;
      else if (r < 0) below -= r;
    }
    const r = episode.fields.reward[t];
    [up, down] = [Math.max(up, above, r || 0), Math.max(down, below, -r || 0)];
    for (let i = 0; i < N; i++) if (!hidden.has(i)) loss = Math.max(loss, episode.fields.discovery_loss[t * N + i]);
  }
  return { up: ceiling(up), down: down > 1e-3 ? ceiling(down) : 0, loss: Math.ceil(loss) };
}

/** The timeline and the slider that it is; `onseek(t)` hears where a pointer goes. */
export function makeTimeline(onseek) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const head = make("div", { class: "playhead" });
  const slider = { role: "slider", tabindex: "0", "aria-label": "Step", "aria-valuemin": "0" };
  const element = make("div", { class: "timeline", ...slider }, canvas, head);
  const context = canvas.getContext("2d");
  let [width, height, scale] = [1, 1, 1];
  let drawn = null; // {episode, length, scales, style}: what the canvas shows
  let steps = 1;
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
    const strips = episode.sizes.N * STRIP;
    const room = (height - strips - 3 * GAP) / 2;
    const [up, down] = [Math.sqrt(scales.up), Math.sqrt(scales.down)];
    const zero = GAP + (room * up) / (up + down);
    return { room, unit: room / (up + down), zero, loss: 2 * GAP + room, strips: 3 * GAP + 2 * room };
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
    paintLosses(episode, hidden, scales, lane, first);
    paintViews(episode, hidden, lane, first);
    paintHands(episode, palette, first);
    paintTitles(episode, palette, scales, lane);
    context.restore();
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
    const colours = episode.meta.channels.map(() => other);
    episode.channelOf.forEach((c, i) => (colours[c] = hidden.has(i) ? null : css(episode.meta.objects[i].colour)));
    for (let t = first; t < Math.min(episode.length, steps); t++) {
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

  function paintLosses(episode, hidden, scales, lane, first) {
    const { N } = episode.sizes;
    context.lineWidth = 1.6;
    context.lineJoin = "round";
    for (let i = 0; i < N; i++) {
      if (hidden.has(i)) continue;
      context.strokeStyle = css(episode.meta.objects[i].colour);
      context.beginPath();
      for (let t = first; t < episode.length; t++) {
        const loss = episode.fields.discovery_loss[t * N + i];
        context.lineTo(x(t), lane.loss + lane.room * (1 - Math.min(loss, scales.loss) / scales.loss));
      }
      context.stroke();
    }
  }

  function paintViews(episode, hidden, lane, first) {
    episode.meta.objects.forEach((object, i) => {
      if (hidden.has(i)) return;
      context.fillStyle = css(object.colour);
      const y = lane.strips + i * STRIP;
      for (let t = first; t < episode.length; t++) {
        if (episode.isInView(t, i)) context.fillRect(x(t), y, Math.max(1, width / steps), STRIP - 1);
      }
    });
  }

  /** Where a person had the wheel (a line on top) or moved an object (a line across). */
  function paintHands(episode, palette, first) {
    for (let t = first; t < episode.length; t++) {
      context.fillStyle = css(palette.accent);
      if (episode.hands[t] & 1) context.fillRect(x(t), 0, Math.max(1, width / steps), 2);
      if (episode.hands[t] & 2) context.fillRect(x(t) - 0.5, 0, 1, height);
    }
  }

  function paintTitles(episode, palette, scales, lane) {
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "alphabetic";
    context.fillStyle = css(palette.muted);
    const least = scales.down ? `−${scales.down}` : "0";
    context.fillText(`reward of each step, ${least} to ${scales.up} nats (square-root scale)`, 0, GAP - 4);
    context.fillText(`discovery loss, 0 to ${scales.loss} nats`, 0, lane.loss - 4);
    context.fillText("in view", 0, lane.strips - 4);
  }

  /** Brings the canvas up to date. `style` is any value that changes with theme or layers. */
  function draw(episode, palette, hidden, style) {
    if (width <= 1) return;
    steps = episode.sizes.T - 1;
    const scales = scalesOf(episode, hidden);
    const isSame = drawn && drawn.episode === episode && drawn.style === style && drawn.version === episode.version;
    const fits = isSame && drawn.length <= episode.length && JSON.stringify(drawn.scales) === JSON.stringify(scales);
    if (!fits) paint(episode, palette, hidden, scales, 0);
    else if (drawn.length < episode.length) paint(episode, palette, hidden, scales, Math.max(0, drawn.length - 2));
    drawn = { episode, style, scales, length: episode.length, version: episode.version };
  }

  /** Moves the playhead. */
  function point(t) {
    head.style.transform = `translateX(${x(t)}px)`;
    element.setAttribute("aria-valuenow", t);
  }

  return { element, canvas, draw, point, set onresize(f) { onresize = f; }, get steps() { return steps; } };
}
