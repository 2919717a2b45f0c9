export type Parsed =
  /** `dropped`: it had keys that change prototypes, and no longer has them. */
  { ok: true; value: unknown; dropped?: true } | { ok: false; why: string };

const DEFAULT_DEPTH = 64;
const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** Parses JSON from outside. Never throws; nests at most `maxDepth` deep; the result is safe to spread or assign. */
export function parseJson(text: string, { maxDepth = DEFAULT_DEPTH } = {}): Parsed {
  // Before parsing, not after: 16 MiB of "[" cost the parser gigabytes.
  if (isDeeperThan(text, maxDepth)) return { ok: false, why: `nested deeper than ${maxDepth} levels` };
  try {
    const value: unknown = JSON.parse(text);
    const dropped = mayPollute(text) && removePollution(value);
    return { ok: true, value, ...(dropped && { dropped }) };
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
}

function isDeeperThan(text: string, maxDepth: number): boolean {
  if (text.length <= maxDepth) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_LIST || code === OPEN_OBJECT) depth++;
    else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
    if (depth > maxDepth) return true;
  }
  return false;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

/** Keys may be written with \u escapes. A false alarm only costs time. */
function mayPollute(text: string): boolean {
  return text.includes('__proto__') || text.includes('constructor') || text.includes('\\u');
}

/** `constructor` is a normal key in data about code; only with `prototype` below it can it pollute. */
function removePollution(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  let found = false;
  if (!Array.isArray(value)) {
    const object = value as Record<string, unknown>;
    if (Object.hasOwn(object, '__proto__')) found = Reflect.deleteProperty(object, '__proto__');
    if (Object.hasOwn(object, 'constructor') && hasPrototypeKey(object.constructor)) {
      found = Reflect.deleteProperty(object, 'constructor');
    }
  }
  for (const child of Object.values(value)) found = removePollution(child) || found;
  return found;
}

function hasPrototypeKey(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}
