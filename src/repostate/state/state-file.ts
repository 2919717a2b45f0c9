import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setAside, writeAtomic } from '../../base/atomic-file.ts';
import type { Clock } from '../../base/clock.ts';
import { parseJson } from '../../base/safe-json.ts';
import { type RepoState, repoStateSchema } from '../../protocol/repostate.ts';

export type LoadReport =
  | { from: 'file' | 'maestro'; state: RepoState }
  | { from: 'nothing' }
  | { from: 'corrupt' | 'newer'; asideAs: string };

const FILE = 'repostate.json';
const MAESTRO = '.maestro/repostate.json';
const VERSION = 1;

/** The file has these names in snake case. Unknown names are kept as they are. */
const SNAKE = new Map(
  'workDir storyId filesOmitted openTasks lastUpdated openQuestion lastFailure modTime jobId'
    .split(' ')
    .map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
);
const CAMEL = new Map([...SNAKE].map(([camel, snake]) => [snake, camel]));

/** The folder of a worktree's state, in the home: a repository could bring a state of its own. */
export function stateDirOf(homeDir: string, workDir: string): string {
  return join(homeDir, 'repostate', createHash('sha256').update(workDir).digest('hex').slice(0, 12));
}

export function stateFile(stateDir: string): string {
  return join(stateDir, FILE);
}

export async function writeState(stateDir: string, state: Readonly<RepoState>): Promise<void> {
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  await writeAtomic(stateFile(stateDir), `${JSON.stringify(renamed(state, SNAKE))}\n`);
}

/** Reads what the last writer left. A file that cannot be read is set aside: the state can be rebuilt without it. */
export async function readState(
  { stateDir, workDir }: { stateDir: string; workDir: string },
  clock: Clock,
): Promise<LoadReport> {
  const file = stateFile(stateDir);
  const text = await textOf(file);
  if (text === undefined) return readMaestro(workDir);
  const parsed = parseJson(text);
  const value = parsed.ok ? renamed(parsed.value, CAMEL) : undefined;
  const version = (value as { version?: unknown } | undefined)?.version;
  if (typeof version === 'number' && version > VERSION) {
    return { from: 'newer', asideAs: setAside(file, clock, `v${version}`) };
  }
  const state = repoStateSchema.safeParse(value);
  if (state.success) return { from: 'file', state: state.data };
  return { from: 'corrupt', asideAs: setAside(file, clock, 'corrupt') };
}

/** The file of Reef's predecessor, from before there were versions. It is never written. */
async function readMaestro(workDir: string): Promise<LoadReport> {
  const text = await textOf(join(workDir, MAESTRO));
  const parsed = text === undefined ? undefined : parseJson(text);
  if (!parsed?.ok || typeof parsed.value !== 'object' || parsed.value === null) return { from: 'nothing' };
  const old = renamed(parsed.value, CAMEL) as Record<string, unknown>;
  const tasks = Array.isArray(old.openTasks) ? old.openTasks : [];
  const openTasks = tasks.map((task: object, index) => ({ id: `k${index + 1}`, ...task }));
  const state = repoStateSchema.safeParse({ ...emptyState(workDir, ''), ...old, openTasks, version: VERSION, workDir });
  return state.success ? { from: 'maestro', state: state.data } : { from: 'nothing' };
}

async function textOf(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
}

function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((child) => renamed(child, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [names.get(key) ?? key, renamed(child, names)]),
  );
}

export function emptyState(workDir: string, storyId: string): RepoState {
  return {
    version: 1,
    workDir,
    storyId,
    files: [],
    filesOmitted: 0,
    openTasks: [],
    lastUpdated: '',
    seq: 0,
    base: '',
    head: '',
    branch: null,
    fingerprint: '',
    source: 'tools',
    runs: [],
    checks: [],
    notes: [],
  };
}
