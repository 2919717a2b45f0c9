import type { Detection } from '../../agents/detect.ts';
import type { Login } from '../../agents/login.ts';

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

/** Those that can begin at once first, and the user's own choice before others. */
export function readyAgents(detected: readonly Detection[], { wanted, hasModel }: User): ReadyAgent[] {
  const rank = ({ name, isInstalled, login }: ReadyAgent) => {
    const own = name === wanted ? 0 : 1;
    // Reef's own is always there; without a model that is no merit.
    if (name.startsWith('native:') && login === 'no') return 4.5;
    return (!isInstalled ? 4 : login === 'no' ? 2 : 0) + own;
  };
  // `codex-exec` is another door to `codex`: one line is enough for a newcomer.
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
    ...{ name, title, isInstalled, login },
    ...(version !== undefined && { version }),
    ...(finding !== undefined && { finding }),
    ...(!isInstalled ? { toDo: install } : login === 'no' ? { toDo: toLogIn } : {}),
  };
}
