import { readFileSync, rmSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { serveEgress } from './proxy.ts';
import type { EgressRules } from './rules.ts';

/**
 * The proxy of one sandbox, outside of it and in the same process tree: `main.ts RULES PARENT`. It ends with the process that
 * started it, and no signal that is meant for the agent ends it before.
 */

const [rulesFile = '', parent] = process.argv.slice(2);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
const LOOK_MS = 250;
setInterval(() => {
  if (process.ppid !== Number(parent)) process.exit();
}, LOOK_MS);

const rules = JSON.parse(readFileSync(rulesFile, 'utf8')) as EgressRules;
rmSync(rulesFile); // it may hold a password
rmSync(rules.socket, { force: true }); // of an earlier launch
const server = serveEgress(rules, (line) => process.stderr.write(`${line}\n`));
// It is killed in the end, and then nothing is written any more.
server.listen(rules.socket, () => flushCompileCache());
