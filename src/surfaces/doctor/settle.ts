import { systemClock } from '../../base/clock.ts';
import type { Client } from '../client/client.ts';
import { byHand, type Fix } from './finding.ts';

const LIMIT_MS = 30_000;
const POLL_MS = 100;

/**
 * What a daemon that was killed left half done, the next one settles as it starts: by its own records, and by nothing that
 * is not in them. So the fix is to start one, as any command would, and to see that it has done it.
 */
export function settledByDaemon(client: Pick<Client, 'call'>, isLeft: () => Promise<boolean>): Fix {
  const apply = async () => {
    const deadline = systemClock.monotonicMs() + LIMIT_MS;
    await client.call('status', {});
    while (await isLeft()) {
      if (systemClock.monotonicMs() > deadline) throw new Error('the daemon has not settled it; see daemon.log');
      await systemClock.sleep(POLL_MS);
    }
  };
  return { does: 'let a daemon settle it, as the next command does', safe: true, apply };
}

export const restartDaemon = byHand('reef daemon stop, then any command');
