import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { ReefError } from '../protocol/errors.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly those are refused
const BAD_NAME = /[/\\\x00-\x1f\x7f]/;

/** A name that becomes part of a path: it can neither climb nor hide. */
export function safeName(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && name.length <= 128 && !BAD_NAME.test(name)) return name;
  throw new ReefError('name_invalid', `${JSON.stringify(name.slice(0, 140))} is not a name`);
}

/** An agent's variable prefix: `my-agent` is `MY_AGENT`. */
export const envName = (name: string) => name.replace(/[^A-Za-z0-9]/g, '_').toUpperCase();

/** Where everything lies, computed from the environment and the home folder and nothing else. */
export interface Paths {
  configDir(): string;
  localPath(name: string): string;
  cachePath(): string;
  logPath(): string;
  configFile(): string;
  envFile(): string;
  vaultFile(): string;
  trustFile(): string;
  modelsOverrideFile(): string;
  rolesDir(): string;
  roleFile(name: string): string;
  macrosDir(): string;
  macroFile(name: string): string;
  ragsDir(): string;
  ragFile(name: string): string;
  sessionsDir(): string;
  messagesFile(agent?: string): string;
  functionsDir(): string;
  mcpConfigFile(): string;
  functionsEnvFile(): string;
  globalToolsDir(): string;
  agentsDataDir(): string;
  agentDataDir(name: string): string;
  agentConfigFile(name: string): string;
  agentSessionsDir(name: string): string;
  agentRagFile(agent: string, rag?: string): string;
}

export function createPaths(env: Variables, home: string): Paths {
  const given = (name: string) => (env[name] === '' ? undefined : env[name]);
  const absolute = (name: string) => {
    const path = given(name);
    return path !== undefined && isAbsolute(path) ? path : undefined; // the XDG rules
  };
  const config = given('REEF_CONFIG_DIR') ?? join(absolute('XDG_CONFIG_HOME') ?? join(home, '.config'), 'reef');
  const cache = join(absolute('XDG_CACHE_HOME') ?? join(home, '.cache'), 'reef');
  const local = (name: string) => join(config, name);
  const roles = given('REEF_ROLES_DIR') ?? local('roles');
  const rags = given('REEF_RAGS_DIR') ?? local('rags');
  const functions = given('REEF_FUNCTIONS_DIR') ?? local('functions');
  const agentDir = (name: string) => given(`${envName(name)}_DATA_DIR`) ?? join(local('agents'), safeName(name));
  return {
    configDir: () => config,
    localPath: local,
    cachePath: () => cache,
    logPath: () => given('REEF_LOG_FILE') ?? join(cache, 'reef.log'),
    configFile: () => given('REEF_CONFIG_FILE') ?? local('config.yaml'),
    envFile: () => given('REEF_ENV_FILE') ?? local('.env'),
    vaultFile: () => local('vault.reef.json'),
    trustFile: () => local('trust.json'),
    modelsOverrideFile: () => local('models-override.yaml'),
    rolesDir: () => roles,
    roleFile: (name) => join(roles, `${safeName(name)}.md`),
    macrosDir: () => local('macros'),
    macroFile: (name) => join(local('macros'), `${safeName(name)}.yaml`),
    ragsDir: () => rags,
    ragFile: (name) => join(rags, `${safeName(name)}.yaml`),
    sessionsDir: () => given('REEF_SESSIONS_DIR') ?? local('sessions'),
    messagesFile: (agent) =>
      agent === undefined ? join(cache, 'messages.md') : join(cache, 'agents', safeName(agent), 'messages.md'),
    functionsDir: () => functions,
    mcpConfigFile: () => join(functions, 'mcp.json'),
    functionsEnvFile: () => join(functions, '.env'),
    globalToolsDir: () => join(functions, 'tools'),
    agentsDataDir: () => local('agents'),
    agentDataDir: agentDir,
    agentConfigFile: (name) => given(`${envName(name)}_CONFIG_FILE`) ?? join(agentDir(name), 'config.yaml'),
    agentSessionsDir: (name) => join(agentDir(name), 'sessions'),
    agentRagFile: (agent, rag = 'rag') => join(agentDir(agent), `${safeName(rag)}.yaml`),
  };
}

/** Names of the files of one kind; a folder that is not there has none. */
export function namesIn(dir: string, ending: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .flatMap((name) => (name.endsWith(ending) && !name.startsWith('.') ? [name.slice(0, -ending.length)] : []))
    .sort();
}

export const listRags = (paths: Paths) => namesIn(paths.ragsDir(), '.yaml');
