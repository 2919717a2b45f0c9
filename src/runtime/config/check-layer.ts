import { type ConfigLayer, FILE_KEYS, schemaOf } from './app-config.ts';
import { strangeClientKeys } from './client-keys.ts';
import {
  asProblem,
  type ConfigProblem,
  type ConfigWarning,
  check,
  configInvalid,
  isRecord,
  type Source,
} from './settings-file.ts';

export interface Checked {
  layer: ConfigLayer;
  problems: ConfigProblem[];
  warnings: ConfigWarning[];
}

type Path = readonly PropertyKey[];

/** Keys of aichat, early Loki and early Reef, and where their values belong today. */
const RENAMED: Readonly<Record<string, readonly [string] | readonly ['reef', string]>> = {
  function_calling: ['function_calling_support'],
  use_tools: ['enabled_tools'],
  agent_prelude: ['agent_session'],
  compress_threshold: ['compression_threshold'],
  summarize_prompt: ['summarization_prompt'],
  summary_prompt: ['summary_context_prompt'],
  light_theme: ['theme'],
  maxJobs: ['reef', 'max_jobs'],
  agents: ['reef', 'agents'],
  timings: ['reef', 'timings'],
  gates: ['reef', 'gates'],
  worktree: ['reef', 'worktree'],
};

/**
 * What one file sets. An unknown key is a warning, a wrong value a problem. Values stay as they were written: if the
 * schema filled in defaults here, those of a later file would cover an earlier one.
 */
export function checkLayer(source: Source): Checked {
  const { strays, warnings, ...checked } = look(source);
  const all = [...warnings, ...strays.map(({ file, line, message }) => ({ file, line, message }))];
  return { ...checked, warnings: all.sort(byLine) };
}

/** The same where an unknown key is a problem as well. Throws all problems as one. */
export function requireLayer(source: Source): ConfigLayer {
  const { layer, problems, strays } = look(source);
  const all = [...problems, ...strays.map(asProblem)].sort(byLine);
  if (all.length > 0) throw configInvalid(all);
  return layer;
}

function look(source: Source) {
  if (isRecord(source.value) && Object.keys(source.value).length === 0)
    return { layer: {}, problems: [], warnings: [], strays: [] };
  const { file, lineOf } = source;
  const { value, renamed, ignored } = modernise(source.value);
  const asWritten = (path: Path) => writtenPath(path, renamed);
  const {
    kept,
    problems,
    warnings: unknown,
  } = check({ ...source, value, asWritten }, schemaOf(value), {
    known: FILE_KEYS,
  });
  const strays = [...unknown, ...strangeClientKeys(source)];
  const old = (key: string, message: string) => ({ file, line: lineOf([key]), message: `${key} ${message}` });
  const warnings: ConfigWarning[] = [
    ...[...renamed].map(([key, path]) => old(key, `is called ${path.join('.')} here, and is in effect`)),
    ...ignored.map((key) => old(key, 'is ignored: its new name is there as well')),
  ];
  return { layer: kept as ConfigLayer, problems: problems.sort(byLine), warnings, strays };
}

const byLine = (a: { line: number | undefined }, b: { line: number | undefined }) => (a.line ?? 0) - (b.line ?? 0);

/** The same values under today's keys. An old key is ignored where its new name is set as well. */
function modernise(old: unknown) {
  const renamed = new Map<string, Path>();
  const ignored: string[] = [];
  if (!isRecord(old)) return { value: old, renamed, ignored };
  const value = { ...old };
  for (const [key, path] of Object.entries(RENAMED)) {
    if (!Object.hasOwn(value, key)) continue;
    const moved = { [path.at(-1) ?? '']: translate(key, value[key]) };
    delete value[key];
    const block = path.length === 1 ? value : (value.reef ?? {});
    if (!isRecord(block) || Object.keys(moved).some((name) => Object.hasOwn(block, name))) {
      ignored.push(key);
      continue;
    }
    Object.assign(value, path.length === 1 ? moved : { reef: { ...block, ...moved } });
    renamed.set(key, path);
  }
  return { value, renamed, ignored };
}

function translate(key: string, value: unknown): unknown {
  if (key === 'light_theme' && typeof value === 'boolean') return value ? 'light' : null;
  if (key === 'timings' && isRecord(value) && 'daemonIdle' in value) {
    const { daemonIdle, ...rest } = value;
    return { ...rest, daemon_idle: daemonIdle };
  }
  return value;
}

/** Problems name the key that the user wrote. */
function writtenPath(path: Path, renamed: ReadonlyMap<string, Path>): Path {
  for (const [old, now] of renamed) {
    if (now.every((step, index) => path[index] === step)) return [old, ...path.slice(now.length)];
  }
  return path;
}
