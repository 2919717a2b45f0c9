import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { findRepository } from '../../base/home.ts';
import { createPaths, type Paths, type Variables } from '../paths.ts';
import { type AppConfig, toAppConfig } from './app-config.ts';
import { type Checked, checkLayer } from './check-layer.ts';
import { envLayer, platformLayer } from './env-layer.ts';
import { confine, OVERLAY_ITEM } from './overlay.ts';
import { type ConfigWarning, configInvalid, isProblem, parseSource, readIfThere } from './settings-file.ts';
import { TrustFile, trustHash } from './trust-file.ts';

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

/** `.env` is read first and never overrides a variable that is set. */
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
  const source = parseSource(file, text);
  return isProblem(source) ? { ...nothing, problems: [source] } : checkLayer(source);
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
