import { ReefError } from '../../protocol/errors.ts';
import type { Queries } from '../database/database.ts';

export interface FleetEvent {
  host: string;
  n: number;
  /** In the home it comes from. */
  seq: number;
  at: Date;
  repository: string;
  run: string | null;
  job: string;
  type: string;
  payload: unknown;
}

interface Place {
  xid: string;
  host: string;
  n: number;
}

const CURSOR = /^(\d{1,20})\.(\d{1,15})\.([\w-]*)$/;

function written({ xid, host, n }: Place): string {
  return `${xid}.${n}.${Buffer.from(host).toString('base64url')}`;
}

function read(cursor: string): Place {
  const [, xid, n, host] = CURSOR.exec(cursor) ?? [];
  if (xid === undefined || host === undefined) {
    throw new ReefError('bad_cursor', `${cursor.slice(0, 50)} is no cursor of a fleet`);
  }
  return { xid, host: Buffer.from(host, 'base64url').toString(), n: Number(n) };
}

/** The cursor behind everything that can be read now. */
export async function newestCursor(queries: Queries): Promise<string> {
  const [row] = await queries.query<{ xid: string }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xid');
  return written({ xid: row?.xid ?? '0', host: '', n: 0 });
}

/**
 * Events in the order of the transactions that brought them. Those at or above the oldest one still open are left for later:
 * one that commits late holds a reader up and is not skipped, as it would be with a sequence.
 */
export async function readEvents(
  queries: Queries,
  { after, limit, repositories }: { after: string | undefined; limit: number; repositories?: readonly string[] },
): Promise<{ events: FleetEvent[]; cursor: string }> {
  const place = after === undefined ? { xid: '0', host: '', n: 0 } : read(after);
  const rows = await queries.query<FleetEvent & { xid: string }>(
    `SELECT host, n, seq, xid::text, at, repository, run, job, type, payload FROM reef.event
     WHERE (xid, host, n) > ($1::text::xid8, $2, $3) AND xid < pg_snapshot_xmin(pg_current_snapshot())
       AND ($4::text[] IS NULL OR repository = ANY($4)) ORDER BY reef.event.xid, host, n LIMIT $5`,
    [place.xid, place.host, place.n, repositories ?? null, limit],
  );
  const last = rows.at(-1);
  return { events: rows.map(({ xid, ...event }) => event), cursor: last ? written(last) : written(place) };
}
