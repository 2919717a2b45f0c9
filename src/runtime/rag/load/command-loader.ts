import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readUpTo } from '../../../base/read-up-to.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { CommandResult, CommandSpec, RunCommand } from '../../tools/command.ts';

const STDERR_SHOWN = 500;
/** What a shell answers for a program it does not find. */
const NOT_FOUND = 127;
/** The kernel holds the file a loader writes to its room; looking at it afterwards would leave the disk full meanwhile. */
const LIMITED = 'ulimit -f "$1" && shift && exec "$@"';
const BLOCK = 512;

export interface LoaderPlace {
  cwd: string;
  run: RunCommand;
  signal?: AbortSignal | undefined;
}

interface LoaderRun {
  command: string;
  input: string;
  /** Bytes it may answer. */
  room?: number;
  /** A loader of an extension reads a file; one that is called by its name may fetch what it is given. */
  isOffline: boolean;
}

/** Runs a configured loader: `$1` is the input, `$2`, if there is one, the file it writes; no shell. */
export async function runLoader(loader: LoaderRun, place: LoaderPlace): Promise<string> {
  const { command, input, room = roomFor(Number.POSITIVE_INFINITY), isOffline } = loader;
  const output = join(tmpdir(), `reef-loader-${randomUUID()}`);
  const [file, ...args] = wordsOfCommand(command).map((word) => word.replaceAll('$1', input).replaceAll('$2', output));
  if (file === undefined) throw new ReefError('loader_failed', 'The loader is an empty command');
  const writesFile = command.includes('$2');
  try {
    const program = writesFile ? limited(room, [file, ...args]) : { file, args };
    const ended = await runBounded({ ...program, cwd: place.cwd, isOffline, maxBytes: room }, place);
    const written = writesFile ? await readUpTo(output, room).catch(() => undefined) : undefined;
    if (written?.isWhole === false) throw tooLong(room);
    const said = ended.stderr.trim().slice(0, STDERR_SHOWN);
    if (ended.code === NOT_FOUND) throw new ReefError('spawn_failed', `${file} is not there${said && `: ${said}`}`);
    if (ended.code !== 0) {
      throw new ReefError('loader_failed', `${file} ended with ${ended.signal ?? ended.code}${said && `: ${said}`}`);
    }
    if (!writesFile) return ended.stdout;
    if (!written) throw new ReefError('loader_failed', `${file} wrote no file: its command has $2 for the name of one`);
    return written.bytes.toString();
  } finally {
    await rm(output, { force: true });
  }
}

function limited(room: number, command: readonly string[]) {
  const blocks = String(Math.ceil(room / BLOCK) + 1);
  return { file: '/bin/sh', args: ['-c', LIMITED, 'sh', blocks, ...command] };
}

type Bounded = Omit<CommandSpec, 'signal' | 'timeoutMs'> & { maxBytes: number };

/** A program that loads something, to its end within its limits. */
export async function runBounded(spec: Bounded, { run, signal }: LoaderPlace): Promise<CommandResult> {
  const ended = await run({ ...spec, timeoutMs: LOADER_MS, signal: signal ?? new AbortController().signal });
  if (ended.timedOut) throw new ReefError('loader_failed', `Loading it took longer than ${LOADER_MS / 1000} s`);
  if (ended.isCut) throw tooLong(spec.maxBytes);
  return ended;
}

function tooLong(room: number): ReefError {
  return new ReefError('loader_failed', `It becomes more than ${Math.floor(room / 2 ** 20)} MiB of text`);
}

/** Words as a shell would see them, quotes included, but nothing is expanded. */
export function wordsOfCommand(command: string): string[] {
  const words = command.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g);
  return [...words].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
}

/** What a loader may cost. */
const LOADER_MS = 60_000;

const MAX_TEXT = 64 * 1024 * 1024;
const MAX_RATIO = 100;
/** Of small files: one line of a command may well be short and its answer long. */
const LEAST_ROOM = 1024 * 1024;

/** Bytes of text that a file of so many may become: more is an attack or no document. */
export const roomFor = (fileBytes: number) => Math.min(MAX_TEXT, Math.max(LEAST_ROOM, fileBytes * MAX_RATIO));
