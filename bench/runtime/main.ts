import { benchMetaTools, benchPool, benchTransitions } from './mcp.ts';
import { benchIndex, benchQuality } from './rag.ts';

const benches: Record<string, () => Promise<boolean>> = {
  pool: benchPool,
  transitions: benchTransitions,
  'meta-tools': benchMetaTools,
  quality: benchQuality,
  index: benchIndex,
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
