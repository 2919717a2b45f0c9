import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { ReefError } from '../protocol/errors.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly those are refused
const BAD_NAME = /[/\\\x00-\x1f\x7f]/;

/** Checks a name that becomes part of a path: it cannot leave its folder. */
export function safeName(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && name.length <= 128 && !BAD_NAME.test(name)) return name;
  throw new ReefError('name_invalid', `${JSON.stringify(name.slice(0, 140))} is not a name`);
}

/** The prefix of an agent's environment variables: `my-agent` gives `MY_AGENT`. */
export const envName = (name: string) => name.replace(/[^A-Za-z0-9]/g, '_').toUpperCase();

/** Where each file and folder of the runtime lies. Depends only on the environment and the home folder. */
export function createPaths(env: Variables, home: string) {
  const given = (name: string) => (env[name] === '' ? undefined : env[name]);
  const absolute = (name: string) => {
    const path = given(name);
    return path !== undefined && isAbsolute(path) ? path : undefined; // XDG ignores relative paths
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
    themeFile: (name: string) => local(`${safeName(name)}.tmTheme`),
    vaultFile: () => local('vault.reef.json'),
    trustFile: () => local('trust.json'),
    modelsOverrideFile: () => local('models-override.yaml'),
    rolesDir: () => roles,
    roleFile: (name: string) => join(roles, `${safeName(name)}.md`),
    macrosDir: () => local('macros'),
    macroFile: (name: string) => join(local('macros'), `${safeName(name)}.yaml`),
    ragsDir: () => rags,
    ragFile: (name: string) => join(rags, `${safeName(name)}.yaml`),
    sessionsDir: () => given('REEF_SESSIONS_DIR') ?? local('sessions'),
    messagesFile: (agent?: string) =>
      agent === undefined ? join(cache, 'messages.md') : join(cache, 'agents', safeName(agent), 'messages.md'),
    functionsDir: () => functions,
    mcpConfigFile: () => join(functions, 'mcp.json'),
    mcpApprovalsDir: () => local('mcp-approved'),
    functionsEnvFile: () => join(functions, '.env'),
    promptUtilsFile: () => join(functions, 'utils', 'prompt-utils.sh'),
    globalToolsDir: () => join(functions, 'tools'),
    agentsDataDir: () => local('agents'),
    agentDataDir: agentDir,
    agentConfigFile: (name: string) => given(`${envName(name)}_CONFIG_FILE`) ?? join(agentDir(name), 'config.yaml'),
    agentSessionsDir: (name: string) => join(agentDir(name), 'sessions'),
    agentRagFile: (name: string) => join(agentDir(name), 'rag.yaml'),
  };
}

export type Paths = ReturnType<typeof createPaths>;

/** The names of a folder's files with this ending, without the ending. A missing folder has none. */
export function namesIn(dir: string, ending: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .flatMap((name) => (name.endsWith(ending) && !name.startsWith('.') ? [name.slice(0, -ending.length)] : []))
    .sort();
}

export const listMacros = (paths: Paths) => namesIn(paths.macrosDir(), '.yaml');
export const listRags = (paths: Paths) => namesIn(paths.ragsDir(), '.yaml');
