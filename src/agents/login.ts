import { existsSync } from 'node:fs';
import { allowedEnv } from '../process/environment.ts';
import { namedPath } from './named-path.ts';
import type { RegisteredAgent } from './registry.ts';

export type Login = 'yes' | 'no' | 'unknown';

/**
 * Whether an agent shows a sign of its log-in. Asking the program itself would make it write and call home. On a Mac the
 * log-in may be in the keychain, which nobody but its owner opens: there a missing sign says nothing.
 */
export function loginOf({ adapter, settings }: RegisteredAgent, env: NodeJS.ProcessEnv): Login {
  const { loginSigns, passEnv } = adapter.describe();
  if (loginSigns === undefined) return 'unknown';
  const given = allowedEnv(env, passEnv, settings.env ?? {});
  if (loginSigns.some((sign) => isShown(sign, given))) return 'yes';
  return process.platform === 'darwin' ? 'unknown' : 'no';
}

function isShown(sign: string, given: Readonly<Record<string, string>>): boolean {
  const path = namedPath(sign, given);
  return path !== undefined && (!sign.includes('/') || existsSync(path));
}
