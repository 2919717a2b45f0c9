import type { Logger } from '../../base/log.ts';
import type { Database } from '../database/database.ts';
import type { HostDeps } from './home-source.ts';
import { Mail } from './mail.ts';
import { Shipper } from './shipper.ts';

/** What a worker keeps going beside its runs: events and questions go out, answers and commands come in. */
export function openHostStore(deps: HostDeps & { database: Database; log: Logger }): { close(): Promise<void> } {
  const closing = new AbortController();
  const shipper = new Shipper(deps);
  const working = [shipper.run(closing.signal), new Mail(deps).run(closing.signal)];
  return {
    async close() {
      closing.abort();
      await Promise.all(working);
    },
  };
}
