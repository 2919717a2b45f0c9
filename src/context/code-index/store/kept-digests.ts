import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { FactStore } from './fact-store.ts';

/** Digests of files that only an installation changes, kept by their stamps: reading the grammars would slow every warm start. */
export function keptDigests(store: FactStore): (file: string) => Uint8Array {
  const known = new Map<string, Uint8Array>();
  return (file) => {
    const found = known.get(file) ?? keptOrMade(store, file);
    known.set(file, found);
    return found;
  };
}

function keptOrMade(store: FactStore, file: string): Uint8Array {
  const key = `digest ${file}`;
  const { size, mtimeMs, ctimeMs, ino } = statSync(file);
  const stamp = [size, mtimeMs, ctimeMs, ino].join(' ');
  const [keptStamp, kept] = store.look(({ registry }) => registry.meta(key), undefined)?.split('=') ?? [];
  if (keptStamp === stamp && kept !== undefined) return Buffer.from(kept, 'hex');
  const digest = createHash('sha256').update(readFileSync(file)).digest();
  store.write(({ registry }) => registry.setMeta(key, `${stamp}=${digest.toString('hex')}`));
  return digest;
}
