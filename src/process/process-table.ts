import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

export interface ProcessRow {
  pid: number;
  parent: number;
  group: number;
  /** 0 on macOS, where `ps` does not tell it. */
  session: number;
  startTime: string;
  /** A zombie is dead: the first process of some containers never reaps. */
  isAlive: boolean;
}

const onLinux = process.platform === 'linux';

/** Finds everything a job started where there is no namespace. */
export const TAG_VARIABLE = 'REEF_JOB';

export function processRow(pid: number): ProcessRow | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return onLinux ? linuxRow(pid) : macRows(['-p', String(pid)])[0];
}

export function processRows(): ProcessRow[] {
  if (!onLinux) return macRows(['-A']);
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (linuxRow(Number(name)) ?? []) : []));
}

/** The `REEF_JOB` a process was started with; undefined also where we may not look. */
export async function tagOf(pid: number): Promise<string | undefined> {
  const environment = onLinux ? await linuxEnvironment(pid) : ps(['-ww', '-E', '-o', 'command=', '-p', String(pid)]);
  const entry = environment.split(onLinux ? '\0' : /\s+/).find((each) => each.startsWith(`${TAG_VARIABLE}=`));
  return entry?.slice(TAG_VARIABLE.length + 1);
}

/** On macOS the arguments come split at blanks: enough for one that has none. */
export function argumentsOf(pid: number): string[] {
  if (onLinux) return readProc(pid, 'cmdline').split('\0');
  return ps(['-ww', '-o', 'command=', '-p', String(pid)]).split(/\s+/);
}

function linuxRow(pid: number): ProcessRow | undefined {
  const stat = readProc(pid, 'stat');
  // The command's name stands in parentheses and may itself hold blanks and parentheses: count from the last one.
  const [state, parent, group, session, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const startTime = rest[15];
  if (startTime === undefined) return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTime,
    isAlive: state !== 'Z' && state !== 'X',
  };
}

/** Empty for a process that has ended or belongs to somebody else. */
function readProc(pid: number, name: 'stat' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, name === 'stat' ? 'latin1' : 'utf8');
  } catch (error) {
    return emptyIfNotOurs(error);
  }
}

/** Asynchronous, because reading the memory of a stuck process can block: it then holds one pool thread, not the loop. */
async function linuxEnvironment(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/environ`, 'utf8').catch(emptyIfNotOurs);
}

/** Any other failure must not look like an ended process: without free descriptors all would seem dead. */
function emptyIfNotOurs(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return '';
  throw error;
}

function macRows(which: string[]): ProcessRow[] {
  const lines = ps([...which, '-o', 'pid=,ppid=,pgid=,stat=,lstart=']).split('\n');
  return lines.flatMap((line) => {
    const [pid, parent, group, state, ...started] = line.trim().split(/\s+/);
    if (!pid || state === undefined) return [];
    const startTime = started.join(' ');
    const isAlive = !state.startsWith('Z');
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), session: 0, startTime, isAlive }];
  });
}

/** The zone is fixed because `lstart` is local time, and the wrapper's may be another. */
function ps(args: string[]): string {
  try {
    const env = { LC_ALL: 'C', TZ: 'UTC' };
    return execFileSync('/bin/ps', args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] });
  } catch (error) {
    if ((error as { status?: number }).status === 1) return ''; // there is no such process
    throw error;
  }
}
