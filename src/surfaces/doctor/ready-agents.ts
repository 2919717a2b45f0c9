import type { Detection, Login } from '../../agents/detect.ts';
import { plainName } from '../../agents/plain-name.ts';
import { shellKeyWords } from '../../agents/shell-keys.ts';
import type { Environment } from '../../base/env.ts';
import { loadConfig } from '../../runtime/config/load.ts';

export interface ReadyAgent {
  name: string;
  title: string;
  isInstalled: boolean;
  login: Login;
  shellKeys?: readonly string[] | undefined;
  version?: string | undefined;
  finding?: string | undefined;
  /** What is left to do before it can work. */
  toDo?: string | undefined;
}

export interface User {
  wanted: string;
  /** What Reef's own agent needs instead of a program. */
  hasModel: boolean;
}

export const isAble = ({ isInstalled, login }: ReadyAgent) => isInstalled && login !== 'no';

/** Says what was found, not what it is worth: only a run tries it. Undefined: nobody can know. */
export function loginWords(name: string, login: Login | undefined, shellKeys?: readonly string[]): string | undefined {
  if (name.startsWith('native:')) return login === 'yes' ? 'a model is configured' : 'no model is configured';
  const found = login === 'yes' ? 'log-in found' : login === 'no' ? 'no log-in found' : undefined;
  return shellKeyWords(shellKeys) ?? found;
}

const ADD_MODEL = 'add a model to `clients` in ~/.config/reef/config.yaml';

/** Agents that can start at once come first, and the user's own choice before others. */
export function readyAgents(detected: readonly Detection[], { wanted, hasModel }: User): ReadyAgent[] {
  const rank = ({ name, isInstalled, login }: ReadyAgent) => {
    const own = name === wanted ? 0 : 1;
    // Reef's own agent is always installed. Without a model that is worth nothing.
    if (name.startsWith('native:') && login === 'no') return 4.5;
    return (!isInstalled ? 4 : login === 'no' ? 2 : 0) + own;
  };
  // `codex-exec` is another way to run `codex`: one line is enough for both.
  const agents = detected.filter(({ name }) => name !== 'codex-exec').map((each) => ready(each, hasModel));
  return agents.sort((a, b) => rank(a) - rank(b));
}

function ready(found: Detection, hasModel: boolean): ReadyAgent {
  const { name, title, version, finding, install, shellKeys } = found;
  const isInstalled = found.path !== undefined && found.severity !== 'error';
  const isNative = name.startsWith('native:');
  const login: Login = isNative ? (hasModel ? 'yes' : 'no') : (found.login ?? 'unknown');
  const toLogIn = isNative ? ADD_MODEL : (found.loginBy ?? '');
  const left = login === 'no' ? toLogIn : undefined;
  return { name, title, isInstalled, login, shellKeys, version, finding, toDo: isInstalled ? left : install };
}

/** Imports late: what is broken there is a finding, and must not keep doctor from starting. */
export async function detectAll(env: Environment): Promise<Detection[]> {
  const [{ detectAgents }, { AdapterRegistry }, { readConfig }] = await Promise.all([
    import('../../agents/detect.ts'),
    import('../../agents/registry.ts'),
    import('../../runtime/config/user-config.ts'),
  ]);
  return detectAgents(new AdapterRegistry(() => readConfig(env).agents), env.all);
}

/** Which agent the user's configuration wants, and whether there is a model for Reef's own. */
export function userOf(env: Pick<Environment, 'all' | 'home'>, cwd: string): User {
  const { config } = loadConfig({ env: env.all, home: env.home, cwd });
  return { wanted: plainName(config.reef.default_agent), hasModel: config.clients.length > 0 };
}
