import type { Environment } from '../../base/env.ts';
import { loadConfig } from '../../runtime/config/load.ts';
import type { User } from './ready-agents.ts';

/** Which agent the user's configuration wants, and whether there is a model for Reef's own. */
export function userOf(env: Pick<Environment, 'all' | 'home'>, cwd: string): User {
  const { config } = loadConfig({ env: env.all, home: env.home, cwd });
  return { wanted: config.reef.default_agent, hasModel: config.clients.length > 0 };
}
