/** Key moments of an episode, to mark and to jump between; and a sentence for the step that is shown. */

import { NOTHING, signed } from "./numbers.js";

const KNOWN = 0.5; // nats: the belief in the true cell is above 60%
const APART = 5; // steps between two moments that are worth telling apart
const STAYS = 30; // steps for which a moment is the caption
const SOON = 10; // steps whose pay is told beside a find: one step's alone may be noise
const MOST = 12;

const PAYS = [
  [/^ndigo/, "paid for what a frame tells it about the frames to come"],
  [/^pe$/, "paid for whatever it did not predict"],
  [/^pg$/, "paid for what its model has just learned"],
  [/^icm$/, "paid for changes of its own doing that it did not predict"],
  [/^ig$/, "paid for what a perfect memory would learn"],
  [/^random$/, "acts at random, paid nothing"],
  [/^task$/, "paid by the task alone"],
];

/** What the SOON steps from the one that led to frame t were paid for channel c, together; NaN while one is to come. */
function paidFor(episode, t, c) {
  const { C } = episode.sizes;
  if (t - 1 + SOON > episode.steps) return NaN;
  let sum = 0;
  for (let s = t - 1; s < t - 1 + SOON; s++) {
    sum += c < 0 ? episode.fields.reward[s] : episode.fields.reward_c[s * C + c];
  }
  return sum;
}

const isOfPay = (text) => text.startsWith("largest");

/** The text with what is paid for it, in all or for channel c. */
function withPay(text, episode, t, c) {
  const paid = paidFor(episode, t, c);
  return Math.abs(paid) >= 0.05 ? `${text}, ${signed(paid, 1)}${episode.unit} in ${SOON} steps` : text;
}

function firstFrame(episode, holds) {
  for (let t = 0; t < episode.length; t++) if (holds(t)) return t;
  return -1;
}

function largest(count, valueOf) {
  let best = { t: -1, value: 0 };
  for (let t = 0; t < count; t++) {
    const value = valueOf(t);
    if (value > best.value) best = { t, value };
  }
  return best;
}

/** First sights, and when the belief had it. */
function ofObjects(episode) {
  const { N } = episode.sizes;
  return episode.meta.objects.flatMap(({ name, colour }, i) => {
    const found = episode.isPictured ? -1 : firstFrame(episode, (t) => episode.isInView(t, i));
    const knows = firstFrame(episode, (t) => episode.fields.discovery_loss[t * N + i] < KNOWN);
    const moments = [];
    if (found > 0) {
      moments.push({ t: found, colour, text: withPay(`found “${name}”`, episode, found, episode.channelOf[i]) });
    }
    if (knows > 0 && (found < 0 || Math.abs(knows - found) > APART)) {
      moments.push({ t: knows, colour, text: `knows where “${name}” is` });
    }
    return moments;
  });
}

function ofEvents(episode) {
  const { B } = episode.sizes;
  return (episode.meta.events ?? []).flatMap((name, b) => {
    const t = episode.fields.events ? firstFrame(episode, (s) => episode.fields.events[s * B + b]) : -1;
    return t > 0 ? [{ t, text: withPay(`first ${name}`, episode, t, -1) }] : [];
  });
}

function ofPay(episode) {
  const { fields, meta } = episode;
  const moments = [];
  const most = largest(episode.steps, (t) => fields.reward[t] || 0);
  if (most.value >= 0.05) {
    const parts = [...episode.at("reward_c", most.t)];
    const c = parts.indexOf(Math.max(...parts));
    const what = parts.length > 1 && parts[c] > 0 ? `, mostly for ${meta.channels[c].name}` : "";
    moments.push({ t: most.t + 1, text: `largest reward, ${signed(most.value, 1)}${episode.unit}${what}` });
  }
  const surprise = episode.isPictured ? largest(episode.length, (t) => episode.surprise(t)) : { t: -1 };
  if (surprise.t > 0) moments.push({ t: surprise.t, text: `largest surprise, ${surprise.value.toFixed(1)} nats` });
  const task = fields.task ? firstFrame(episode, (t) => t > 0 && fields.task[t - 1] > 0) : -1;
  if (task > 0) moments.push({ t: task, text: `the task pays ${signed(fields.task[task - 1], 1)}` });
  return moments;
}

function ofHands(episode) {
  const moved = firstFrame(episode, (t) => episode.hands[t] & 2);
  return moved < 0 ? [] : [{ t: moved, text: "you moved an object" }];
}

/** [{t, text, colour}] in order, of what is known of the episode; colour where it is an object's. */
export function momentsOf(episode) {
  const all = [...ofHands(episode), ...ofObjects(episode), ...ofEvents(episode), ...ofPay(episode)];
  const chosen = [];
  for (const moment of all) {
    const isNear = chosen.some(({ t, text }) => Math.abs(t - moment.t) < 2 && text !== moment.text);
    if (moment.t < episode.length && !(isNear && isOfPay(moment.text)) && chosen.length < MOST) chosen.push(moment);
  }
  return chosen.sort((a, b) => a.t - b.t);
}

/** What there is to say at frame t: the newest moment, or what the agent is paid for. */
export function captionOf(episode, moments, t) {
  const past = moments.filter((moment) => moment.t <= t && t - moment.t < STAYS);
  const finds = past.filter(({ text }) => !isOfPay(text)); // a find says more than a sum
  const newest = (finds.length ? finds : past).pop();
  if (newest) return `step ${newest.t}: ${newest.text}`;
  const pays = PAYS.find(([name]) => name.test(episode.meta.reward ?? ""));
  return pays ? `${episode.meta.reward}: ${pays[1]}` : (episode.meta.reward ?? NOTHING);
}
