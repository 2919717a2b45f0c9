import { createHash, randomBytes } from 'node:crypto';
import { ReefError } from '../../../protocol/errors.ts';
import type { View } from '../tree/view.ts';
import { estimateTokens } from './tokens.ts';

/** An answer as a whole, from which pages are cut. Items are made when they are shown: there may be a million. */
export interface Whole<T> {
  count: number;
  items(from: number, to: number): Iterable<T>;
  /** Changes when a file behind the answer does. */
  fingerprint: string;
}

/** 10,000 are the most an answer may cost; the rest is for what stands around its items. */
const MAX_PAGE_TOKENS = 9_200;
const MOST_KEPT = { answers: 8, items: 100_000 };

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
    for (const [oldest] of this.#kept) {
      if (oldest === id || !this.#isFull()) break;
      this.#kept.delete(oldest);
    }
    return id;
  }

  #isFull(): boolean {
    const items = [...this.#kept.values()].reduce((sum, { count }) => sum + count, 0);
    return this.#kept.size > MOST_KEPT.answers || items > MOST_KEPT.items;
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
    const items = fitting(whole.items(at, at + limit));
    const next = at + items.length;
    return next < whole.count ? { items, nextCursor: `${id}-${next}` } : { items };
  }
}

/** As many items from the front as fit into one answer, and at least one. */
export function fitting<T>(items: Iterable<T>, textOf: (item: T) => string = (item) => JSON.stringify(item)): T[] {
  const fit: T[] = [];
  let tokens = 0;
  for (const item of items) {
    tokens += estimateTokens(textOf(item));
    if (tokens > MAX_PAGE_TOKENS && fit.length > 0) break;
    fit.push(item);
  }
  return fit;
}

/** Changes with the content of any of these files. */
export function fingerprint(view: View, paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(`${path}\0${view.files.get(path)?.oid ?? ''}\0`);
  return hash.digest('hex');
}
