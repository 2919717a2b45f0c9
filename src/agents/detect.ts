import { existsSync, realpathSync } from 'node:fs';
import { findOnPath } from '../base/programs.ts';
import { allowedEnv } from '../process/environment.ts';
import { run } from '../process/run.ts';
import { ReefError } from '../protocol/errors.ts';
import { namedPath } from './named-path.ts';
import type { AdapterRegistry, RegisteredAgent } from './registry.ts';
import { isOlder } from './version-order.ts';

export interface Detection {
  name: string;
  title: string;
  /** What is looked for on PATH. */
  program?: string;
  /** Absent: it was not found. */
  path?: string;
  version?: string;
  tested?: string;
  recorded?: string;
  /** Absent: it was not found. */
  login?: Login;
  /** How to log in. */
  loginBy?: string;
  /** Names of variables of the daemon's that reach it. */
  reads?: readonly string[];
  /** What is wrong, or worth knowing; absent when all is well. */
  finding?: string;
  severity: 'ok' | 'warn' | 'error';
  install: string;
}

export interface Found {
  command: [string, ...string[]];
  version?: string;
}

/** The program of an agent, or the error that says how to get it. Only looks: cheap enough for every spawn. */
export function locateAgent(agent: RegisteredAgent, searchPath: string): Found['command'] {
  const about = agent.adapter.describe();
  const [program, ...args] = agent.settings.command ?? [about.executable];
  const path = findOnPath(program, searchPath);
  if (path === undefined) {
    const message = `${program} (${about.title}) is not on PATH. Install it with: ${about.install}`;
    throw new ReefError('agent_not_installed', message);
  }
  const real = realpathSync(path);
  return [about.behindLauncher?.(real).find(existsSync) ?? path, ...args];
}

/** The same with its version, refused when it is too old to be driven. */
export async function findAgent(agent: RegisteredAgent, env: NodeJS.ProcessEnv): Promise<Found> {
  const about = agent.adapter.describe();
  const command = locateAgent(agent, env.PATH ?? '');
  const version = about.versionArgs.length === 0 ? undefined : await askVersion(command[0], about.versionArgs, env);
  if (version !== undefined && about.minimum !== undefined && isOlder(version, about.minimum)) {
    const message = `${about.title} ${version} is older than ${about.minimum}. Update it with: ${about.install}`;
    throw new ReefError('agent_too_old', message);
  }
  return version === undefined ? { command } : { command, version };
}

/** Every agent the registry knows, for `reef doctor`. */
export async function detectAgents(registry: AdapterRegistry, env: NodeJS.ProcessEnv): Promise<Detection[]> {
  return Promise.all(registry.names().map((name) => detect(name, registry, env)));
}

async function detect(name: string, registry: AdapterRegistry, env: NodeJS.ProcessEnv): Promise<Detection> {
  let about: Pick<Detection, 'name' | 'title' | 'program' | 'install' | 'tested' | 'recorded'> = {
    name,
    title: name,
    install: '',
  };
  try {
    const agent = registry.get(name);
    const { title, executable, install, tested, recorded, login, passEnv } = agent.adapter.describe();
    about = {
      name,
      title,
      install,
      program: agent.settings.command?.[0] ?? executable,
      ...(tested !== undefined && { tested }),
      ...(recorded !== undefined && { recorded }),
    };
    // As a job would: what the user's settings give the agent goes before, its PATH too.
    const { command, version } = await findAgent(agent, { ...env, ...agent.settings.env });
    const isNewer = version !== undefined && tested !== undefined && isOlder(tested, version);
    return {
      ...about,
      path: command[0],
      ...(version === undefined ? {} : { version }),
      ...(isNewer ? { finding: `newer than ${tested}, the version Reef was tested with` } : {}),
      ...{ login: loginOf(agent, env), loginBy: login, reads: passEnv, severity: 'ok' },
    };
  } catch (error) {
    if (!(error instanceof ReefError)) throw error;
    return { ...about, finding: error.message, severity: error.code === 'agent_not_installed' ? 'warn' : 'error' };
  }
}

async function askVersion(file: string, args: string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { PATH = '', HOME = '/' } = env;
  const said = await run({
    file,
    args,
    cwd: '/',
    env: { PATH, HOME, NO_COLOR: '1' },
    timeoutMs: 20_000,
    maxBytes: 65_536,
  });
  return /\d+\.\d+\.\d+/.exec(said.stdout.toString())?.[0];
}

export type Login = 'yes' | 'no' | 'unknown';

/**
 * Whether an agent shows a sign of its log-in. Asking the program itself would make it write and call home. On a Mac the
 * log-in may be in the keychain, which nobody but its owner opens: there a missing sign says nothing.
 */
function loginOf({ adapter, settings }: RegisteredAgent, env: NodeJS.ProcessEnv): Login {
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
