import { argumentsOf, processRows } from '../../process/process-table.ts';
import type { Deps } from '../deps.ts';
import { processesInside } from '../keep/processes-inside.ts';
import type { StoredWorktree } from '../record.ts';

const POLL_MS = 50;

/**
 * A git outlives the daemon that started it: what it has begun it completes. Until then nobody can say what there is.
 * It is known by the folder, branch or commit among its arguments, and it is only waited for, never ended.
 */
export async function isQuiet({ clock, lockWaitMs }: Deps, row: StoredWorktree): Promise<boolean> {
  const deadline = clock.monotonicMs() + lockWaitMs;
  while (isAtWork(row)) {
    if (clock.monotonicMs() >= deadline) return false;
    await clock.sleep(POLL_MS);
  }
  return true;
}

/** Whatever else it had at work in the folder leaves in its own time; who stays longer belongs to somebody else. */
export async function untilLeft({ clock, lockWaitMs }: Deps, row: StoredWorktree): Promise<void> {
  const folder = folderOf(row);
  const deadline = clock.monotonicMs() + lockWaitMs;
  while (folder !== undefined && (await processesInside(folder)).length > 0) {
    if (clock.monotonicMs() >= deadline) return;
    await clock.sleep(POLL_MS);
  }
}

function folderOf({ path, intent }: StoredWorktree): string | undefined {
  return path ?? (intent?.kind === 'remove' ? intent.path : undefined);
}

function isAtWork(row: StoredWorktree): boolean {
  const { branch, intent } = row;
  const folder = folderOf(row);
  const commit = intent?.kind === 'accept' ? intent.commit : undefined;
  const isNamed = (argument: string) => argument === folder || argument === commit || argument.includes(branch);
  return processRows().some(({ pid, isAlive }) => {
    if (!isAlive || pid === process.pid) return false;
    const [program = '', ...args] = argumentsOf(pid);
    return /(^|\/)git$/.test(program) && args.some(isNamed);
  });
}
