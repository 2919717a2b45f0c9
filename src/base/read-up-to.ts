import { createReadStream } from 'node:fs';

/**
 * The first bytes of a file, `limit` at most. Counted while they are read: pipes, devices and files that grow have no size that
 * could be trusted.
 */
export async function readUpTo(path: string, limit: number): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const bytes = Buffer.concat(await createReadStream(path, { end: limit }).toArray());
  return { bytes: bytes.subarray(0, limit), isWhole: bytes.length <= limit };
}
