import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../base/env.ts';
import type { Home } from '../../base/home.ts';
import { joinedPath, loginPath } from '../../process/login-shell.ts';
import { startDetached } from '../../process/start-child.ts';
import { startDaemon } from './start-daemon.ts';

const DAEMON = fileURLToPath(new URL('../../programs/daemon/daemon.ts', import.meta.url));

/** An MCP server may have been started by a desktop with a short PATH, so that of the login shell is added. */
async function pathFor(surface: 'cli' | 'mcp', env: Environment): Promise<string> {
  return surface === 'cli' ? env.path : joinedPath(env.path, (await loginPath(env)) ?? '');
}

interface Launch {
  env: Environment;
  surface: 'cli' | 'mcp';
  onSlow?: (() => unknown) | undefined;
}

export async function launchDaemon(home: Home, { env, surface, onSlow }: Launch): Promise<void> {
  const repository = home.repository === undefined ? [] : ['--repository', home.repository];
  // A small young generation: under a flood of events V8 would otherwise grow by 200 MB before it collects.
  const args = ['--max-semi-space-size=8', DAEMON, '--home', home.dir, ...repository];
  // With the cache the daemon starts in half the time. bin/reef.cjs does the same for itself.
  const cache = { NODE_COMPILE_CACHE: join(env.cacheHome, 'reef', 'compile-cache') };
  const PATH = await pathFor(surface, env);
  const launch = { env: { ...cache, ...env.all, PATH }, cwd: home.dir, logFile: home.log };
  await startDaemon({ home, onSlow, launch: () => startDetached(process.execPath, args, launch) });
}
