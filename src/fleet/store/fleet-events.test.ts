import fc from 'fast-check';
import { expect } from 'vitest';
import { preparedDatabase } from '../../../test/support/fleet/prepared.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../../../test/support/postgres.ts';
import { scale } from '../../../test/support/scale.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Connection, Database } from '../database/database.ts';
import { newestCursor, readEvents } from './fleet-events.ts';

const server = postgresOfFile();
const onPostgres = (...ids: Parameters<typeof verifies>) => verifies(...ids).needs(hasPostgres, NO_POSTGRES);

const WRITERS = 4;
type Act = { do: 'write'; writer: number } | { do: 'commit'; writer: number } | { do: 'read' };
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), writer: fc.nat(WRITERS - 1) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('commit' as const), writer: fc.nat(WRITERS - 1) }) },
  { weight: 3, arbitrary: fc.constant({ do: 'read' as const }) },
);

type Reader = () => Promise<string[]>;

/** Lets writers commit in any order while a reader pages; what it has read when all have committed. */
async function play(
  connections: Connection[],
  acts: Act[],
  read: Reader,
): Promise<{ written: string[]; got: string[] }> {
  const open = new Set<number>();
  const written: string[] = [];
  const got: string[] = [];
  const commit = async (writer: number) => {
    if (open.delete(writer)) await connections[writer]?.query('COMMIT');
  };
  for (const each of acts) {
    if (each.do === 'read') got.push(...(await read()));
    if (each.do === 'commit') await commit(each.writer);
    if (each.do !== 'write') continue;
    const connection = connections[each.writer];
    if (!open.has(each.writer)) await connection?.query('BEGIN');
    open.add(each.writer);
    const name = `${each.writer}:${written.length}`;
    written.push(name);
    await connection?.query(
      `INSERT INTO reef.event (host, n, seq, at, repository, job, type, payload)
       VALUES ($1, nextval('numbers'), 0, now(), 'shop', $2, 'x', '{}')`,
      [`h${each.writer}`, name],
    );
  }
  for (const writer of [...open]) await commit(writer);
  for (let more = await read(); more.length > 0; more = await read()) got.push(...more);
  return { written, got };
}

/** By the cursor of the fleet, a few at a time. */
async function byCursor(database: Database): Promise<Reader> {
  let cursor = await newestCursor(database);
  return async () => {
    const page = await readEvents(database, { after: cursor, limit: 3 });
    cursor = page.cursor;
    return page.events.map(({ job }) => job);
  };
}

/** The twin: by a sequence alone, as one would write it first. */
async function bySequence(database: Database): Promise<Reader> {
  let last = (await database.query<{ n: number }>('SELECT coalesce(max(n), 0) AS n FROM reef.event'))[0]?.n ?? 0;
  return async () => {
    const sql = 'SELECT n, job FROM reef.event WHERE n > $1 ORDER BY n LIMIT 3';
    const rows = await database.query<{ n: number; job: string }>(sql, [last]);
    last = rows.at(-1)?.n ?? last;
    return rows.map(({ job }) => job);
  };
}

async function check(reader: (database: Database) => Promise<Reader>): Promise<fc.RunDetails<[Act[]]>> {
  await using database = await preparedDatabase(server(), { role: 'reef_admin' });
  await database.query('CREATE SEQUENCE reef.numbers');
  const connections = await Promise.all(Array.from({ length: WRITERS }, () => database.connect()));
  for (const each of connections)
    await each.query('SET search_path = reef; SET idle_in_transaction_session_timeout = 0');
  const numRuns = scale('F-37', { test: 30, faults: 1_000, soak: 10_000 });
  const property = fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 40 }), async (acts) => {
    const { written, got } = await play(connections, acts, await reader(database));
    expect(got.toSorted()).toEqual(written.toSorted());
  });
  try {
    return await fc.check(property, { numRuns, seed: 37, endOnFailure: true });
  } finally {
    for (const each of connections) await each.close();
  }
}

onPostgres('F-37').test('whoever pages while others commit in any order reads every event once', async () => {
  const { failed, counterexample } = await check(byCursor);
  expect({ failed, counterexample }).toEqual({ failed: false, counterexample: null });
});

onPostgres('F-37').test('the twin with a bare sequence skips what commits late', async () => {
  expect((await check(bySequence)).failed).toBe(true);
});

onPostgres('F-37').test('a cursor of something else is refused', async () => {
  await using database = await preparedDatabase(server());
  for (const after of ['7', 'x.1.YQ', '', "1.1.'; DROP"]) {
    await expect(readEvents(database, { after, limit: 1 })).rejects.toMatchObject({ code: 'bad_cursor' });
  }
});
