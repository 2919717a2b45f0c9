import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readUpTo } from '../../../base/read-up-to.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { CommandResult, CommandSpec, RunCommand } from '../../tools/command.ts';

const STDERR_SHOWN = 500;
/** A shell's exit code for a program it does not find. */
const NOT_FOUND = 127;
/** The kernel limits the file that a loader writes, so that it cannot fill the disk. */
const LIMITED = 'ulimit -f "$1" && shift && exec "$@"';
const BLOCK = 512;

export interface LoaderPlace {
  cwd: string;
  run: RunCommand;
  signal?: AbortSignal | undefined;
  /** Replaces each `{{NAME}}` of a command by the secret. */
  reveal?: ((words: string[]) => Promise<string[]>) | undefined;
}

interface LoaderRun {
  command: string;
  input: string;
  /** The most bytes it may write. */
  room?: number;
  /** A loader for an extension only reads a file. One that is called by name may use the network. */
  isOffline: boolean;
}

/** Runs a configured loader without a shell. `$1` is the input; `$2`, if used, is the file it writes. */
export async function runLoader(loader: LoaderRun, place: LoaderPlace): Promise<string> {
  const { command, input, room = roomFor(Number.POSITIVE_INFINITY), isOffline } = loader;
  const output = join(tmpdir(), `reef-loader-${randomUUID()}`);
  const words = wordsOfCommand(command);
  const known = place.reveal ? await place.reveal(words) : words;
  const [file, ...args] = known.map((word) => word.replaceAll('$1', input).replaceAll('$2', output));
  if (file === undefined) throw new ReefError('loader_failed', 'The loader is an empty command');
  const writesFile = command.includes('$2');
  try {
    const program = writesFile ? limited(room, [file, ...args]) : { file, args };
    const ended = await runBounded({ ...program, cwd: place.cwd, isOffline, maxBytes: room }, place);
    const written = writesFile ? await readUpTo(output, room).catch(() => undefined) : undefined;
    if (written?.isWhole === false) throw tooLong(room);
    const said = ended.stderr.trim().slice(0, STDERR_SHOWN);
    if (ended.code === NOT_FOUND) throw new ReefError('spawn_failed', `${file} is not installed${said && `: ${said}`}`);
    if (ended.code !== 0) {
      throw new ReefError('loader_failed', `${file} ended with ${ended.signal ?? ended.code}${said && `: ${said}`}`);
    }
    if (!writesFile) return ended.stdout;
    if (!written) throw new ReefError('loader_failed', `${file} did not write the file $2`);
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

export async function runBounded(spec: Bounded, { run, signal }: LoaderPlace): Promise<CommandResult> {
  const ended = await run({ ...spec, timeoutMs: LOADER_MS, signal: signal ?? new AbortController().signal });
  if (ended.timedOut) throw new ReefError('loader_failed', `Loading took longer than ${LOADER_MS / 1000} s`);
  if (ended.isCut) throw tooLong(spec.maxBytes);
  return ended;
}

function tooLong(room: number): ReefError {
  return new ReefError('loader_failed', `The text is larger than ${Math.floor(room / 2 ** 20)} MiB`);
}

/** Splits a command into words as a shell does, with quotes but without expansion. A quote left open ends with the line. */
export function wordsOfCommand(command: string): string[] {
  const words = command.trim().matchAll(/(?:[^\s"']|"[^"]*(?:"|$)|'[^']*(?:'|$))+/g);
  const bare = /"([^"]*)(?:"|$)|'([^']*)(?:'|$)/g;
  return [...words].map(([word]) => word.replace(bare, (_, double, single) => double ?? single));
}

const LOADER_MS = 60_000;

const MAX_TEXT = 64 * 1024 * 1024;
const MAX_RATIO = 100;
/** For small files: a short input may have a long output. */
const LEAST_ROOM = 1024 * 1024;

/** The most bytes of text that a file of this size may become. More is an attack, or no document. */
export const roomFor = (fileBytes: number) => Math.min(MAX_TEXT, Math.max(LEAST_ROOM, fileBytes * MAX_RATIO));
