import { existsSync, realpathSync } from 'node:fs';
import { defined } from '../base/defined.ts';
import { findOnPath } from '../base/programs.ts';
import { allowedEnv } from '../process/environment.ts';
import { run } from '../process/run.ts';
import { ReefError } from '../protocol/errors.ts';
import { isOlder, namedPath } from './description.ts';
import type { AdapterRegistry, RegisteredAgent } from './registry.ts';

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
  /** Variables of the user's shell that a job would get: it has no log-in of its own. */
  shellKeys?: readonly string[];
  /** How to log in. */
  loginBy?: string;
  /** Names of the daemon's variables that reach it. */
  reads?: readonly string[];
  /** What is wrong or worth knowing. Absent: all is well. */
  finding?: string;
  severity: 'ok' | 'warn' | 'error';
  install: string;
}

export interface Found {
  command: [string, ...string[]];
  version?: string;
}

/** The program of an agent, or the error that says how to get it. It starts nothing: cheap enough for every spawn. */
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
  return { command, ...defined({ version }) };
}

/** Every agent the registry knows, for `reef doctor`. */
export async function detectAgents(registry: AdapterRegistry, env: NodeJS.ProcessEnv): Promise<Detection[]> {
  return Promise.all(registry.names().map((name) => detect(name, registry, env)));
}

async function detect(name: string, registry: AdapterRegistry, env: NodeJS.ProcessEnv): Promise<Detection> {
  let about: Omit<Detection, 'severity'> = { name, title: name, install: '' };
  try {
    const agent = registry.get(name);
    const { title, executable, install, tested, recorded, login, passEnv } = agent.adapter.describe();
    const program = agent.settings.command?.[0] ?? executable;
    about = { name, title, install, program, ...defined({ tested, recorded }) };
    // As a job does: the user's settings of the agent come first, its PATH too.
    const { command, version } = await findAgent(agent, { ...env, ...agent.settings.env });
    const isNewer = version !== undefined && tested !== undefined && isOlder(tested, version);
    const finding = isNewer ? `newer than ${tested}, the version Reef was tested with` : undefined;
    const shellKeys = shellKeysFor(agent, env);
    const access = { login: loginOf(agent, env), shellKeys, loginBy: login, reads: [...passEnv, ...shellKeys] };
    return { ...about, path: command[0], ...defined({ version, finding }), ...access, severity: 'ok' };
  } catch (error) {
    if (!(error instanceof ReefError)) throw error;
    return { ...about, finding: error.message, severity: error.code === 'agent_not_installed' ? 'warn' : 'error' };
  }
}

async function askVersion(file: string, args: string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { PATH = '', HOME = '/' } = env;
  const bare = { PATH, HOME, NO_COLOR: '1' };
  const said = await run({ file, args, cwd: '/', env: bare, timeoutMs: 20_000, maxBytes: 65_536 });
  return /\d{1,9}\.\d{1,9}\.\d{1,9}/.exec(said.stdout.toString())?.[0];
}

export type Login = 'yes' | 'no' | 'unknown';

/**
 * Whether an agent shows a sign of its log-in. Asking the program itself would make it write and call home. On a Mac the
 * log-in may be in the keychain, which only its owner opens: there a missing sign means nothing.
 */
function loginOf(agent: RegisteredAgent, env: NodeJS.ProcessEnv): Login {
  const { loginSigns, passEnv, keysInSettings } = agent.adapter.describe();
  if (loginSigns === undefined) return 'unknown';
  const names = [...passEnv, ...(agent.settings.pass_env ?? []), ...shellKeysFor(agent, env)];
  const given = allowedEnv(env, names, agent.settings.env ?? {});
  const signs = [...loginSigns, ...(keysInSettings?.(given) ?? []).map((name) => `$${name}`)];
  if (signs.some((sign) => isShown(sign, given))) return 'yes';
  return process.platform === 'darwin' ? 'unknown' : 'no';
}

/**
 * Keys and endpoints of the user's shell: those that the agent's own settings name, or else for an agent that has no log-in of
 * its own and none in the configuration. The latter not on a Mac, where nobody sees a log-in in the keychain.
 */
export function shellKeysFor({ adapter, settings }: RegisteredAgent, env: NodeJS.ProcessEnv): string[] {
  const { shellKeys = [], loginSigns = [], passEnv, keysInSettings } = adapter.describe();
  const named = (keysInSettings?.({ ...env, ...settings.env }) ?? []).filter((name) => env[name]);
  if (named.length > 0) return named;
  const there = shellKeys.filter((name) => env[name]);
  const isConfigured = shellKeys.some((name) => settings.env?.[name] !== undefined);
  if (there.length === 0 || isConfigured || process.platform === 'darwin') return [];
  const given = allowedEnv(env, [...passEnv, ...(settings.pass_env ?? [])], settings.env ?? {});
  return loginSigns.some((sign) => isShown(sign, given)) ? [] : there;
}

function isShown(sign: string, given: Readonly<Record<string, string>>): boolean {
  const path = namedPath(sign, given);
  return path !== undefined && (!sign.includes('/') || existsSync(path));
}
