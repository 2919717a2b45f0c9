/** FNV-1a with 32 bits, for tables and sketches: fast, and not for secrets. */
export const FNV_SEED = 0x811c9dc5;
export const FNV_PRIME = 0x01000193;

export function fnvOfBytes(bytes: Uint8Array, begin: number, end: number): number {
  let hash = FNV_SEED;
  for (let at = begin; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), FNV_PRIME);
  return hash >>> 0;
}

/** Of its UTF-16 units. */
export function fnvOfText(text: string): number {
  let hash = FNV_SEED;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash >>> 0;
}
