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

/** Whether a selection made from another catalogue can still be had. */
export function isOffered(catalogue, { panes, world }) {
  return panes.every(({ agent, seed }) => {
    const found = agentOf(catalogue, agent);
    return found && seed < found.seeds.length && found.worlds.includes(world);
  });
}

/** Worlds that fit every agent shown. */
export function worldOptions(catalogue, { panes }) {
  const fits = (name) => panes.every(({ agent }) => agentOf(catalogue, agent).worlds.includes(name));
  return catalogue.worlds.filter(({ name }) => fits(name)).map(({ name, title }) => ({ value: name, label: title }));
}

/** Agents for pane i; with two panes, those that share a world with the other. */
export function agentOptions(catalogue, { panes }, i) {
  const others = panes.filter((_, j) => j !== i).map(({ agent }) => agentOf(catalogue, agent));
  const fits = (agent) => others.every((other) => agent.worlds.some((world) => other.worlds.includes(world)));
  return catalogue.agents.map((agent) => ({ value: agent.id, label: agent.label, disabled: !fits(agent) }));
}

export function seedOptions(catalogue, { panes }, i) {
  return agentOf(catalogue, panes[i].agent).seeds.map((label, seed) => ({ value: seed, label }));
}

/** The change of selection that puts `pane` at i: with another world where the present one does not fit it. */
export function fitWorld(catalogue, selection, i, pane) {
  const panes = selection.panes.map((old, j) => (i === j ? pane : old));
  const options = worldOptions(catalogue, { panes }).map(({ value }) => value);
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
