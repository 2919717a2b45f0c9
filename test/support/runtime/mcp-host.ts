/**
 * A host of servers as a process of its own, so that it can be killed: acquires the specs given as JSON, says `ready`, and
 * lives until its input ends. `--exit` closes first, as a chat does; without it SIGTERM is not handled, as in a crash.
 */
import { parseJson } from '../../../src/base/safe-json.ts';
import type { McpServerSpec } from '../../../src/runtime/mcp/factory.ts';
import { acquireRuntime } from '../../../src/runtime/mcp/scope.ts';
import { testFactory } from './mcp.ts';

const [json = '[]', mode] = process.argv.slice(2);
const parsed = parseJson(json);
if (!parsed.ok) throw new Error(parsed.why);
const factory = await testFactory();
const runtime = await acquireRuntime(factory, parsed.value as McpServerSpec[]);
const leave = async () => {
  await factory.close();
  process.exit(0);
};
if (mode === '--exit') {
  process.on('SIGTERM', () => void leave());
  process.stdin.on('end', () => void leave()).resume();
} else {
  process.stdin.on('end', () => process.exit(0)).resume();
}
console.log(`ready ${runtime.servers.size}`);
