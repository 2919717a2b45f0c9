import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { addHost, addRepository, asWorker, fleetDatabase } from '../../../test/support/fleet/fleet-database.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../../../test/support/postgres.ts';
import { scale } from '../../../test/support/scale.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventually } from '../../../test/support/wait.ts';
import { systemClock } from '../../base/clock.ts';
import { readEnvironment } from '../../base/env.ts';
import { toReefError } from '../../protocol/errors.ts';
import type { Core } from '../../protocol/operations.ts';
import type { Database } from '../database/database.ts';
import { openDatabase } from '../database/open-database.ts';
import { RunRecords } from '../engine/run-records.ts';
import { answerQuestion, openQuestions } from '../store/inbox.ts';
import { claimNext } from './claims.ts';
import { fencedCore } from './fenced-core.ts';
import { HostSession } from './session.ts';
import { takeOverLost } from './take-over.ts';

const server = postgresOfFile();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const needing = (...ids: Parameters<typeof verifies>) => verifies(...ids).needs(hasPostgres, NO_POSTGRES);

async function open(): Promise<{ url: string; database: Database } & AsyncDisposable> {
  const url = await fleetDatabase(server());
  const database = await asWorker(url);
  return { url, database, [Symbol.asyncDispose]: () => database.close() };
}

function session(database: Database, host: string, onSuperseded = async () => {}): HostSession {
  const facts = { host, boot: randomUUID(), labels: ['os=linux'], slots: 2, version: '1', interpreter: 1 };
  return new HostSession({
    ...{ database, clock: systemClock, log, onSuperseded },
    facts: { ...facts, folder: temporaryFolder() },
    timings: { beat: 20, ttl: 1_000, look: 100, park: 1_000, silence: 5_000, hub: 1_000 },
  });
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => toReefError(error).code,
  );

async function queue(database: Database, id: string, repository: string, more: object = {}): Promise<void> {
  const { priority = 1, needs = [], age = 0 } = more as { priority?: number; needs?: string[]; age?: number };
  await database.query(
    `INSERT INTO reef.run (id, repository, task, by, priority, needs, queued_at)
     VALUES ($1, $2, 't', 'ada', $3, $4, now() - $5 * interval '1 minute')`,
    [id, repository, priority, needs, age],
  );
}

const rowOf = async (database: Database, id: string) =>
  (await database.query('SELECT status, host, epoch, lost_count FROM reef.run WHERE id = $1', [id]))[0];

needing('F-21').test(
  'a worker holds the one session of its id and beats; a second worker of that id is refused',
  async () => {
    await using fleet = await open();
    const first = session(fleet.database, 'h');
    await first.open();
    const second = session(fleet.database, 'h');
    expect(await codeOf(second.open())).toBe('host_id_in_use');
    const beat = async () =>
      (await fleet.database.query<{ beat: Date; labels: string[]; slots: number }>('SELECT * FROM reef.host'))[0];
    const before = await beat();
    await eventually(beat, (row) => Number(row?.beat) > Number(before?.beat));
    expect(before).toMatchObject({ id: 'h', epoch: 1, state: 'up', labels: ['os=linux'], slots: 2, interpreter: 1 });
    await first.close();
    const next = session(fleet.database, 'h');
    await next.open();
    expect(next.identity).toEqual({ host: 'h', epoch: 2 });
    await next.close();
  },
);

needing('F-23', 'F-61').test(
  'a session that is cut and made again with its epoch has lost nothing; with another epoch its work here is let go',
  async () => {
    await using fleet = await open();
    const let_go: string[] = [];
    const held = session(fleet.database, 'h', async () => void let_go.push('superseded'));
    await held.open();
    const cut = async () => {
      const [row] = await fleet.database.query<{ pid: number }>('SELECT backend_pid AS pid FROM reef.host');
      const admin = await openDatabase(fleet.url, { env: readEnvironment() });
      const [ended] = await admin.query('SELECT pg_terminate_backend($1) AS cut', [row?.pid]);
      await admin.close();
      expect(ended).toEqual({ cut: true });
      return row?.pid;
    };
    const pid = await cut();
    await eventually(
      () => fleet.database.query<{ pid: number }>('SELECT backend_pid AS pid FROM reef.host'),
      ([row]) => row?.pid !== pid && held.identity !== undefined,
    );
    expect([held.identity, let_go]).toEqual([{ host: 'h', epoch: 1 }, []]);
    await fleet.database.query("UPDATE reef.host SET epoch = epoch + 1, state = 'lost'");
    await eventually(
      () => held.identity?.epoch,
      (epoch) => epoch === 3,
    );
    expect(let_go).toEqual(['superseded']);
    await held.close();
  },
);

needing('F-22').test('what an epoch that is over sends changes nothing; without the check it would', async () => {
  await using fleet = await open();
  await addRepository(fleet.database, 'shop');
  await addHost(fleet.database, 'h');
  await queue(fleet.database, 'r1', 'shop');
  await fleet.database.query("UPDATE reef.host SET epoch = 2 WHERE id = 'h'");
  const old = { host: 'h', epoch: 1 };
  const claim = () => claimNext(fleet.database, old, { labels: [], slots: 1 });
  expect([await codeOf(claim()), await rowOf(fleet.database, 'r1')]).toMatchObject([
    'job_superseded',
    { status: 'queued', host: null },
  ]);
  const admin = await openDatabase(fleet.url, { env: readEnvironment() });
  await admin.query(
    'CREATE OR REPLACE FUNCTION reef.fence(host text, epoch bigint) RETURNS void LANGUAGE sql AS $$ SELECT $$',
  );
  await admin.close();
  expect([await codeOf(claim()), await rowOf(fleet.database, 'r1')]).toMatchObject(['done', { host: 'h', epoch: 1 }]);
});

needing('F-25', 'F-26', 'F-27', 'F-65').test(
  'of two judges one takes over a host whose beat is too old; a free lock, a short session or a young server prove nothing',
  async () => {
    await using fleet = await open();
    const { database } = fleet;
    await addRepository(database, 'shop');
    for (const host of ['dead', 'quiet', 'judge', 'other']) await addHost(database, host);
    // Nobody holds a lock of these: only `dead` has not beaten for an hour.
    await database.query(
      "UPDATE reef.host SET beat = now() + CASE id WHEN 'dead' THEN interval '-1 hour' ELSE '1 hour' END",
    );
    await queue(database, 'r1', 'shop');
    await claimNext(database, { host: 'dead', epoch: 1 }, { labels: [], slots: 1 });
    const ttl = 50;
    const judge = (host: string, heldMs: number, limit = ttl) => takeOverLost(database, { host, heldMs, ttl: limit });
    expect(await judge('judge', ttl - 1)).toEqual([]);
    // The server has not been up for so long: after a restart every beat is old.
    expect(await judge('judge', 86_400_000, 86_400_000)).toEqual([]);
    const both = await Promise.all([judge('judge', ttl), judge('other', ttl)]);
    expect(both.flat()).toEqual(['dead']);
    expect(await rowOf(database, 'r1')).toEqual({ status: 'queued', host: null, epoch: null, lost_count: 1 });
    const [{ epoch, state } = {}] = await database.query("SELECT epoch, state FROM reef.host WHERE id = 'dead'");
    const [{ running } = {}] = await database.query('SELECT running FROM reef.repository');
    expect({ epoch, state, running }).toEqual({ epoch: 2, state: 'lost', running: 0 });
    const zombie = claimNext(database, { host: 'dead', epoch: 1 }, { labels: [], slots: 1 });
    expect(await codeOf(zombie)).toBe('job_superseded');
  },
);

needing('F-28').test(
  'a run that was lost three times without finishing a block asks what now; a finished block begins the count anew',
  async () => {
    await using fleet = await open();
    const { database } = fleet;
    await addRepository(database, 'shop');
    await addHost(database, 'judge');
    await queue(database, 'r1', 'shop');
    const lose = async (host: string, isBlockFinished = false) => {
      await addHost(database, host);
      const claimed = await claimNext(database, { host, epoch: 1 }, { labels: [], slots: 1 });
      expect(claimed?.id).toBe('r1');
      const self = () => ({ host, epoch: 1 });
      const records = new RunRecords({ database, repository: 'shop', clock: systemClock, self });
      const attempt = await records.beginAttempt('r1', 'block');
      if (isBlockFinished) await records.endAttempt('r1', 'block', attempt);
      await database.query("UPDATE reef.host SET beat = now() - interval '1 hour' WHERE id = $1", [host]);
      expect(await takeOverLost(database, { host: 'judge', heldMs: 50, ttl: 50 })).toEqual([host]);
      return (await rowOf(database, 'r1'))?.lost_count;
    };
    const counts = [await lose('a'), await lose('b'), await lose('c', true), await lose('d'), await lose('e')];
    expect(counts).toEqual([1, 2, 1, 2, 3]);
    expect(await database.query('SELECT status, outcome FROM reef.run')).toEqual([
      { status: 'parked', outcome: { halt: 'run_poisoned' } },
    ]);
    const claim = () => claimNext(database, { host: 'judge', epoch: 1 }, { labels: [], slots: 1 });
    expect(await claim()).toBeUndefined();
    const [asked] = await openQuestions(database);
    expect(asked?.doc.question).toContain('3 hosts were lost with this run, the last of them e');
    const say = (option: string) =>
      answerQuestion(database, { question: asked?.id ?? '', value: { option: [option] }, by: 'ada' });
    expect(await codeOf(say('maybe'))).toBe('bad_request');
    await say('Try again');
    expect([await openQuestions(database), (await claim())?.id]).toEqual([[], 'r1']);
    expect(await rowOf(database, 'r1')).toMatchObject({ status: 'running', lost_count: 0 });
  },
);

needing('F-48').test(
  'no host has more runs than slots and no repository more than its cap, whoever claims at once',
  async () => {
    await using fleet = await open();
    const { database } = fleet;
    const hosts = Array.from({ length: 8 }, (_, index) => `h${index}`);
    for (const [id, cap] of [
      ['shop', 5],
      ['blog', 3],
    ] as const)
      await addRepository(database, id, { cap });
    for (const host of hosts) await addHost(database, host);
    const claims = scale('F-48', { test: 160, faults: 10_000, soak: 10_000 });
    for (let n = 0; n < claims; n++) await queue(database, `r${n}`, n % 2 === 0 ? 'shop' : 'blog');
    let claimed = 0;
    let most = 0;
    const violations: unknown[] = [];
    const look = async () => {
      const over = await database.query(
        `SELECT host AS who, count(*) FROM reef.run WHERE status = 'running' GROUP BY host HAVING count(*) > 2
       UNION ALL SELECT p.id, count(*) FROM reef.run r JOIN reef.repository p ON p.id = r.repository
         WHERE r.status = 'running' GROUP BY p.id HAVING count(*) > p.cap OR count(*) <> p.running`,
      );
      violations.push(...over);
      const [{ n = 0 } = {}] = await database.query<{ n: number }>(
        "SELECT count(*) AS n FROM reef.run WHERE status = 'running'",
      );
      most = Math.max(most, n);
    };
    const work = async (host: string) => {
      while (claimed < claims) {
        const mine: string[] = [];
        for (let slot = 0; slot < 3; slot++) {
          const run = await claimNext(database, { host, epoch: 1 }, { labels: [], slots: 2 });
          if (run) mine.push(run.id);
        }
        await look();
        claimed += mine.length;
        for (const id of mine) await database.query("UPDATE reef.run SET status = 'ended' WHERE id = $1", [id]);
      }
    };
    await Promise.all(hosts.map(work));
    const [{ n } = {}] = await database.query('SELECT count(*) AS n FROM reef.run WHERE host IS NOT NULL');
    expect({ violations, n }).toEqual({ violations: [], n: claims });
    expect(most).toBeGreaterThan(4); // they did claim at once
  },
);

needing('F-49').test(
  'of two repositories with backlogs of 100 to 1 each gets its share, and what waits long passes every priority',
  async () => {
    await using fleet = await open();
    const { database } = fleet;
    for (const id of ['shop', 'blog']) await addRepository(database, id);
    await addHost(database, 'h');
    for (let n = 0; n < 100; n++)
      await queue(database, `shop${String(n).padStart(3, '0')}`, 'shop', { priority: n === 99 ? 2 : 0 });
    await database.query("UPDATE reef.run SET queued_at = now() - interval '11 min' WHERE id = 'shop099'");
    const blogs = 8;
    for (let n = 0; n < blogs; n++) await queue(database, `blog${n}`, 'blog', { priority: 2 });
    const started: string[] = [];
    const running: string[] = [];
    while (started.filter((id) => id.startsWith('blog')).length < blogs) {
      const run = await claimNext(database, { host: 'h', epoch: 1 }, { labels: [], slots: 4 });
      if (run) {
        started.push(run.id);
        running.push(run.id);
      } else {
        await database.query("UPDATE reef.run SET status = 'ended' WHERE id = $1", [running.shift()]);
      }
    }
    const share = blogs / started.length;
    expect(share).toBeGreaterThanOrEqual(0.4);
    expect(share).toBeLessThanOrEqual(0.6);
    expect(started.find((id) => id.startsWith('shop'))).toBe('shop099');
  },
);

needing('F-47').test('a host is given only what its labels fit', async () => {
  await using fleet = await open();
  const { database } = fleet;
  await addRepository(database, 'shop');
  await addHost(database, 'h');
  await queue(database, 'gpu', 'shop', { needs: ['gpu=1'], age: 5 });
  await queue(database, 'plain', 'shop', { needs: ['os=linux'] });
  const claim = (labels: string[]) => claimNext(database, { host: 'h', epoch: 1 }, { labels, slots: 4 });
  const got = [await claim(['os=linux']), await claim(['os=linux']), await claim(['os=linux', 'gpu=1'])];
  expect(got.map((run) => run?.id)).toEqual(['plain', undefined, 'gpu']);
});

needing('F-22').test('what a job asks for through its door is refused when its host has been taken over', async () => {
  await using fleet = await open();
  await addHost(fleet.database, 'h');
  const done: unknown[] = [];
  const core = { status: async (input: unknown) => void done.push(input) } as unknown as Core;
  const door = fencedCore(core, { database: fleet.database, self: () => ({ host: 'h', epoch: 1 }) });
  const ask = () => codeOf(door.status({ id: 'J' } as never, { by: 'job:J' } as never, new AbortController().signal));
  expect(await ask()).toBe('done');
  await fleet.database.query("UPDATE reef.host SET epoch = 2 WHERE id = 'h'");
  expect([await ask(), done]).toEqual(['job_superseded', [{ id: 'J' }]]);
});
