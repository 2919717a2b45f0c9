import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { ReefError } from '../protocol/errors.ts';
import { TAG_VARIABLE } from './process-table.ts';

/** Resolves when the program runs. Touch nothing of the child before: without free descriptors it has no streams. */
export async function startChild<Child extends ChildProcess>(
  what: { file: string; cwd: string },
  start: () => Child,
): Promise<Child> {
  try {
    const child = start();
    await once(child, 'spawn');
    return child;
  } catch (error) {
    throw toLaunchError(what, error);
  }
}

/** Names the usual reasons why a start fails. */
export function toLaunchError(what: { file: string; cwd: string }, error: unknown): ReefError {
  if (error instanceof ReefError) return error;
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (code === 'EMFILE' || code === 'ENFILE') {
    return new ReefError('too_many_files', `No file descriptor is left to start ${what.file}`, { cause: error });
  }
  if (['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'].includes(code)) {
    return new ReefError('storage_unavailable', `Cannot write what ${what.file} needs: ${message}`, { cause: error });
  }
  // Node reports a missing working folder as if the program were missing.
  if (code === 'ENOENT' && !existsSync(what.cwd)) {
    return new ReefError('cwd_missing', `There is no folder ${what.cwd}`, { cause: error });
  }
  return new ReefError('spawn_failed', `Cannot start ${what.file}: ${message}`, { cause: error });
}

/** Starts a program of ours that outlives us, with its output in a log file. Resolves when it has started. */
export async function startDetached(
  file: string,
  args: readonly string[],
  place: { cwd: string; env: NodeJS.ProcessEnv; logFile: string },
): Promise<{ pid: number | undefined }> {
  // With the tag of a job it would end with that job.
  const { [TAG_VARIABLE]: _, ...env } = place.env;
  const log = openSync(place.logFile, 'a', 0o600);
  try {
    const child = await startChild({ file, cwd: place.cwd }, () =>
      spawn(file, args, { cwd: place.cwd, env, detached: true, stdio: ['ignore', log, log] }),
    );
    child.unref();
    return { pid: child.pid };
  } finally {
    closeSync(log);
  }
}
