import { benchEvents, benchLoad } from './events.ts';
import { benchMcp } from './mcp.ts';
import { benchSpawn } from './spawn.ts';
import { benchStart } from './start.ts';
import { benchWorkflow } from './workflow.ts';

const benches: Record<string, () => Promise<boolean>> = {
  start: benchStart,
  spawn: benchSpawn,
  mcp: benchMcp,
  events: benchEvents,
  load: benchLoad,
  workflow: benchWorkflow,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(benches, name));
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}
let isMet = true;
for (const [name, bench] of Object.entries(benches)) {
  if (wanted.length === 0 || wanted.includes(name)) isMet = (await bench()) && isMet;
}
console.log(isMet ? '\nall promises kept' : '\na promise was missed: see ✗');
process.exitCode = isMet ? 0 : 1;
