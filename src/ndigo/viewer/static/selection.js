/** What can be watched: which agents, of which seeds, in which world. All panes share one world and one episode. */

const agentOf = (catalogue, id) => catalogue.agents.find((agent) => agent.id === id);

/** What a page opens with: all agents that were asked for, in a world that they share. */
export function firstSelection(catalogue) {
  const [first, ...others] = catalogue.agents;
  const world = first.worlds[0];
  const second = catalogue.compare ? others.find((agent) => agent.worlds.includes(world)) : null;
  const panes = [first, second].filter(Boolean).map(({ id }) => ({ agent: id, seed: 0 }));
  return { panes, world, episode: catalogue.first_episode ?? 0 };
}

/** All worlds; choosing one that an agent shown does not fit brings others (`fitAgents`). */
export function worldOptions(catalogue) {
  return catalogue.worlds.map(({ name, title }) => ({ value: name, label: title }));
}

/** The names of the worlds that fit all these panes. */
function sharedWorlds(catalogue, panes) {
  const fits = (name) => panes.every(({ agent }) => agentOf(catalogue, agent).worlds.includes(name));
  return catalogue.worlds.map(({ name }) => name).filter(fits);
}

/** The change of selection that goes to a world: with the same agents, or with the first that live there. */
export function fitAgents(catalogue, { panes }, world) {
  if (sharedWorlds(catalogue, panes).includes(world)) return { world };
  const fitting = catalogue.agents.filter((agent) => agent.worlds.includes(world));
  const natives = fitting.filter((agent) => agent.worlds[0] === world);
  const chosen = [...new Set([...natives, ...fitting])].slice(0, panes.length);
  return { world, panes: chosen.map(({ id }) => ({ agent: id, seed: 0 })) };
}

/** What there is to choose from for pane i: agents (with two panes, those that share a world), seeds, checkpoints. */
export function optionsOf(catalogue, { panes }, i) {
  const others = panes.filter((_, j) => j !== i).map(({ agent }) => agentOf(catalogue, agent));
  const fits = (agent) => others.every((other) => agent.worlds.some((world) => other.worlds.includes(world)));
  const { seeds, steps } = agentOf(catalogue, panes[i].agent);
  return {
    agents: catalogue.agents.map((agent) => ({ value: agent.id, label: agent.label, disabled: !fits(agent) })),
    seeds: seeds.map((label, seed) => ({ value: seed, label })),
    steps: steps ?? [],
  };
}

/** The change of selection that puts `pane` at i: with another world where the present one does not fit it. */
export function fitWorld(catalogue, selection, i, pane) {
  const panes = selection.panes.map((old, j) => (i === j ? pane : old));
  const options = sharedWorlds(catalogue, panes);
  const home = agentOf(catalogue, pane.agent).worlds.find((world) => options.includes(world));
  return { panes, world: options.includes(selection.world) ? selection.world : home };
}

/** Panes with a second agent beside the first: another one, or another seed of it; null where there is none. */
export function addPane(catalogue, { panes: [first], world }) {
  const other = catalogue.agents.find((agent) => agent.id !== first.agent && agent.worlds.includes(world));
  if (other) return [first, { agent: other.id, seed: 0 }];
  const num = agentOf(catalogue, first.agent).seeds.length;
  return num > 1 ? [first, { agent: first.agent, seed: (first.seed + 1) % num }] : null;
}

export function removePane(catalogue, { panes }) {
  return panes.slice(0, 1);
}
