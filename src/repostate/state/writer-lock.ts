import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import { adopt, identify, type ProcessIdentity } from '../../process/identity.ts';
import { ReefError } from '../../protocol/errors.ts';

const identitySchema = z.object({ pid: z.number().int(), startTime: z.string(), bootId: z.string() });
const TRIES = 5;

/**
 * Allows one writer per worktree: the native coder for its own job, the daemon otherwise. The lock names a process by pid, start
 * time and boot id, so the lock of a dead writer is taken over even when its pid is in use again.
 */
export async function holdWriterLock(stateDir: string): Promise<{ release(): Promise<void> }> {
  const file = join(stateDir, 'repostate.lock');
  const own = identify(process.pid);
  if (!own) throw new ReefError('repostate_locked', 'This process cannot identify itself.');
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  for (let tries = 0; tries < TRIES; tries++) {
    if (await take(file, own)) return { release: () => release(file, own) };
    const holder = await holderOf(file);
    if (holder && adopt(holder) === 'alive') {
      throw new ReefError('repostate_locked', `Process ${holder.pid} writes the state in ${stateDir}.`, {
        details: { pid: holder.pid },
      });
    }
    await rm(file, { force: true });
  }
  throw new ReefError('repostate_locked', `The lock in ${stateDir} changes hands too often.`);
}

async function take(file: string, own: ProcessIdentity): Promise<boolean> {
  try {
    await writeFile(file, JSON.stringify(own), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const holder = await holderOf(file);
    return holder?.pid === own.pid && holder.startTime === own.startTime;
  }
}

async function release(file: string, own: ProcessIdentity): Promise<void> {
  if ((await holderOf(file))?.pid === own.pid) await rm(file, { force: true });
}

async function holderOf(file: string): Promise<ProcessIdentity | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const parsed = parseJson(text);
  const holder = identitySchema.safeParse(parsed.ok ? parsed.value : undefined);
  return holder.success ? holder.data : undefined;
}
