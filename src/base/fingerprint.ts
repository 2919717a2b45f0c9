import { createHash } from 'node:crypto';

/** SHA-256 of a value's canonical JSON (RFC 8785). What JSON cannot express throws: two things never share a fingerprint. */
export function fingerprint(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value);
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${Array.from(value, canonicalJson).join(',')}]`;
  if (isPlainObject(value)) {
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    return `{${keys.sort().map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`)}}`;
  }
  throw new TypeError(`a ${typeof value} has no canonical JSON`);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
