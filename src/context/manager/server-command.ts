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
  /** The file that holds the facts about a worktree's repository. */
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

/** The program named by `context.server`. It takes no arguments and works in the folder it is started in. */
export function configuredServer(command: string, env: Readonly<Record<string, string>>): ServerCommand {
  return { command, args: () => [], env };
}

/** roberto-mcp 0.2.1 reads `ROBERTO_MEMORY_LIMIT`, also in megabytes. */
export function memoryEnv(maxMemoryMb: number): Record<string, string> {
  return { ROBERTO_MAX_MEMORY_MB: String(maxMemoryMb), ROBERTO_MEMORY_LIMIT: String(maxMemoryMb) };
}

/** A bound launch starts other programs first, so a missing program would only look like an early exit. */
export function checkProgram({ command }: ServerCommand, worktreePath: string): void {
  if (!isAbsolute(command) || !isProgram(command)) throw new MissingBinaryError(command, { worktreePath });
}

/**
 * These flags have no effect when they are set later. Young objects get little room, because a scan drops what it reads at once,
 * and a single thread collects so little in less time than it takes to wake others.
 */
function nodeFlags(maxMemoryMb: number): string[] {
  const oldMb = Math.max(64, Math.floor(maxMemoryMb * 0.4));
  return ['--max-semi-space-size=2', '--no-parallel-scavenge', `--max-old-space-size=${oldMb}`];
}

/**
 * glibc reads these at the start. By default it gives each thread its own heap and keeps freed large buffers for reuse, which
 * costs memory and makes a server no faster.
 */
const MALLOC_ENV = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '262144',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};
