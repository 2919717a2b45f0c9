import type { Skipped } from './contract.ts';

const MAX_BYTES = 1024 * 1024;
const MAX_LINE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

export function isTooLarge(bytes: number): boolean {
  return bytes > MAX_BYTES;
}

/** Why a file is too large to be parsed, if it is. */
export function tooLarge(source: Uint8Array): Skipped | undefined {
  if (isTooLarge(source.byteLength)) return { skipped: 'too_large' };
  for (let start = 0; start <= source.byteLength; ) {
    const end = source.indexOf(NEWLINE, start);
    const length = (end === -1 ? source.byteLength : end) - start;
    if (length > MAX_LINE_BYTES) return { skipped: 'long_line' };
    start += length + 1;
  }
  return undefined;
}

/** A worker takes about 112 MB, the server itself 128 MB. */
export function workersUnder(ceilingMb: number, cores: number): number {
  return Math.max(1, Math.min(Math.floor((ceilingMb - 128) / 112), cores - 1));
}
