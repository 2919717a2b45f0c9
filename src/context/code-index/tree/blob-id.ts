import { createHash } from 'node:crypto';
import type { Oid } from '../../../git/ref-name.ts';

export type ObjectFormat = 'sha1' | 'sha256';

export function formatOf(oid: Oid): ObjectFormat {
  return oid.length === 64 ? 'sha256' : 'sha1';
}

/** The id git gives these bytes, without any filter or conversion of line ends. */
export function blobId(bytes: Uint8Array, format: ObjectFormat): Oid {
  return createHash(format).update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

/** Whether the bytes are those of the blob, possibly with CR LF where the blob has LF. */
export function isBlob(bytes: Buffer, oid: Oid): boolean {
  const format = formatOf(oid);
  if (blobId(bytes, format) === oid) return true;
  if (!bytes.includes('\r\n')) return false;
  const withoutReturns = Buffer.from(bytes.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
  return blobId(withoutReturns, format) === oid;
}
