import { argumentsOf, processRows } from '../../process/process-table.ts';
import type { Parts } from '../parts.ts';
import type { StoredWorktree } from '../record.ts';

const POLL_MS = 50;

/**
 * A git outlives the daemon that started it: what it has begun it completes. Until then nobody can say what there is.
 * It is known by the folder, branch or commit among its arguments, and it is only waited for, never ended.
 */
export async function isQuiet({ clock, lockWaitMs }: Parts, row: StoredWorktree): Promise<boolean> {
  const deadline = clock.monotonicMs() + lockWaitMs;
  while (isAtWork(row)) {
    if (clock.monotonicMs() >= deadline) return false;
    await clock.sleep(POLL_MS);
  }
  return true;
}

function isAtWork({ path, branch, intent }: StoredWorktree): boolean {
  const folder = path ?? (intent?.kind === 'remove' ? intent.path : undefined);
  const commit = intent?.kind === 'accept' ? intent.commit : undefined;
  const isNamed = (argument: string) => argument === folder || argument === commit || argument.includes(branch);
  return processRows().some(({ pid, isAlive }) => {
    if (!isAlive || pid === process.pid) return false;
    const [program = '', ...args] = argumentsOf(pid);
    return /(^|\/)git$/.test(program) && args.some(isNamed);
  });
}
