import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from './identity.ts';

export interface LaunchRecord {
  /** Of the wrapper, written before the agent starts. */
  identity?: ProcessIdentity;
  /** Written when the whole tree has ended; absent as well if the wrapper was killed. */
  exit?: { code: number; at: string };
}

/** What the wrapper left in the folder of a launch, whoever launched it. What is not of its shape was not left by it. */
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

/**
 * Settles a launch whose launcher was killed, once for all: either its wrapper has got as far as its identity, and the job
 * runs; or it finds the name taken, whenever it gets there, and starts nothing.
 */
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

/** Nothing where it is absent or left empty by `abandonLaunch`. Other failures must not pass for a launch without an end. */
function readJson(path: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(readFileSync(path, 'utf8')) };
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
