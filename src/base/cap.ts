import { type Redact, redactDeep, redactStart } from './redact.ts';

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
  return sizeOf(text) <= maxBytes ? text : cutText(text, maxBytes, { rest, beyond: 0 });
}

/** `beyond`: so many bytes come after the text, and they are missing in any case. */
function cutText(text: string, maxBytes: number, of: { rest: string | undefined; beyond: number }): string {
  const size = sizeOf(text) + of.beyond;
  const mark = (cut: number) => `…[cut ${cut} bytes${of.rest === undefined ? '' : `; the rest: ${of.rest}`}]`;
  const room = maxBytes - sizeOf(mark(size));
  if (room < 0) return startOf(text, maxBytes);
  const start = startOf(text, room);
  return start + mark(size - sizeOf(start));
}

type JsonObject = Record<string, unknown>;

interface Cutting {
  rest?: string | undefined;
  /** Of what is kept only, and before it is cut. */
  redact?: Redact;
}

/** A shorter string would say nothing; then whole entries go instead. */
const SHORTEST_CUT = 128;

/** Bounds a payload to `maxBytes` of JSON by cutting its longest strings to one length; with too many entries, the last go. */
export function capJson(payload: JsonObject, maxBytes: number, rest?: string): JsonObject {
  return cap(payload, maxBytes, { rest });
}

/** The same for a payload that may hold secrets, with its JSON. What is left out costs no search. */
export function capRedacted<T extends JsonObject>(
  payload: T,
  maxBytes: number,
  redact: Redact,
): { payload: T; json: string } {
  const json = JSON.stringify(payload);
  const fits = sizeOf(json) <= maxBytes;
  // Without escapes every string stands in the JSON as it is, so that one search covers all of them.
  if (fits && !json.includes('\\') && redact(json) === json) return { payload, json };
  const clean = fits ? redactDeep(redact, payload) : (cap(payload, maxBytes, { redact }) as T);
  const cleanJson = JSON.stringify(clean);
  if (sizeOf(cleanJson) <= maxBytes) return { payload: clean, json: cleanJson };
  const capped = cap(clean, maxBytes, {}) as T; // a mark may be longer than what it stands for
  return { payload: capped, json: JSON.stringify(capped) };
}

function cap(payload: JsonObject, maxBytes: number, how: Cutting): JsonObject {
  const size = jsonSize(payload);
  if (size <= maxBytes) return payload;
  const costs = stringCosts(payload, maxBytes);
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  const limit = levelFor(costs, maxBytes - (size - total));
  if (limit >= SHORTEST_CUT) return cutStrings(payload, limit, how) as JsonObject;
  return trim(payload, maxBytes, how) as JsonObject;
}

/** Of all strings, or of none where there are so many entries that no level would let them all in. */
function stringCosts(payload: unknown, maxBytes: number): number[] {
  const costs: number[] = [];
  const open = [payload];
  let least = 0;
  while (open.length > 0) {
    const value = open.pop();
    const cost = typeof value === 'string' ? jsonSize(value) : 1;
    least += Math.min(cost, SHORTEST_CUT);
    if (least > maxBytes) return [];
    if (typeof value === 'string') costs.push(cost);
    else if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) open.push(child);
  }
  return costs;
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

function cutStrings(value: unknown, limit: number, how: Cutting): unknown {
  if (typeof value === 'string') return cutToJsonSize(value, limit, how);
  if (Array.isArray(value)) return value.map((child) => cutStrings(child, limit, how));
  if (typeof value !== 'object' || value === null) return value;
  const { redact = same } = how;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [redact(key), cutStrings(child, limit, how)]));
}

const same: Redact = (text) => text;

/** Escapes make JSON longer than its text, unevenly along the string: guess a length, then shrink it. */
function cutToJsonSize(whole: string, limit: number, { rest, redact = same }: Cutting): string {
  const { start: text, isWhole } = redactStart(redact, whole, limit); // JSON is never shorter than its text
  const size = jsonSize(text);
  if (size <= limit && isWhole) return text;
  const beyond = isWhole ? 0 : Math.max(1, sizeOf(whole) - sizeOf(text));
  let budget = Math.min(limit, Math.floor((sizeOf(text) * limit) / size));
  let cut = cutText(text, budget, { rest, beyond });
  while (jsonSize(cut) > limit) {
    budget = Math.min(budget - 1, Math.floor(budget * 0.9));
    cut = cutText(text, budget, { rest, beyond });
  }
  return cut;
}

/** What a container may need to say that entries are missing, and the least an entry is given. */
const MARK_ROOM = 48;
const LEAST = 64;

/** Copies as much as fits. Each entry but the last gets at most half of the rest, so that something is left for the others. */
function trim(value: unknown, budget: number, how: Cutting): unknown {
  if (typeof value === 'string') return cutToJsonSize(value, Math.min(budget, SHORTEST_CUT), how);
  if (typeof value !== 'object' || value === null) return value;
  const { redact = same } = how;
  const isList = Array.isArray(value);
  const names = isList ? value : Object.keys(value);
  const kept: [string, unknown][] = [];
  let left = budget - MARK_ROOM;
  for (let at = 0; at < names.length; at++) {
    const [key, child] = isList ? ['', value[at]] : [names[at] as string, value[names[at] as never]];
    const keyCost = isList ? 1 : jsonSize(key) + 2;
    if (left - keyCost < LEAST) break;
    const room = left - keyCost;
    const isLast = kept.length === names.length - 1;
    const copy = trim(child, isLast ? room : Math.max(LEAST, Math.floor(room / 2)), how);
    kept.push([redact(key), copy]);
    left -= keyCost + jsonSize(copy);
  }
  const missing = names.length - kept.length;
  if (missing > 0) kept.push(['…', `[cut ${missing} entries]`]);
  return isList ? kept.map(([, child]) => child) : Object.fromEntries(kept);
}
