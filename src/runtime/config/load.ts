import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { findRepository } from '../../base/home.ts';
import { createPaths, type Paths, type Variables } from '../paths.ts';
import { type AppConfig, type ConfigLayer, toAppConfig } from './app-config.ts';
import { type Checked, checkLayer } from './check-layer.ts';
import { envLayer, platformLayer } from './env-layer.ts';
import { type ConfigWarning, configInvalid, isProblem, parseSource, readIfThere } from './settings-file.ts';
import { TrustFile, trustHash } from './trust-file.ts';

/** The file of a repository, and the name under which a person trusts it. */
const PROJECT_FILE = '.reef/config.yaml';

export interface ConfigRequest {
  env: Variables;
  home: string;
  /** The repository around it contributes its settings if it is trusted. */
  cwd: string;
}

export interface LoadedConfig {
  config: AppConfig;
  paths: Paths;
  /** The given variables, and those of `.env` that are not set. */
  environment: Variables;
  warnings: ConfigWarning[];
}

/** Later wins: defaults < user file < trusted project file < `REEF_<KEY>`. The mistakes of all are one error. */
export function loadConfig(request: ConfigRequest): LoadedConfig {
  const environment = withDotEnv(request);
  const paths = createPaths(environment, request.home);
  const user = readLayer(paths.configFile()) ?? { layer: platformLayer(environment), problems: [], warnings: [] };
  const project = readProject(request.cwd, paths, user.layer);
  const checked = [user, ...(project ? [project] : []), envLayer(environment)];
  const problems = checked.flatMap((each) => each.problems);
  if (problems.length > 0) throw configInvalid(problems);
  const config = toAppConfig(checked.map(({ layer }) => layer));
  return { config, paths, environment, warnings: checked.flatMap((each) => each.warnings) };
}

/** A variable that is set wins over `.env`. */
function withDotEnv({ env, home }: ConfigRequest): Variables {
  const text = readIfThere(createPaths(env, home).envFile());
  if (text === undefined) return env;
  const set = Object.entries(env).filter(([, value]) => value !== undefined);
  return { ...parseEnv(text), ...Object.fromEntries(set) };
}

/** Undefined when there is no such file. */
export function readLayer(file: string): Checked | undefined {
  const text = readIfThere(file);
  return text === undefined ? undefined : parseLayer(file, text);
}

function parseLayer(file: string, text: string): Checked {
  const source = parseSource(file, text);
  return isProblem(source) ? { layer: {}, problems: [source], warnings: [] } : checkLayer(source);
}

function readProject(cwd: string, paths: Paths, user: ConfigLayer): Checked | undefined {
  const repository = findRepository(cwd);
  if (repository === undefined) return undefined;
  const file = join(repository, PROJECT_FILE);
  const text = readIfThere(file);
  if (text === undefined) return undefined;
  if (new TrustFile(paths.trustFile()).isTrusted(repository, PROJECT_FILE, trustHash(text))) {
    return confine(parseLayer(file, text), user, file);
  }
  const message = 'is not in effect: `reef trust` shows it and lets it in';
  return { layer: {}, problems: [], warnings: [{ file, line: undefined, message }] };
}

/**
 * Trust does not let a repository move the vault's password file or add a rule that allows something. Its other rules
 * are added to the user's and replace none.
 */
function confine({ layer, problems, warnings }: Checked, user: ConfigLayer, file: string): Checked {
  if (problems.length > 0) return { layer: {}, problems, warnings };
  const { vault_password_file, reef, ...rest } = layer;
  const rules = reef?.permissions ?? [];
  const stricter = rules.filter((rule) => rule.action !== 'allow');
  const refused = [
    ...(vault_password_file === undefined ? [] : ['vault_password_file']),
    ...(stricter.length < rules.length ? ['reef.permissions with action allow'] : []),
  ];
  const permissions = [...(user.reef?.permissions ?? []), ...stricter];
  const confined = reef && { reef: { ...reef, ...(rules.length > 0 && { permissions }) } };
  const told = refused.map((what) => ({ file, line: undefined, message: `${what} is ignored in a repository` }));
  return { layer: { ...rest, ...confined }, problems, warnings: [...warnings, ...told] };
}
