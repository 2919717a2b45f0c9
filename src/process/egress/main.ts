import { readFileSync, rmSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { serveEgress } from './proxy.ts';
import type { EgressRules } from './rules.ts';

/**
 * The proxy of one sandbox, outside of it and in the same process tree: `main.ts RULES PARENT SOCKET`, where SOCKET is the descriptor
 * of a socket that listens. It ends with the process that started it, and no signal that is meant for the agent ends it before.
 */

const [rulesFile = '', parent, socket] = process.argv.slice(2);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
const LOOK_MS = 250;
setInterval(() => {
  if (process.ppid !== Number(parent)) process.exit();
}, LOOK_MS);

const rules = JSON.parse(readFileSync(rulesFile, 'utf8')) as EgressRules;
rmSync(rulesFile); // it may hold a password
const server = serveEgress(rules, (line) => process.stderr.write(`${line}\n`));
// It is killed in the end, and then nothing is written any more.
server.listen({ fd: Number(socket) }, () => flushCompileCache());
