import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { findRepository } from '../../base/home.ts';
import { ReefError } from '../../protocol/errors.ts';
import { createPaths, type Paths, type Variables } from '../paths.ts';
import { TrustFile, trustHash } from '../trust-file.ts';
import { type AppConfig, toAppConfig } from './app-config.ts';
import { type Checked, checkLayer } from './check-layer.ts';
import { envLayer, platformLayer } from './env-layer.ts';
import { confine, OVERLAY_ITEM } from './overlay.ts';
import { type ConfigProblem, type ConfigWarning, isProblem, parseYaml } from './yaml-file.ts';

export interface ConfigRequest {
  env: Variables;
  home: string;
  /** A repository around it may contribute, if trusted. */
  cwd: string;
}

export interface LoadedConfig {
  config: AppConfig;
  paths: Paths;
  /** The given variables and, where unset, those of `.env`. */
  environment: Variables;
  warnings: ConfigWarning[];
}

const nothing: Checked = { layer: {}, problems: [], warnings: [] };

/** Later wins: defaults < user file < trusted project file < `REEF_<KEY>`; all mistakes of all of them at once. */
export function loadConfig(request: ConfigRequest): LoadedConfig {
  const environment = withDotEnv(request);
  const paths = createPaths(environment, request.home);
  const user = readLayer(paths.configFile());
  const project = readOverlay(request.cwd, paths);
  const variables = envLayer(environment);
  const checked = [user ?? nothing, project ?? nothing, variables];
  const problems = checked.flatMap((each) => each.problems);
  if (problems.length > 0) throw configInvalid(problems);

  const base = user?.layer ?? platformLayer(environment);
  const overlay = project && confine(project.layer, base, project.file);
  const layers = [base, overlay?.layer ?? {}, variables.layer];
  const warnings = [...checked.flatMap((each) => each.warnings), ...(overlay?.warnings ?? [])];
  return { config: toAppConfig(layers), paths, environment, warnings };
}

/** `.env` is read first and never overrides a variable that is set (R-10). */
function withDotEnv({ env, home }: ConfigRequest): Variables {
  const text = readIfThere(createPaths(env, home).envFile());
  return text === undefined ? env : { ...parseEnv(text), ...definedOf(env) };
}

function definedOf(env: Variables): Variables {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

/** Undefined when there is no such file. */
export function readLayer(file: string): Checked | undefined {
  const text = readIfThere(file);
  return text === undefined ? undefined : parseLayer(file, text);
}

function parseLayer(file: string, text: string): Checked {
  const yaml = parseYaml(file, text);
  if (isProblem(yaml)) return { ...nothing, problems: [yaml] };
  return checkLayer({ file, ...yaml });
}

function readOverlay(cwd: string, paths: Paths): (Checked & { file: string }) | undefined {
  const repository = findRepository(cwd);
  if (repository === undefined) return undefined;
  const file = join(repository, OVERLAY_ITEM);
  const text = readIfThere(file);
  if (text === undefined) return undefined;
  if (new TrustFile(paths.trustFile()).isTrusted(repository, OVERLAY_ITEM, trustHash(text))) {
    return { ...parseLayer(file, text), file };
  }
  const message = 'is not in effect: `reef trust` shows it and lets it in';
  return { ...nothing, warnings: [{ file, line: undefined, message }], file };
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ReefError('config_invalid', `${file} cannot be read`, { cause: error });
  }
}

/** One error for all of them, a line each (R-12). */
export function configInvalid(problems: readonly ConfigProblem[]): ReefError {
  const lines = problems.map(({ file, line, path, expected, found }) => {
    const place = line === undefined ? file : `${file}:${line}`;
    return `${place}: ${path === '' ? '' : `${path}: `}expected ${expected}, found ${found}`;
  });
  return new ReefError('config_invalid', lines.join('\n'), { details: { problems } });
}

export function describeWarning({ file, line, message }: ConfigWarning): string {
  return `${line === undefined ? file : `${file}:${line}`}: ${message}`;
}
