import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { TAG_VARIABLE } from './process-table.ts';
import { startChild } from './start-child.ts';

/** Starts a program of ours that lives on after us, its words in a log file. Resolves once it has started. */
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
