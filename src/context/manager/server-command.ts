import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isProgram } from '../../base/programs.ts';
import { MALLOC_ENV, nodeFlags } from '../server/node-flags.ts';
import { MissingBinaryError } from './mcp-server-error.ts';

/** The program that analyses a worktree. Its environment is given in full: nothing is inherited. */
export interface ServerCommand {
  /** An absolute path. */
  command: string;
  args(worktreePath: string, maxMemoryMb: number): readonly string[];
  env: Readonly<Record<string, string>>;
}

interface OwnServer {
  /** Where the facts of a worktree's repository lie (C-003). */
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

/** `context.server` of the configuration: the published binary takes no arguments and works where it is started (C-095). */
export function robertoServer(command: string, env: Readonly<Record<string, string>>): ServerCommand {
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
