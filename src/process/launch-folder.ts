import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from './identity.ts';

export interface LaunchRecord {
  /** Of the wrapper, written before the agent starts. */
  identity?: ProcessIdentity;
  /** Written when the whole tree has ended; absent as well if the wrapper was killed. */
  exit?: { code: number; at: string };
}

/** What the wrapper wrote into the folder of a launch. Files of another shape are not its own. */
export function readLaunch(dir: string): LaunchRecord {
  const { pid, startTime, bootId } = readJson(join(dir, 'pid'));
  const { code, at } = readJson(join(dir, 'exit'));
  const isIdentity = Number.isSafeInteger(pid) && typeof startTime === 'string' && typeof bootId === 'string';
  const isExit = Number.isSafeInteger(code) && typeof at === 'string' && !Number.isNaN(Date.parse(at));
  return {
    ...(isIdentity && { identity: { pid: Number(pid), startTime, bootId } }),
    ...(isExit && { exit: { code: Number(code), at } }),
  };
}

/** Settles a launch whose launcher was killed: its wrapper has written its identity and runs, or finds the name taken and stops. */
export function abandonLaunch(dir: string): 'abandoned' | 'started' {
  try {
    closeSync(openSync(join(dir, 'pid'), 'wx', 0o600));
    return 'abandoned';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 'abandoned'; // not even a folder: nothing was started
    if (code !== 'EEXIST') throw error;
    return readLaunch(dir).identity ? 'started' : 'abandoned';
  }
}

/** Empty when absent or left empty by `abandonLaunch`. Any other failure must not look like a launch without an end. */
function readJson(path: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(readFileSync(path, 'utf8')) };
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
