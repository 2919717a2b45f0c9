import { ReefError } from '../protocol/errors.ts';

/** Where a reader stands: after a `seq`, or at an instant. */
export type Cursor = { after: number } | { at: string };

const SEQ = /^\d{1,15}$/;
const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/;

export function parseCursor(since: string | undefined): Cursor {
  if (since === undefined) return { after: 0 };
  if (SEQ.test(since)) return { after: Number(since) };
  const time = ISO.test(since) ? Date.parse(since) : Number.NaN;
  if (Number.isNaN(time))
    throw new ReefError('bad_cursor', `"${since.slice(0, 64)}" is no cursor and no ISO-8601 time`);
  return { at: new Date(time).toISOString() };
}
