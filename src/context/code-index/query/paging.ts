import { randomBytes } from 'node:crypto';
import { ReefError } from '../../../protocol/errors.ts';
import { estimateTokens } from './tokens.ts';

/** An answer as a whole, from which pages are cut. */
export interface Whole<T> {
  items: readonly T[];
  /** Changes when a file behind the answer does. */
  fingerprint: string;
}

/** 10,000 are the most an answer may cost (C-052); the rest is for what stands around its items. */
const MAX_PAGE_TOKENS = 9_200;
const MOST_KEPT = 8;

interface Page<T> {
  items: T[];
  nextCursor?: string;
}

/** Keeps the last answers, so that the pages of one fit together even if more is known by the time the next is asked for. */
export class Pager {
  readonly #kept = new Map<string, Whole<unknown>>();

  keep<T>(whole: Whole<T>): string {
    const id = randomBytes(6).toString('hex');
    this.#kept.set(id, whole);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return id;
  }

  /** The answer a cursor belongs to, if the files behind it are still the same. */
  recall<T>(cursor: string, fingerprintOf: (whole: Whole<T>) => string): { id: string; at: number; whole: Whole<T> } {
    const [, id = '', at = ''] = /^([0-9a-f]{12})-(\d{1,9})$/.exec(cursor) ?? [];
    const whole = this.#kept.get(id) as Whole<T> | undefined;
    if (!whole || fingerprintOf(whole) !== whole.fingerprint) {
      throw new ReefError('cursor_expired', 'The files behind this cursor have changed: ask again without it.', {
        details: { cursor },
      });
    }
    return { id, at: Number(at), whole };
  }

  page<T>({ id, at, whole }: { id: string; at: number; whole: Whole<T> }, limit: number): Page<T> {
    const items = fitting(whole.items.slice(at, at + limit));
    const next = at + items.length;
    return next < whole.items.length ? { items, nextCursor: `${id}-${next}` } : { items };
  }
}

/** As many from the front as one answer may cost, and at least one. */
export function fitting<T>(items: readonly T[], textOf: (item: T) => string = (item) => JSON.stringify(item)): T[] {
  let tokens = 0;
  const end = items.findIndex((item, at) => {
    tokens += estimateTokens(textOf(item));
    return tokens > MAX_PAGE_TOKENS && at > 0;
  });
  return items.slice(0, end === -1 ? items.length : end);
}
