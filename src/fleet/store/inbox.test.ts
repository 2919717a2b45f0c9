import { expect } from 'vitest';
import { preparedDatabase } from '../../../test/support/fleet/prepared.ts';
import { type TestHome, testHome, testQuestion } from '../../../test/support/fleet/test-home.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../../../test/support/postgres.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Database } from '../database/database.ts';
import { askHost, commandResult, takeCommands } from './commands.ts';
import { openHostStore } from './host-store.ts';
import { answerOutcome, answerQuestion, openQuestions } from './inbox.ts';
import { applyRetention } from './retention.ts';

const server = postgresOfFile();
const onPostgres = (...ids: Parameters<typeof verifies>) => verifies(...ids).needs(hasPostgres, NO_POSTGRES);
const log = { error: (...words: unknown[]) => expect.fail(JSON.stringify(words)), warn: () => {} } as never;

interface Host {
  home: TestHome;
  close(): Promise<void>;
}

async function host(database: Database, id: string): Promise<Host> {
  const [row] = await database.query<{ epoch: number }>(
    'INSERT INTO reef.host (id, epoch) VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING epoch',
    [id],
  );
  await database.query(
    "INSERT INTO reef.repository (id, name, url) VALUES ('shop', 'shop', 'x') ON CONFLICT DO NOTHING",
  );
  const home = testHome(temporaryFolder(), 'shop');
  const identity = { host: id, epoch: row?.epoch ?? 0 };
  const open = openHostStore({ database, log, identity: () => identity, homes: () => [home] });
  return {
    home,
    async close() {
      await open.close();
      home.store.close();
    },
  };
}

const ask = ({ home }: Host, ...questions: TestHome['questionsNow']) => {
  home.questionsNow = questions;
  home.signal.notify();
};
const inbox = async (database: Database, count: number) =>
  until(`${count} questions`, async () => {
    const questions = await openQuestions(database);
    return questions.length === count && questions;
  });

onPostgres('F-39', 'F-53').test(
  'questions of all hosts are in one inbox; of two people one is first, and both see who',
  async () => {
    await using database = await preparedDatabase(server());
    const a = await host(database, 'a');
    const b = await host(database, 'b');
    ask(a, testQuestion('J1'), testQuestion('J2', { runId: 'R', path: ['R', 'J1', 'J2'] }));
    ask(b, testQuestion('R7', { runId: 'R7', questionId: 'halt' }));
    const questions = await inbox(database, 3);
    expect(questions.map(({ id, host, run, job }) => [id, host, run, job])).toEqual([
      ['shop/J1/q1', 'a', null, 'J1'],
      ['shop/J2/q1', 'a', 'R', 'J2'],
      ['shop/R7/halt', 'b', 'R7', null],
    ]);
    const answer = (by: string, text: string) =>
      answerQuestion(database, { question: 'shop/J2/q1', value: { text }, by });
    const both = await Promise.allSettled([answer('ada', 'yes'), answer('ben', 'no')]);
    const [won, lost] = both[0].status === 'fulfilled' ? [both[0], both[1]] : [both[1], both[0]];
    const first = both[0] === won ? 'ada' : 'ben';
    expect(lost).toMatchObject({ status: 'rejected', reason: { code: 'already_answered', details: { by: first } } });
    const id = won?.status === 'fulfilled' ? won.value : '';
    await until('it is at the agent', () => answerOutcome(database, id));
    expect(a.home.performed).toEqual([
      {
        operation: 'send',
        by: first,
        input: { id: 'J2', questionId: 'q1', key: `fleet:${id}`, text: first === 'ada' ? 'yes' : 'no' },
      },
    ]);
    expect(b.home.performed).toEqual([]);
    ask(a, testQuestion('J1'));
    await inbox(database, 2);
    await expect(answer('cy', 'late')).rejects.toMatchObject({ code: 'already_answered', details: { by: first } });
    await expect(answerQuestion(database, { question: 'none', value: {}, by: 'cy' })).rejects.toMatchObject({
      code: 'question_not_found',
    });
    await a.close();
    await b.close();
  },
);

onPostgres('F-39').test(
  'a changed question refuses the answer; one the agent cannot take is free for another',
  async () => {
    await using database = await preparedDatabase(server());
    const a = await host(database, 'a');
    ask(a, testQuestion('J'));
    await inbox(database, 1);
    const answer = (value: object) => answerQuestion(database, { question: 'shop/J/q1', value, by: 'ada' });
    await expect(answer({ fingerprint: 'f0', text: 'x' })).rejects.toMatchObject({ code: 'question_changed' });
    a.home.failWith = new ReefError('bad_option', 'no such option');
    const bad = await answer({ option: ['none'], fingerprint: 'f1' });
    const refusal = () =>
      answerOutcome(database, bad).then(
        () => undefined,
        (error: ReefError) => error.code,
      );
    expect(await until('it is refused', refusal)).toBe('bad_option');
    a.home.failWith = undefined;
    const good = await answer({ option: ['yes'] });
    expect(await until('it is at the agent', () => answerOutcome(database, good))).toBe('delivered');
    await a.close();
  },
);

onPostgres('F-39', 'F-13', 'F-14').test(
  'a lost job takes no answer; a parked run takes it on whichever host has it next',
  async () => {
    await using database = await preparedDatabase(server());
    const a = await host(database, 'a');
    await database.query(
      "INSERT INTO reef.run (id, repository, task, by, status, host) VALUES ('R', 'shop', '', 'ada', 'halted', 'a')",
    );
    const halt = testQuestion('R', { runId: 'R', questionId: 'halt' });
    ask(a, testQuestion('J'), halt);
    await inbox(database, 2);
    await database.query("UPDATE reef.run SET status = 'parked', host = NULL");
    ask(a, testQuestion('J'));
    await a.close();
    await database.query("UPDATE reef.host SET epoch = 2, state = 'lost' WHERE id = 'a'");
    expect((await openQuestions(database)).map(({ id }) => id)).toEqual(['shop/R/halt']);
    const answer = (question: string) =>
      answerQuestion(database, { question, value: { option: ['retry'] }, by: 'ada' });
    await expect(answer('shop/J/q1')).rejects.toMatchObject({ code: 'job_lost' });
    const id = await answer('shop/R/halt');
    expect(await database.query('SELECT status FROM reef.run')).toEqual([{ status: 'queued' }]);
    const b = await host(database, 'b');
    await database.query("UPDATE reef.run SET status = 'running', host = 'b'");
    ask(b, halt);
    await until('it is at the run', () => answerOutcome(database, id));
    expect(b.home.performed).toEqual([
      { operation: 'send', by: 'ada', input: { id: 'R', questionId: 'halt', key: `fleet:${id}`, option: ['retry'] } },
    ]);
    await b.close();
  },
);

onPostgres('F-39', 'F-46').test('a command reaches its host once, and its result or refusal comes back', async () => {
  await using database = await preparedDatabase(server());
  await database.query("INSERT INTO reef.host (id) VALUES ('a')");
  const asked = { host: 'a', repository: 'shop', op: 'interrupt', input: { id: 'J' }, by: 'ada', key: 'once' };
  const n = await askHost(database, asked);
  expect(await askHost(database, asked)).toBe(n);
  await expect(askHost(database, { ...asked, host: 'z', key: 'z' })).rejects.toMatchObject({ code: 'host_not_found' });
  // A worker took it and was killed.
  expect(await takeCommands(database, 'a', [])).toHaveLength(1);
  expect(await takeCommands(database, 'a', [n])).toEqual([]);
  const a = await host(database, 'a');
  expect(await until('it is done', () => commandResult(database, n))).toEqual({ value: { done: 'interrupt' } });
  expect(a.home.performed).toEqual([{ operation: 'interrupt', input: { id: 'J' }, by: 'ada' }]);
  const resultOf = async (more: object) => {
    const other = await askHost(database, { ...asked, ...more });
    const look = () => commandResult(database, other).catch((error: ReefError) => error.code);
    return until('it is over', look);
  };
  a.home.failWith = new ReefError('job_ended', 'over');
  expect(await resultOf({ key: 'two' })).toBe('job_ended');
  expect(await resultOf({ key: 'three', repository: 'web' })).toBe('repository_not_found');
  await a.close();
});

onPostgres('F-40').test(
  'retention drops whole partitions, makes those to come, and keeps all that is not over',
  async () => {
    await using owner = await preparedDatabase(server(), { role: 'reef_admin' });
    await owner.query("INSERT INTO reef.host (id) VALUES ('a')");
    await owner.query("INSERT INTO reef.repository (id, name, url) VALUES ('shop', 'shop', 'x')");
    await owner.query(
      "CREATE TABLE reef.event_202001 PARTITION OF reef.event FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')",
    );
    const event = (n: number, at: string) =>
      owner.query(
        `INSERT INTO reef.event (host, n, seq, at, repository, job, type, payload) VALUES ('a', $1, $1, ${at}, 'shop', 'J', 'x', '{}')`,
        [n],
      );
    for (const [n, at] of ["'2020-01-15'", "'2019-05-05'", 'now()', "now() + interval '40 days'"].entries())
      await event(n, at);
    const old = "now() - interval '14 months'";
    await owner.query(
      `INSERT INTO reef.run (id, repository, task, by, status, ended_at, queued_at) VALUES
     ('old', 'shop', '', '', 'ended', ${old}, ${old}), ('parked', 'shop', '', '', 'parked', NULL, ${old}), ('new', 'shop', '', '', 'ended', now(), ${old})`,
    );
    await owner.query(
      `INSERT INTO reef.audit (at, by, surface, operation, outcome) VALUES (${old}, 'a', 'cli', 'x', 'ok')`,
    );
    await owner.query(
      "INSERT INTO reef.blob (run, address, bytes) SELECT run, 'x', 'y' FROM unnest(ARRAY['old', 'parked', 'new', 'gone']) AS run",
    );
    expect(await applyRetention(owner)).toEqual({ dropped: ['event_202001'], removed: 4 });
    const blobs = await owner.query<{ run: string }>('SELECT run FROM reef.blob ORDER BY run');
    expect(blobs.map(({ run }) => run)).toEqual(['new', 'parked']);
    const left = await owner.query<{ n: number }>('SELECT n FROM reef.event ORDER BY n');
    const runs = await owner.query<{ id: string }>('SELECT id FROM reef.run ORDER BY id');
    expect([left.map(({ n }) => n), runs.map(({ id }) => id)]).toEqual([
      [2, 3],
      ['new', 'parked'],
    ]);
    const rest = await owner.query('SELECT 1 FROM reef.event_rest');
    expect(rest).toEqual([]);
    expect(await applyRetention(owner)).toEqual({ dropped: [], removed: 0 });
  },
);
