/** What a frame's pictures show, in words. */

/** {world, belief, seen} at frame t. */
export function describeEpisode(episode, t) {
  const { N, R, W } = episode.sizes;
  const { objects } = episode.meta;
  if (!episode.hasMap) {
    return { world: "World", belief: "Belief", seen: `What the agent sees at step ${t}, as a picture` };
  }
  const place = (name, i) => episode.at(name, t).subarray(2 * i, 2 * i + 2).join(", column ");
  const things = objects.map((object, i) => `${object.name} at row ${place("objects", i)}`);
  const all = [`agent at row ${place("agent", 0)}`, ...things];
  const guesses = objects.map((object, i) => {
    const part = episode.at("belief", t).subarray(i * R * W, (i + 1) * R * W);
    const best = part.reduce((top, q, cell) => (q > part[top] ? cell : top), 0);
    const p = Math.round(100 * (part[best] / 255) ** 2);
    return `${object.name} most likely at row ${Math.floor(best / W)}, column ${best % W} (${p}%)`;
  });
  const inView = episode.isPictured ? [] : objects.filter((_, i) => episode.isInView(t, i)).map(({ name }) => name);
  return {
    world: `World at step ${t}: ${all.join("; ")}`,
    belief: N ? `Belief at step ${t}: ${guesses.join("; ")}` : "Belief",
    seen: `The agent sees ${inView.join(" and ") || "no object"}`,
  };
}
