import { existsSync } from 'node:fs';
import type { Home } from '../../base/home.ts';
import { listens } from '../client/start-daemon.ts';
import { bad, type Check, type Found, ok } from './finding.ts';

/** Imported late: a database driver that does not load is a finding too. */
export function storeChecks(home: Home): Check[] {
  return [
    { name: 'lock', look: async () => [{ check: 'lock', ...(await lock(home)) }] },
    { name: 'database', look: async () => [{ check: 'database', ...(await database(home.database)) }] },
  ];
}

type Result = Omit<Found, 'check'>;

/** The kernel frees the lock of a dead process, so one that is held has a living owner: it answers, or it hangs. */
async function lock({ lock: path, socket }: Home): Promise<Result> {
  if (!existsSync(path)) return ok('free', path);
  const { isLocked } = await import('../../store/home-lock.ts');
  if (!isLocked(path)) return ok('free', path);
  if (await listens(socket)) return ok('held by the daemon that answers', path);
  return {
    ...bad('held by a daemon that does not answer', `${path} is locked, nobody listens at ${socket}`),
    fix: { does: 'look at daemon.log; end the daemon whose pid daemon.json names', safe: false },
  };
}

async function database(path: string): Promise<Result> {
  if (!existsSync(path)) return ok('none yet', path);
  const { openSqlite } = await import('../../store/driver.ts');
  const sqlite = openSqlite(path, 'read');
  try {
    const verdict = String(sqlite.pragma('quick_check'));
    if (verdict === 'ok') return ok('quick_check ok', path);
    return {
      ...bad('damaged', verdict.split('\n')[0] ?? ''),
      fix: { does: 'reef daemon stop, then any command: it is set aside and rebuilt', safe: false },
    };
  } finally {
    sqlite.close();
  }
}
