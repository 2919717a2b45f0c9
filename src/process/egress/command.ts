import { writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type EgressRules, loopbackPorts } from './rules.ts';

const PROXY = fileURLToPath(new URL('./main.ts', import.meta.url));
const WAIT = fileURLToPath(new URL('./wait.pl', import.meta.url));
const FORWARD = fileURLToPath(new URL('./forward.pl', import.meta.url));
/** Tried from here on: a port that is forwarded keeps its number. */
const FIRST_PORT = 3128;

/** What programs ask for the way out, besides the common variables: Node's own fetch, and Yarn. */
const OTHER_NAMES = ['YARN_HTTP_PROXY', 'YARN_HTTPS_PROXY'];
const NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];
const NO_PROXY = 'localhost,127.0.0.1,::1';

/**
 * The three parts of a network of its own: what runs beside the sandbox, what stands before the program inside, and what
 * programs are told. Writes the rules to the scratch folder, which the sandbox does not show.
 */
export function egressCommand(rules: EgressRules, scratch: string, perl: string) {
  // Gates of one worktree share its scratch folder.
  const file = join(scratch, `egress-${basename(dirname(rules.socket))}.json`);
  writeFileSync(file, JSON.stringify(rules), { mode: 0o600 });
  const cache = getCompileCacheDir();
  const ports = loopbackPorts(rules.named);
  let port = FIRST_PORT;
  while (ports.includes(port)) port += 1;
  const url = `http://127.0.0.1:${port}`;
  const variables = {
    ...Object.fromEntries(
      [...NAMES, ...NAMES.map((name) => name.toLowerCase()), ...OTHER_NAMES].map((name) => [name, url]),
    ),
    ...{ NO_PROXY, no_proxy: NO_PROXY, NODE_USE_ENV_PROXY: '1' },
  };
  return {
    // With what was compiled before it starts in a third of the time.
    outside: [
      ...[perl, WAIT, rules.socket],
      '/usr/bin/env',
      `NODE_COMPILE_CACHE=${cache === undefined ? '' : dirname(cache)}`,
      process.execPath,
      PROXY,
      file,
    ],
    inside: [perl, FORWARD, rules.socket, ...[port, ...ports].map(String), '--'],
    options: Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
  };
}
