import { createHash, randomBytes } from 'node:crypto';
import { ReefError } from '../../../protocol/errors.ts';
import type { View } from '../tree/view.ts';
import { estimateTokens } from './tokens.ts';

/** A whole answer, from which pages are cut. Items are made when they are shown: there may be a million. */
export interface Whole<T> {
  count: number;
  items(from: number, to: number): Iterable<T>;
  /** The files behind the answer. Its cursors expire when one of them changes. */
  paths: readonly string[];
}

interface Place<W> {
  id: string;
  at: number;
  whole: W;
}

/** An answer may cost 10,000 tokens; the rest is for what stands around its items. */
const MAX_PAGE_TOKENS = 9_200;
const MOST_KEPT = { answers: 8, items: 100_000 };

/** Keeps the last answers, so that the pages of one fit together even if more is known when the next page is asked for. */
export class Pager {
  readonly #kept = new Map<string, { whole: Whole<unknown>; fingerprint: string }>();

  keep<W extends Whole<unknown>>(whole: W, view: View): Place<W> {
    const id = randomBytes(6).toString('hex');
    this.#kept.set(id, { whole, fingerprint: fingerprint(view, whole.paths) });
    for (const [oldest] of this.#kept) {
      if (oldest === id || !this.#isFull()) break;
      this.#kept.delete(oldest);
    }
    return { id, at: 0, whole };
  }

  #isFull(): boolean {
    const items = [...this.#kept.values()].reduce((sum, { whole }) => sum + whole.count, 0);
    return this.#kept.size > MOST_KEPT.answers || items > MOST_KEPT.items;
  }

  /** The answer of a cursor, if the files behind it are still the same. */
  recall<W extends Whole<unknown>>(cursor: string, view: View): Place<W> {
    const [, id = '', at = ''] = /^([0-9a-f]{12})-(\d{1,9})$/.exec(cursor) ?? [];
    const kept = this.#kept.get(id);
    if (!kept || fingerprint(view, kept.whole.paths) !== kept.fingerprint) {
      throw new ReefError('cursor_expired', 'The files behind this cursor have changed: ask again without it.', {
        details: { cursor },
      });
    }
    return { id, at: Number(at), whole: kept.whole as W };
  }

  page<T>({ id, at, whole }: Place<Whole<T>>, limit: number): { items: T[]; nextCursor: string | undefined } {
    const items = fitting(whole.items(at, at + limit));
    const next = at + items.length;
    return { items, nextCursor: next < whole.count ? `${id}-${next}` : undefined };
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

function fingerprint(view: View, paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(`${path}\0${view.files.get(path)?.oid ?? ''}\0`);
  return hash.digest('hex');
}
