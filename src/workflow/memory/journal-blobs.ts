import { ReefError } from '../../protocol/errors.ts';
import type { Store } from '../../store/store.ts';
import { addressOf } from '../durable/journal-codec.ts';
import type { Blobs } from './segment.ts';

/** Large content beside the journal, under the hash of its bytes. */
export function journalBlobs(store: Store): Blobs {
  return {
    put(bytes) {
      const address = addressOf(bytes);
      store.commit(() => store.journal.putBlob(address, bytes));
      return address;
    },
    get(address) {
      const bytes = store.journal.getBlob(address);
      if (!bytes) throw new ReefError('internal', `the content ${address} is not there`);
      return bytes;
    },
  };
}
