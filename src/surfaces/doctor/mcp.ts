import type { Review } from '../../runtime/mcp/approval/approvals.ts';
import { byHand, type Check, check, ok, warn } from './finding.ts';

/** The user's own MCP servers: what of them waits for a person. Nothing is said where there are none. */
export function mcpCheck(reviews: () => readonly Review[]): Check {
  return check('mcp', async () => {
    const all = reviews();
    const changed = all.filter(({ state }) => state === 'changed').map(({ server }) => server);
    const tools = all.flatMap(({ server, suspended }) => suspended.map(({ name }) => `${name} of ${server}`));
    if (all.length === 0) return [];
    if (changed.length + tools.length === 0) return ok(`${all.length} in mcp.json, nothing suspended`, 'reef mcp list');
    const fix = byHand('reef mcp approve');
    return [
      ...(changed.length > 0
        ? [warn(`started in another way than you approved, so suspended: ${changed.join(', ')}`, 'mcp.json', fix)]
        : []),
      ...(tools.length > 0
        ? [warn(`not what you approved, so suspended: ${tools.join(', ')}`, 'what the servers say now', fix)]
        : []),
    ];
  });
}
