import { systemClock } from '../../base/clock.ts';
import type { Client } from '../client/client.ts';
import { byHand, type Fix } from './finding.ts';

const LIMIT_MS = 30_000;
const POLL_MS = 100;

/** A daemon that starts finishes what a killed one left half done. So the fix starts one, and waits until it has. */
export function settledByDaemon(client: Pick<Client, 'call'>, isLeft: () => Promise<boolean>): Fix {
  const apply = async () => {
    const deadline = systemClock.monotonicMs() + LIMIT_MS;
    await client.call('status', {});
    while (await isLeft()) {
      if (systemClock.monotonicMs() > deadline) throw new Error('the daemon has not fixed it; see daemon.log');
      await systemClock.sleep(POLL_MS);
    }
  };
  return { does: 'start a daemon, which cleans it up; any command does the same', safe: true, apply };
}

export const restartDaemon = byHand('reef daemon stop; the next command starts it again');
