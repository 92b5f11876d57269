/**
 * One episode of one agent, as flat typed arrays over its frames: the same for a recording and for a live session.
 *
 * Sizes: T frames, N objects, C channels, V view, R x W map, K steps ahead; Y x X pictures of frames, H x S pictures of
 * the world's own, B events. `belief` and `exact` are 255 sqrt(p), `ahead` 255 p. What is not determined yet is NaN
 * (numbers) or -1 (an action). A world without a map has V = R = W = 0, and pictures.
 */

export const TYPES = { uint8: Uint8Array, int32: Int32Array, uint32: Uint32Array, float32: Float32Array };

/** Each field's type and the shape of one frame of it. */
const FIELDS = {
  agent: ["uint8", () => [2]],
  objects: ["uint8", (s) => [s.N, 2]],
  o: ["uint8", (s) => [s.V, s.V, s.C]],
  a: ["int32", () => []],
  belief: ["uint8", (s) => [s.N, s.R, s.W]],
  discovery_loss: ["float32", (s) => [s.N]],
  reward: ["float32", () => []],
  reward_c: ["float32", (s) => [s.C]],
  ahead: ["uint8", (s) => [s.K, s.V, s.V, s.C]],
};

/** What only some worlds have. */
const EXTRAS = {
  exact: ["uint8", (s) => [s.N, s.R, s.W]],
  seen: ["uint8", (s) => [s.Y, s.X, 3]],
  expected: ["uint8", (s) => [s.K, s.Y, s.X, 3]],
  drawn: ["uint8", (s) => [s.H, s.S, 3]],
  loss_c: ["float32", (s) => [s.C]],
  task: ["float32", () => []],
  events: ["uint8", (s) => [s.B]],
};

/** Of a live frame, what belongs to the step before it. */
const OF_STEPS = ["a", "reward", "reward_c", "task"];

const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** Fields of an episode whose extra ones have these names. */
function fieldsWith(names) {
  const extras = Object.entries(EXTRAS).filter(([name]) => names.includes(name));
  return { ...FIELDS, ...Object.fromEntries(extras) };
}

/**
 * The sizes that `meta`, the walls and the pictures ({seen, drawn}: shapes of one frame) give; an error where they are
 * no episode's.
 */
export function sizesOf(meta, wallsShape, { seen = [0, 0, 3], drawn = [0, 0, 3] } = {}) {
  const isText = (x) => typeof x === "string";
  const isCount = (x, least) => Number.isInteger(x) && x >= least && x <= 100000;
  const lists = ["objects", "channels", "actions"].every((name) => Array.isArray(meta?.[name]));
  const good =
    lists &&
    meta.objects.every((o) => isText(o.name) && isText(o.label) && o.colour?.length === 3) &&
    meta.channels.every((c) => isText(c.name)) &&
    isText(meta.label) &&
    isCount(meta.num_steps, 1) &&
    isCount(meta.num_ahead, 0) &&
    isCount(meta.view, 0) &&
    wallsShape?.length === 2 &&
    [...wallsShape, ...seen, ...drawn].every((x) => isCount(x, 0));
  if (!good) throw new Error("its description is not one of ndigo's episodes");
  return {
    T: meta.num_steps + 1,
    N: meta.objects.length,
    C: meta.channels.length,
    V: meta.view,
    K: meta.num_ahead,
    R: wallsShape[0],
    W: wallsShape[1],
    Y: seen[0],
    X: seen[1],
    H: drawn[0],
    S: drawn[1],
    B: meta.events?.length ?? 0,
  };
}

/** Checks that `arrays` ({name: {dtype, shape, values}}) hold a whole episode of these sizes. */
export function checkArrays(arrays, sizes) {
  for (const [name, [dtype, shapeOf]] of Object.entries(fieldsWith(Object.keys(arrays)))) {
    const wanted = [sizes.T, ...shapeOf(sizes)].join(" x ");
    const found = arrays[name];
    if (!found) throw new Error(`it has no ${name}`);
    if (found.dtype !== dtype || found.shape.join(" x ") !== wanted) {
      throw new Error(`its ${name} is ${found.dtype} ${found.shape.join(" x ")}, not ${dtype} ${wanted}`);
    }
  }
}

/** An episode whose first `length` frames are known. `fields` are {name: typed array over all T frames}. */
export function makeEpisode(meta, walls, sizes, fields, length) {
  const known = fieldsWith(Object.keys(fields));
  const strides = Object.fromEntries(Object.entries(known).map(([name, [, shape]]) => [name, product(shape(sizes))]));

  /** The part of a field that belongs to frame t. */
  const at = (name, t) => fields[name].subarray(t * strides[name], (t + 1) * strides[name]);

  const episode = {
    meta,
    walls,
    sizes,
    fields,
    length,
    version: 0, // grows when frames that were known change
    isOver: length === sizes.T, // its last frame is known
    hands: new Uint8Array(sizes.T), // what a person did at a frame: 1 walked, 2 moved an object
    hasMap: sizes.R > 0,
    isPictured: sizes.Y > 0, // frames are pictures, not bits
    at,
    /** By frame, the action whose repetition a live agent's `ahead` supposes; null where `ahead` knows the actions. */
    supposed: null,
    /** Of rewards: nats where they have a split by channel. What has none, as ICM's or a task's, is in its own. */
    get unit() {
      return fields.reward_c.some((r) => r) ? " nats" : ""; // NaN counts as nothing
    },
    /** How many steps are taken. What stands at the last frame is of the step after it, which no ended episode has. */
    get steps() {
      return Math.max(0, episode.length - 1);
    },
    /** The last frame that there is, or may be. */
    get end() {
      return episode.isOver ? episode.length - 1 : sizes.T - 1;
    },
    /** Takes in a live frame at its t. What came after it is forgotten. */
    put(frame) {
      const { t } = frame;
      episode.cut(t + 1);
      if (t < episode.length) episode.version++;
      for (const name of Object.keys(known)) {
        if (!OF_STEPS.includes(name) && frame[name] !== undefined) at(name, t).set(frame[name]);
      }
      episode.supposed ??= new Int8Array(sizes.T).fill(-1);
      episode.supposed[t] = frame.a;
      if (t > 0) fields.a[t - 1] = frame.a_tm1;
      if (t > 0 && fields.task) fields.task[t - 1] = frame.task;
      if (frame.reward_t >= 0) {
        fields.reward[frame.reward_t] = frame.reward;
        at("reward_c", frame.reward_t).set(frame.reward_c);
      }
      episode.length = t + 1;
      episode.isOver = Boolean(frame.is_last);
    },
    /** Forgets the frames from `end` on, and what only they determine: the reward of the step before them. */
    cut(end) {
      if (end >= episode.length) return;
      episode.version++;
      episode.isOver = false;
      episode.hands.fill(0, end);
      episode.hands[end - 1] &= 2; // its step is to be taken again, by whomever
      fields.a.fill(-1, end - 1);
      fields.reward.fill(NaN, end - 1);
      fields.reward_c.fill(NaN, (end - 1) * strides.reward_c);
      episode.length = end;
    },
    /** Whether the prediction made at t for t + k can be held against what came. */
    isComparable(t, k) {
      if (t + k >= episode.length) return false;
      return !episode.supposed || fields.a.subarray(t, t + k).every((a) => a === episode.supposed[t]);
    },
    /** Each object's channel, by its name; -1 where the agent cannot see it as such. */
    channelOf: meta.objects.map((object) => meta.channels.findIndex((channel) => channel.name === object.name)),
    isInView(t, i) {
      const [o, c] = [at("o", t), episode.channelOf[i]];
      if (c >= 0) for (let cell = c; cell < o.length; cell += sizes.C) if (o[cell]) return true;
      return false;
    },
    /** −ln of the exact filter's belief in object i's true cell; Infinity where it calls that impossible. */
    exactLoss(t, i) {
      const [row, col] = at("objects", t).subarray(2 * i, 2 * i + 2);
      return -2 * Math.log(at("exact", t)[(i * sizes.R + row) * sizes.W + col] / 255);
    },
    /** A channel's colour: its object's, or the one that pictures have for it; null where it has none. */
    colourOf(c) {
      const { name } = meta.channels[c];
      const own = (list) => list?.find((entry) => entry.name === name)?.colour ?? null;
      return own(meta.objects) ?? own(meta.legend);
    },
    /** L(t | t-1), over all channels; 0 where nothing was predicted. */
    surprise: (t) => (fields.loss_c ? at("loss_c", t).reduce((a, b) => a + b, 0) : 0),
    /** The sum of what was paid at steps 0..t, per channel and last the whole; undetermined steps count nothing. */
    paidUntil(t) {
      const sums = new Float64Array(sizes.C + 1);
      for (let s = 0; s <= t; s++) {
        if (Number.isNaN(fields.reward[s])) continue;
        for (let c = 0; c < sizes.C; c++) sums[c] += fields.reward_c[s * sizes.C + c];
        sums[sizes.C] += fields.reward[s];
      }
      return sums;
    },
  };
  return episode;
}

/** An episode of which nothing is known yet; `first` is its first frame, {name: {shape, ...}}. */
export function emptyEpisode(meta, walls, wallsShape, first) {
  const sizes = sizesOf(meta, wallsShape, { seen: first.seen?.shape, drawn: first.drawn?.shape });
  const fields = {};
  for (const [name, [dtype, shapeOf]] of Object.entries(fieldsWith(Object.keys(first)))) {
    fields[name] = new TYPES[dtype](sizes.T * product(shapeOf(sizes)));
  }
  fields.a.fill(-1);
  fields.reward.fill(NaN);
  fields.reward_c.fill(NaN);
  return makeEpisode(meta, walls, sizes, fields, 0);
}
