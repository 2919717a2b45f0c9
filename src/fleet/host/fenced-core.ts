import { toReefError } from '../../protocol/errors.ts';
import type { Core } from '../../protocol/operations.ts';
import type { Queries } from '../database/database.ts';
import type { HostIdentity } from '../engine/run-records.ts';

/**
 * What a job asks for is asked by the host that has its run: from one that was taken over nothing happens. While the database
 * is away agents go on.
 */
export function fencedCore(core: Core, { database, self }: { database: Queries; self(): HostIdentity }): Core {
  const refuseSuperseded = async () => {
    const { host, epoch } = self();
    try {
      await database.query('SELECT reef.fence($1, $2)', [host, epoch]);
    } catch (error) {
      if (toReefError(error).code !== 'storage_unavailable') throw error;
    }
  };
  const fenced = Object.entries(core).map(([name, call]) => [
    name,
    async (...given: unknown[]) => {
      await refuseSuperseded();
      return (call as (...given: unknown[]) => unknown)(...given);
    },
  ]);
  return Object.fromEntries(fenced);
}
