import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { World } from '../e2e/harness.ts';
import { COMPILED } from './compile-cache.ts';
import { until } from './wait.ts';

const DAEMON = join(import.meta.dirname, '../../src/programs/daemon/daemon.ts');

/** Starts the daemon of a world as the command line does, but inside another program or with more in its environment. */
export async function startDaemon(
  { home, repository, env, client }: World,
  { inside = [], more = {} }: { inside?: readonly string[]; more?: NodeJS.ProcessEnv },
): Promise<number> {
  mkdirSync(home.dir, { recursive: true, mode: 0o700 });
  const log = openSync(home.log, 'a', 0o600);
  const [file = '', ...args] = [...inside, process.execPath, DAEMON, '--home', home.dir, '--repository', repository];
  spawn(file, args, {
    cwd: home.dir,
    env: { ...env, NODE_COMPILE_CACHE: COMPILED, ...more },
    detached: true,
    stdio: ['ignore', log, log],
  }).unref();
  closeSync(log);
  return until('the daemon listens', async () => (await client.daemon())?.pid);
}
