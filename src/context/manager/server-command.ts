import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isProgram } from '../../base/programs.ts';
import { MissingBinaryError } from '../client/mcp-server-error.ts';

/** The program that analyses a worktree. Its environment is given in full: nothing is inherited. */
export interface ServerCommand {
  /** An absolute path. */
  command: string;
  args(worktreePath: string, maxMemoryMb: number): readonly string[];
  env: Readonly<Record<string, string>>;
}

interface OwnServer {
  /** Where the facts of a worktree's repository lie. */
  storeOf(worktreePath: string): string;
  env: Readonly<Record<string, string>>;
}

const OWN_SERVER = fileURLToPath(new URL('../server/main.ts', import.meta.url));

export function ownServer({ storeOf, env }: OwnServer): ServerCommand {
  return {
    command: process.execPath,
    args: (worktreePath, maxMemoryMb) => [
      ...nodeFlags(maxMemoryMb),
      OWN_SERVER,
      ...['--worktree', worktreePath, '--store', storeOf(worktreePath)],
    ],
    env: { ...env, ...MALLOC_ENV },
  };
}

/** `context.server` of the configuration: the published binary takes no arguments and works where it is started. */
export function configuredServer(command: string, env: Readonly<Record<string, string>>): ServerCommand {
  return { command, args: () => [], env };
}

/** `ROBERTO_MEMORY_LIMIT` is the name that roberto-mcp 0.2.1 reads, in megabytes as well. */
export function memoryEnv(maxMemoryMb: number): Record<string, string> {
  return { ROBERTO_MAX_MEMORY_MB: String(maxMemoryMb), ROBERTO_MEMORY_LIMIT: String(maxMemoryMb) };
}

/** A bound launch starts a chain of programs before this one, so that its absence would look like an early end. */
export function checkProgram({ command }: ServerCommand, worktreePath: string): void {
  if (!isAbsolute(command) || !isProgram(command)) throw new MissingBinaryError(command, { worktreePath });
}

/**
 * What a server's Node must be started with; set later, these flags have no effect. Young objects get little room, because a scan
 * throws away at once what it has read; and so little of it is collected by one thread in the time it takes to wake others.
 */
function nodeFlags(maxMemoryMb: number): string[] {
  const oldMb = Math.max(64, Math.floor(maxMemoryMb * 0.4));
  return ['--max-semi-space-size=2', '--no-parallel-scavenge', `--max-old-space-size=${oldMb}`];
}

/**
 * For glibc, which reads it at the start as well. By itself it gives each thread a heap of its own, and keeps what large buffers
 * leave free, because it takes the first one that is freed for a sign that more will come. Neither wins a server any time.
 */
const MALLOC_ENV = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '262144',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};
