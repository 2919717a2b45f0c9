import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import type { Clock } from '../../base/clock.ts';
import { parseJson } from '../../base/safe-json.ts';
import { type RepoState, repoStateSchema } from '../../protocol/repostate.ts';

export type LoadReport =
  | { from: 'file' | 'maestro'; state: RepoState }
  | { from: 'nothing' }
  | { from: 'corrupt' | 'newer'; asideAs: string };

const FILE = '.reef/repostate.json';
const MAESTRO = '.maestro/repostate.json';
const VERSION = 1;

/** In the file names are in snake case, as the seed wrote them. Others are left as they are, so they survive. */
const SNAKE: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ...['workDir', 'storyId', 'filesOmitted', 'openTasks', 'lastUpdated', 'openQuestion', 'lastFailure'],
    ...['modTime', 'jobId'],
  ].map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
);
const CAMEL: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(SNAKE).map(([camel, snake]) => [snake, camel]),
);

export function stateFile(workDir: string): string {
  return join(workDir, FILE);
}

/** Old or new, never torn, whenever a writer is killed. The folder ignores itself in git. */
export async function writeState(workDir: string, state: Readonly<RepoState>): Promise<void> {
  const file = stateFile(workDir);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(join(dirname(file), '.gitignore'), '*\n', { flag: 'wx' }).catch(ifThere);
  await writeAtomic(file, `${JSON.stringify(renamed(state, SNAKE))}\n`);
}

/** What the last writer left; what cannot be read is set aside, because the state can be rebuilt without it. */
export async function readState(workDir: string, clock: Pick<Clock, 'now'>): Promise<LoadReport> {
  const text = await textOf(stateFile(workDir));
  if (text === undefined) return readMaestro(workDir);
  const parsed = parseJson(text);
  const value = parsed.ok ? renamed(parsed.value, CAMEL) : undefined;
  const version = (value as { version?: unknown } | undefined)?.version;
  if (typeof version === 'number' && version > VERSION) {
    return { from: 'newer', asideAs: await moveAside(stateFile(workDir), `v${version}`) };
  }
  const state = repoStateSchema.safeParse(value);
  if (state.success) return { from: 'file', state: state.data };
  const time = clock.now().toISOString().replaceAll(':', '-');
  return { from: 'corrupt', asideAs: await moveAside(stateFile(workDir), `corrupt-${time}`) };
}

/** The seed's own file, from before there were versions. It is read and never written. */
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

/** Never over an earlier one. */
async function moveAside(file: string, suffix: string): Promise<string> {
  let aside = `${file}.${suffix}`;
  for (let n = 2; (await textOf(aside)) !== undefined; n++) aside = `${file}.${suffix}-${n}`;
  await rename(file, aside);
  return aside;
}

async function textOf(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
}

function ifThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

function renamed(value: unknown, names: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) return value.map((child) => renamed(child, names));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, child]) => [
    Object.hasOwn(names, key) ? (names[key] ?? key) : key,
    renamed(child, names),
  ]);
  return Object.fromEntries(entries);
}

/** Before the first event: nothing is known, and the snapshot says so. */
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
