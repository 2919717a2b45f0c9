import type { Detection, Login } from '../../agents/detect.ts';
import type { Environment } from '../../base/env.ts';
import { loadConfig } from '../../runtime/config/load.ts';

export interface ReadyAgent {
  name: string;
  title: string;
  isInstalled: boolean;
  login: Login;
  version?: string;
  finding?: string;
  /** What is left to do before it can work. */
  toDo?: string;
}

export interface User {
  wanted: string;
  /** Reef's own agent needs a model, and no program. */
  hasModel: boolean;
}

export const isAble = ({ isInstalled, login }: ReadyAgent) => isInstalled && login !== 'no';

const ADD_MODEL = 'add a model to `clients` in ~/.config/reef/config.yaml';

/** Agents that can start at once come first, and the user's own choice before others. */
export function readyAgents(detected: readonly Detection[], { wanted, hasModel }: User): ReadyAgent[] {
  const rank = ({ name, isInstalled, login }: ReadyAgent) => {
    const own = name === wanted ? 0 : 1;
    // Reef's own is always there; without a model that is no merit.
    if (name.startsWith('native:') && login === 'no') return 4.5;
    return (!isInstalled ? 4 : login === 'no' ? 2 : 0) + own;
  };
  // `codex-exec` is another way to run `codex`: one line is enough for a newcomer.
  const agents = detected.filter(({ name }) => name !== 'codex-exec').map((each) => ready(each, hasModel));
  return agents.sort((a, b) => rank(a) - rank(b));
}

function ready(found: Detection, hasModel: boolean): ReadyAgent {
  const { name, title, version, finding, install } = found;
  const isInstalled = found.path !== undefined && found.severity !== 'error';
  const isNative = name.startsWith('native:');
  const login: Login = isNative ? (hasModel ? 'yes' : 'no') : (found.login ?? 'unknown');
  const toLogIn = isNative ? ADD_MODEL : (found.loginBy ?? '');
  return {
    name,
    title,
    isInstalled,
    login,
    ...(version !== undefined && { version }),
    ...(finding !== undefined && { finding }),
    ...(!isInstalled ? { toDo: install } : login === 'no' ? { toDo: toLogIn } : {}),
  };
}

/** Imported late: what is broken there is a finding, and no reason for doctor not to start. */
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
  return { wanted: config.reef.default_agent, hasModel: config.clients.length > 0 };
}
