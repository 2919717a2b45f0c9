import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const KEY = /^[0-9a-f]{64}$/;

/**
 * A credential: 256 random bits in a file that only its owner can read, made once for a home, and anew where others could
 * read it. The files lie beside the sockets, where no sandbox looks. Only the command line sends that of the person: it is
 * what tells a person from an MCP client or an agent that found the socket.
 */
export function keyFile(path: string): string {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isFile() && (found.mode & 0o077) === 0) {
    const key = readFileSync(path, 'utf8').trim();
    if (KEY.test(key)) return key;
  }
  return newKey(path);
}

/** Replaces the key: the old one is worth nothing from now on. */
export function newKey(path: string): string {
  rmSync(path, { force: true });
  const key = randomBytes(32).toString('hex');
  writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' });
  return key;
}

/** Takes the same time wherever the first wrong character is. */
export function isSameKey(key: string, given: unknown): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return typeof given === 'string' && timingSafeEqual(hash(key), hash(given));
}
