import { createHash } from 'node:crypto';
import { ReefError } from '../../../protocol/errors.ts';
import type { View } from '../tree/view.ts';
import { estimateTokens } from './tokens.ts';

/** A whole answer, from which pages are cut. Items are made when they are shown: there may be a million. */
export interface Whole<T> {
  count: number;
  items(from: number, to: number): Iterable<T>;
  /** The files behind the answer. Its cursors expire when one of them changes. */
  paths: readonly string[];
  /** What is not known yet: when it is, the items may come in another order. */
  pending: number;
}

/** Which page of which answer is wanted, and how the answer is made if it is not kept. */
interface Asked<W> {
  /** Everything that the answer depends on besides the files. */
  question: readonly unknown[];
  cursor: string | undefined;
  make: () => Promise<W>;
}

interface Place<W> {
  id: string;
  at: number;
  whole: W;
}

/** An answer may cost 10,000 tokens; the rest is for what stands around its items. */
const MAX_PAGE_TOKENS = 9_200;
const ID_LENGTH = 12;
const MOST_KEPT = { answers: 8, items: 100_000 };

interface Kept {
  whole: Whole<unknown>;
  id: string;
  question: string;
  /** Of the tree. */
  version: number;
}

/**
 * Keeps the last answers. A complete one is given again while no file changes. The pages of one fit together, even if more is known
 * when the next page is asked for. An answer that is no longer kept, because its server ended for example, is made again; the cursor
 * tells whether it is still the same.
 */
export class Pager {
  readonly #kept = new Map<string, Kept>();

  async place<W extends Whole<unknown>>({ question, cursor, make }: Asked<W>, view: View): Promise<Place<W>> {
    const key = JSON.stringify(question);
    if (cursor === undefined) return this.#again<W>(key, view) ?? this.#keep(key, await make(), view);
    const [, id, at] = /^([0-9a-f]{12})-(\d{1,9})$/.exec(cursor) ?? [];
    const kept = this.#kept.get(`${key} ${id}`);
    const isSame = kept !== undefined && idOf(kept.whole, view) === id;
    const place = isSame ? { id: kept.id, whole: kept.whole as W } : this.#keep(key, await make(), view);
    if (place.id !== id) {
      throw new ReefError('cursor_expired', 'What this cursor points to has changed: ask again without it.', {
        details: { cursor },
      });
    }
    return { ...place, at: Number(at) };
  }

  #again<W extends Whole<unknown>>(question: string, view: View): Place<W> | undefined {
    for (const kept of this.#kept.values()) {
      const isSame = kept.question === question && kept.version === view.version;
      if (isSame && kept.whole.pending === 0) return { id: kept.id, at: 0, whole: kept.whole as W };
    }
    return undefined;
  }

  #keep<W extends Whole<unknown>>(question: string, whole: W, view: View): Place<W> {
    const id = idOf(whole, view);
    const key = `${question} ${id}`;
    this.#kept.delete(key);
    this.#kept.set(key, { whole, id, question, version: view.version });
    for (const [oldest] of this.#kept) {
      if (oldest === key || !this.#isFull()) break;
      this.#kept.delete(oldest);
    }
    return { id, at: 0, whole };
  }

  #isFull(): boolean {
    const items = [...this.#kept.values()].reduce((sum, { whole }) => sum + whole.count, 0);
    return this.#kept.size > MOST_KEPT.answers || items > MOST_KEPT.items;
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

function idOf({ paths, count, pending }: Whole<unknown>, view: View): string {
  const hash = createHash('sha256').update(`${count} ${pending}\0`);
  for (const path of paths) hash.update(`${path}\0${view.files.get(path)?.oid ?? ''}\0`);
  return hash.digest('hex').slice(0, ID_LENGTH);
}
