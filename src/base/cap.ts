const encoder = new TextEncoder();

const sizeOf = (text: string) => Buffer.byteLength(text);
const jsonSize = (value: unknown) => sizeOf(JSON.stringify(value) ?? 'null');

/** The longest start of `text` within `maxBytes` of UTF-8 that splits no character. */
function startOf(text: string, maxBytes: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.max(0, maxBytes)));
  return text.slice(0, read);
}

/** Cuts text to `maxBytes` of UTF-8. A mark, where there is room, says how much is missing and (`rest`) where it is. */
export function capText(text: string, maxBytes: number, rest?: string): string {
  const size = sizeOf(text);
  if (size <= maxBytes) return text;
  const mark = (cut: number) => `…[cut ${cut} bytes${rest === undefined ? '' : `; the rest: ${rest}`}]`;
  const room = maxBytes - sizeOf(mark(size));
  if (room < 0) return startOf(text, maxBytes);
  const start = startOf(text, room);
  return start + mark(size - sizeOf(start));
}

type JsonObject = Record<string, unknown>;

/** A shorter string would say nothing; then whole entries go instead. */
const SHORTEST_CUT = 128;

/** Bounds a payload to `maxBytes` of JSON by cutting its longest strings to one length; with too many entries, the last go. */
export function capJson(payload: JsonObject, maxBytes: number, rest?: string): JsonObject {
  const size = jsonSize(payload);
  if (size <= maxBytes) return payload;
  const costs = stringCosts(payload);
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  const limit = levelFor(costs, maxBytes - (size - total));
  if (limit >= SHORTEST_CUT) return cutStrings(payload, limit, rest) as JsonObject;
  return trim(payload, maxBytes, rest) as JsonObject;
}

function stringCosts(value: unknown, into: number[] = []): number[] {
  if (typeof value === 'string') into.push(jsonSize(value));
  else if (typeof value === 'object' && value !== null)
    for (const child of Object.values(value)) stringCosts(child, into);
  return into;
}

/** The greatest level so that all costs, cut down to it, fit into `room`. */
function levelFor(costs: number[], room: number): number {
  const ascending = [...costs].sort((a, b) => a - b);
  let left = room;
  for (const [index, cost] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (cost > share) return share;
    left -= cost;
  }
  return 0;
}

function cutStrings(value: unknown, limit: number, rest: string | undefined): unknown {
  if (typeof value === 'string') return cutToJsonSize(value, limit, rest);
  if (Array.isArray(value)) return value.map((child) => cutStrings(child, limit, rest));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, cutStrings(child, limit, rest)]));
}

/** Escapes make JSON longer than its text, unevenly along the string: guess a length, then shrink it. */
function cutToJsonSize(text: string, limit: number, rest: string | undefined): string {
  const size = jsonSize(text);
  if (size <= limit) return text;
  let budget = Math.floor((sizeOf(text) * limit) / size);
  let cut = capText(text, budget, rest);
  while (jsonSize(cut) > limit) {
    budget = Math.min(budget - 1, Math.floor(budget * 0.9));
    cut = capText(text, budget, rest);
  }
  return cut;
}

/** What a container may need to say that entries are missing, and the least an entry is given. */
const MARK_ROOM = 48;
const LEAST = 64;

/** Copies as much as fits. Each entry but the last gets at most half of the rest, so that something is left for the others. */
function trim(value: unknown, budget: number, rest: string | undefined): unknown {
  if (typeof value === 'string') return cutToJsonSize(value, Math.min(budget, SHORTEST_CUT), rest);
  if (typeof value !== 'object' || value === null) return value;
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const kept: [string, unknown][] = [];
  let left = budget - MARK_ROOM;
  for (const [key, child] of entries) {
    const keyCost = isList ? 1 : jsonSize(key) + 2;
    if (left - keyCost < LEAST) break;
    const room = left - keyCost;
    const isLast = kept.length === entries.length - 1;
    const copy = trim(child, isLast ? room : Math.max(LEAST, Math.floor(room / 2)), rest);
    kept.push([key, copy]);
    left -= keyCost + jsonSize(copy);
  }
  const missing = entries.length - kept.length;
  if (missing > 0) kept.push(['…', `[cut ${missing} entries]`]);
  return isList ? kept.map(([, child]) => child) : Object.fromEntries(kept);
}
