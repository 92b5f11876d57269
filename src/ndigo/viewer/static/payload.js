/**
 * Recorded episodes as bytes: gzip of JSON {format, version, recordings: [[episode, ...], ...]}, a list for each agent.
 *
 * gzip carries a checksum, so a flipped byte is an error here and not a wrong picture.
 */

import { TYPES, checkArrays, makeEpisode, sizesOf } from "./episode.js";

const FORMAT = "ndigo-player";
const VERSION = 1;

export function bytesOfBase64(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** An array that came as {dtype, shape, data: base64}, with its values. */
export function readArray({ dtype, shape, data }) {
  const values = new TYPES[dtype](bytesOfBase64(data).buffer);
  if (values.length !== shape.reduce((a, b) => a * b, 1)) throw new Error("an array is cut short");
  return { dtype, shape, values };
}

/** The recordings in compressed bytes, as lists of episodes still in JSON; an error says what is wrong. */
export async function unpack(bytes) {
  let content;
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    content = await new Response(stream).json();
  } catch {
    throw new Error("the recording is damaged: it cannot be decompressed");
  }
  if (content?.format !== FORMAT) throw new Error("the recording is foreign: it is not of ndigo's player");
  if (content.version !== VERSION) {
    throw new Error(`the recording has version ${content.version}; this player reads version ${VERSION}`);
  }
  const isList = (x) => Array.isArray(x) && x.length > 0;
  if (!isList(content.recordings) || !content.recordings.every((r) => isList(r) && r.every((e) => e?.meta?.label))) {
    throw new Error("the recording is damaged: it holds no episode");
  }
  return content.recordings;
}

/** An episode from its JSON form, checked. */
export function readEpisode({ meta, ...packed }) {
  try {
    const arrays = Object.fromEntries(Object.entries(packed).map(([name, array]) => [name, readArray(array)]));
    const { seen, drawn } = arrays;
    const pictures = { seen: seen?.shape.slice(1), drawn: drawn?.shape.slice(1) };
    const sizes = sizesOf(meta, arrays.walls?.shape, pictures);
    checkArrays(arrays, sizes);
    const fields = Object.fromEntries(Object.entries(arrays).map(([name, { values }]) => [name, values]));
    return makeEpisode(meta, fields.walls, sizes, fields, sizes.T);
  } catch (error) {
    throw new Error(`the recording is damaged: ${error.message}`);
  }
}
