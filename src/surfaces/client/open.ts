import type { Environment } from '../../base/env.ts';
import { findHome } from '../../base/home.ts';
import { type Client, connect } from './client.ts';

interface Where {
  env: Environment;
  cwd: string;
  surface: 'cli' | 'mcp';
}

/** The client of this place. Nothing is touched before its first call. */
export function openClient({ env, cwd, surface }: Where): Client {
  const ofJob = env.reefSocket;
  if (ofJob) return connect({ socket: ofJob, surface });
  const home = findHome(env, cwd);
  return connect({
    socket: home.socket,
    surface,
    startDaemon: async () => {
      // Seldom needed, so not paid for by every command (U-05).
      const { launchDaemon } = await import('./launch-daemon.ts');
      await launchDaemon(home, env, surface);
    },
  });
}
