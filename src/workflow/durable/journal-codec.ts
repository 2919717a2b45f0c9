import { createHash } from 'node:crypto';
import type { JournalRow, JournalTable } from '../../store/journal-table.ts';
import type { EntryData, JournalEntry, JournalKind } from './durable-engine.ts';

const LARGEST_ENTRY = 64 * 1024;

type Blobs = Pick<JournalTable, 'putBlob' | 'getBlob'>;
type Packed = EntryData & { blob?: string };

/** A value too large for its entry is kept beside it, under the hash of its bytes. */
export function packData(blobs: Blobs, data: EntryData): string {
  const whole = JSON.stringify(data);
  if (Buffer.byteLength(whole) <= LARGEST_ENTRY) return whole;
  const { value = null, ...rest } = data;
  const bytes = Buffer.from(JSON.stringify(value));
  const packed: Packed = { ...rest, blob: addressOf(bytes) };
  blobs.putBlob(addressOf(bytes), bytes);
  return JSON.stringify(packed);
}

export function unpackEntry(blobs: Blobs, row: JournalRow): JournalEntry {
  const { blob, ...data }: Packed = JSON.parse(row.data);
  const value = blob === undefined ? {} : { value: JSON.parse(String(blobs.getBlob(blob) ?? 'null')) };
  return { n: row.n, at: row.at, kind: row.kind as JournalKind, key: row.key, data: { ...data, ...value } };
}

export function addressOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
