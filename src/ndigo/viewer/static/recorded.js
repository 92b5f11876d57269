/** Recorded episodes as a source: everything is there from the start, and nothing can be changed. */

import { readEpisode } from "./payload.js";

/** The source of recordings, [[episode in JSON, ...] of each agent]. */
export function recordedSource(recordings) {
  const worldOf = (r) => recordings[r][0].meta.world;
  const worlds = [...new Set(recordings.map((_, r) => worldOf(r)))];
  const read = new Map(); // "recording:episode" -> episode, decoded when first watched

  function episodeOf(r, e) {
    const name = `${r}:${e}`;
    if (!read.has(name)) read.set(name, readEpisode(recordings[r][e]));
    return read.get(name);
  }

  const labelOf = (r) => recordings[r][0].meta.label;
  const firsts = new Set(recordings.map(([{ meta }]) => meta.first_episode ?? 0));
  const first = firsts.size === 1 ? [...firsts][0] : 0; // episodes keep their numbers where all agents agree on them

  return {
    isLive: false,
    catalogue: {
      agents: recordings.map((_, r) => ({ id: String(r), label: labelOf(r), seeds: [""], worlds: [worldOf(r)] })),
      worlds: worlds.map((name) => ({ name, title: name })),
      first_episode: first,
      least_episode: first,
      last_episode: first + Math.max(...recordings.map((episodes) => episodes.length)) - 1,
    },
    ready: Promise.resolve(),
    fetchUntil: () => {},
    async open({ panes, episode }) {
      const last = Math.min(...panes.map(({ agent }) => recordings[Number(agent)].length)) - 1;
      return panes.map(({ agent }) => episodeOf(Number(agent), Math.min(episode - first, last)));
    },
  };
}
