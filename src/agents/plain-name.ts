/** Agents that Reef knows are called by their plain names. Stored jobs and configurations may hold the older ones. */
const OLDER = new Map([
  ['acp:gemini', 'gemini'],
  ['acp:opencode', 'opencode'],
]);

export function plainName(agent: string): string {
  return OLDER.get(agent) ?? agent;
}

/** The older name of an agent, if it has one. */
export function olderName(agent: string): string | undefined {
  return [...OLDER].find(([, plain]) => plain === agent)?.[0];
}
