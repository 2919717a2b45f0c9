import { createReadStream } from 'node:fs';

/** Reads at most `limit` bytes of a file. It counts while it reads, because the size of a pipe, device or growing file says nothing. */
export async function readUpTo(path: string, limit: number): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const bytes = Buffer.concat(await createReadStream(path, { end: limit }).toArray());
  return { bytes: bytes.subarray(0, limit), isWhole: bytes.length <= limit };
}
