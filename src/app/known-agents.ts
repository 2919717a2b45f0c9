import type { AdapterRegistry } from '../agents/registry.ts';
import type { KnownAgents } from '../workflow/manifest/check-block.ts';

/** Of the agents we know only Claude Code tells what a turn costs. */
const TELL_COST = new Set(['claude']);

export function knownAgents(registry: Pick<AdapterRegistry, 'names'>): KnownAgents {
  return Object.fromEntries(registry.names().map((name) => [name, { reportsCost: TELL_COST.has(name) }]));
}
