import { createReadStream } from 'node:fs';

/** Reads at most `limit` bytes of a file. Counts while reading: the size of a pipe, device or growing file cannot be trusted. */
export async function readUpTo(path: string, limit: number): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const bytes = Buffer.concat(await createReadStream(path, { end: limit }).toArray());
  return { bytes: bytes.subarray(0, limit), isWhole: bytes.length <= limit };
}
