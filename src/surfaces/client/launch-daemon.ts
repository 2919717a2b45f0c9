import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../base/env.ts';
import type { Home } from '../../base/home.ts';
import { joinedPath, loginPath } from '../../process/login-shell.ts';
import { startDetached } from '../../process/start-child.ts';
import { startDaemon } from './start-daemon.ts';

const DAEMON = fileURLToPath(new URL('../../programs/daemon/daemon.ts', import.meta.url));

/** A person's command has their PATH. A program that speaks MCP may have been started by a desktop, with hardly any. */
async function pathFor(surface: 'cli' | 'mcp', env: Environment): Promise<string> {
  return surface === 'cli' ? env.path : joinedPath(env.path, (await loginPath(env)) ?? '');
}

export async function launchDaemon(home: Home, env: Environment, surface: 'cli' | 'mcp'): Promise<void> {
  const repository = home.repository === undefined ? [] : ['--repository', home.repository];
  // A small nursery: under a flood of events V8 would rather grow by 200 MB than collect.
  const args = ['--max-semi-space-size=8', DAEMON, '--home', home.dir, ...repository];
  // bin/reef.cjs does this for itself; with it the daemon is up in half the time.
  const cache = { NODE_COMPILE_CACHE: join(env.cacheHome, 'reef', 'compile-cache') };
  const PATH = await pathFor(surface, env);
  const launch = { env: { ...cache, ...env.all, PATH }, cwd: home.dir, logFile: home.log };
  await startDaemon({ home, launch: () => startDetached(process.execPath, args, launch) });
}
