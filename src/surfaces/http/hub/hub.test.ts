import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { preparedDatabase, type TestDatabase } from '../../../../test/support/fleet/prepared.ts';
import { testHome, testJob, testQuestion } from '../../../../test/support/fleet/test-home.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../../../../test/support/postgres.ts';
import { initRepository, type PlainGit } from '../../../../test/support/repository.ts';
import { knock } from '../../../../test/support/surfaces/door.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { until } from '../../../../test/support/wait.ts';
import { BareRepositories } from '../../../fleet/hub/bare-repositories.ts';
import { effectOnce, onceIn } from '../../../fleet/hub/effects.ts';
import { HubRemote, newHostToken } from '../../../fleet/hub/hub-remote.ts';
import { addPerson, addToken, type Role, revokeTokens } from '../../../fleet/hub/people.ts';
import { needs } from '../../../fleet/hub/rights.ts';
import { openHostStore } from '../../../fleet/store/host-store.ts';
import { run } from '../../../process/run.ts';
import { operations } from '../../../protocol/operations.ts';
import { openHub } from './open-hub.ts';

const server = postgresOfFile();
const onPostgres = (...ids: Parameters<typeof verifies>) => verifies(...ids).needs(hasPostgres, NO_POSTGRES);
const log = {
  error: (...words: unknown[]) => expect.fail(JSON.stringify(words)),
  warn: () => {},
  info: () => {},
  debug: () => {},
};
const env = { PATH: process.env.PATH ?? '', HOME: '/nonexistent' };
const ending: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

interface World {
  database: TestDatabase;
  port: number;
  git: PlainGit;
  bare: BareRepositories;
  bareGit(...args: string[]): Promise<string>;
  remote(host: string, epoch: number): Promise<HubRemote>;
  place(run: string): { repository: string; run: string; gitDir: string };
  commit(text: string): string;
}

/** A hub with one repository, and two hosts of which the first has run R. */
async function makeWorld(): Promise<World> {
  const database = await preparedDatabase(server());
  ending.push(() => database.close());
  const root = temporaryFolder();
  const source = join(root, 'source');
  const git = initRepository(source, { 'a.txt': 'one\n' });
  const bare = new BareRepositories({ folder: join(root, 'hub'), run, env });
  await bare.add('shop', source);
  await database.query("INSERT INTO reef.repository (id, name, url) VALUES ('shop', 'shop', 'x')");
  await database.query("INSERT INTO reef.host (id, epoch) VALUES ('a', 3), ('b', 1)");
  await database.query(
    `INSERT INTO reef.run (id, repository, task, by, status, host, epoch) VALUES
     ('R', 'shop', '', 'ada', 'running', 'a', 3), ('S', 'shop', '', 'ada', 'running', 'b', 1)`,
  );
  const door = await openHub({ database, log, env, host: '127.0.0.1', port: 0, folder: join(root, 'hub') });
  ending.push(() => door.close());
  let files = 0;
  return {
    database,
    port: door.port,
    git,
    bare,
    bareGit: async (...args) => {
      const result = await run({
        file: 'git',
        args: ['--git-dir', bare.path('shop'), ...args],
        cwd: '/',
        env,
        timeoutMs: 30_000,
      });
      return result.stdout.toString('utf8').trim();
    },
    async remote(host, epoch) {
      const identity = { host, epoch };
      const token = await newHostToken(database, identity);
      await until(
        'the hub knows the host',
        async () =>
          (await knock(door.port, { path: '/git/shop.git/info/refs?service=git-upload-pack', token })).status === 200,
      );
      return new HubRemote({ hub: door.address, run, env, identity: () => identity }, async () => token);
    },
    place: (id) => ({ repository: 'shop', run: id, gitDir: join(source, '.git') }),
    commit(text) {
      git('commit', '-q', '--allow-empty', '-m', `${text} ${files++}`);
      return git('rev-parse', 'HEAD').trim();
    },
  };
}

onPostgres('F-31', 'F-32', 'F-22', 'F-33').test(
  'work reaches the hub by attempts and a promoted tip; an old epoch lands nothing',
  async () => {
    const { database, git, bareGit, remote, place, commit } = await makeWorld();
    const a = await remote('a', 3);
    const at = place('R');
    const base = git('rev-parse', 'HEAD').trim();
    await a.pushBase(at, base);
    const [one, two, three] = [commit('one'), commit('two'), commit('three')] as const;
    await a.pushAttempt(at, 'fix.1.1', one);
    await a.pushAttempt(at, 'fix.1.1', two);
    await a.promote(at, { from: undefined, to: two });
    await a.promote(at, { from: undefined, to: two }); // the answer was lost
    await expect(a.promote(at, { from: one, to: three })).rejects.toMatchObject({ code: 'nothing_promoted' });
    await a.promote(at, { from: two, to: three });
    expect(await a.tip(at)).toBe(three);
    const refs = () => bareGit('for-each-ref', '--format=%(refname) %(objectname)');
    const landed = await refs();
    expect(landed.split('\n')).toEqual([
      `refs/heads/main ${base}`,
      `refs/reef/R/base ${base}`,
      `refs/reef/R/tip ${three}`,
      `refs/reef/R/try/fix.1.1 ${two}`,
    ]);
    // Where it does not belong, and what does not move.
    await expect(a.pushBase(at, two)).rejects.toMatchObject({
      code: expect.stringMatching(/git_failed|nothing_promoted/),
    });
    await expect(a.pushAttempt(place('S'), 'x.1.1', two)).rejects.toMatchObject({ code: 'job_superseded' });
    await expect(a.pushAttempt(place('R/../../heads/main'), 'x', two)).rejects.toMatchObject({ code: 'git_failed' });
    // Taken over: the first host goes on, and lands nothing.
    await database.query("UPDATE reef.host SET epoch = 4 WHERE id = 'a'");
    await database.query("UPDATE reef.run SET host = 'b', epoch = 1 WHERE id = 'R'");
    const four = commit('four');
    for (const late of [
      () => a.pushAttempt(at, 'fix.1.2', four),
      () => a.promote(at, { from: three, to: four }),
      () => a.drop(at),
    ]) {
      await expect(late()).rejects.toMatchObject({ code: 'job_superseded' });
    }
    expect(await refs()).toBe(landed);
    const b = await remote('b', 1);
    await b.promote(at, { from: three, to: four });
    await b.drop(at);
    expect((await refs()).split('\n')).toEqual([`refs/heads/main ${base}`]);
  },
);

/** Git runs it before it writes refs: it waits for a file, so that a test can look meanwhile. */
const WAITING_HOOK = `#!/bin/sh
n=0
[ "$1" = prepared ] || exit 0
while [ ! -e "$GIT_DIR/go" ] && [ "$n" -lt 600 ]; do sleep 0.1; n=$((n + 1)); done
`;

onPostgres('F-22').test('while a push lands its host cannot be taken over', async () => {
  const { database, remote, place, commit, bare, bareGit } = await makeWorld();
  const a = await remote('a', 3);
  const landing = commit('slow');
  writeFileSync(join(bare.path('shop'), 'hooks/reference-transaction'), WAITING_HOOK, { mode: 0o755 });
  const push = a.pushAttempt(place('R'), 'slow.1.1', landing);
  const locks = async (where: string) => {
    const sql = `SELECT count(*) AS n FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation WHERE ${where}`;
    return ((await database.query<{ n: number }>(sql))[0]?.n ?? 0) > 0;
  };
  await until('the push is decided', () => locks("c.relname = 'host' AND l.mode = 'RowShareLock'"));
  const taken = database
    .query("UPDATE reef.host SET epoch = 9 WHERE id = 'a'")
    .then(() => bareGit('rev-parse', 'refs/reef/R/try/slow.1.1'));
  await until('the take-over waits', () => locks('NOT l.granted'));
  writeFileSync(join(bare.path('shop'), 'go'), '');
  await push;
  expect(await taken).toBe(landing);
});

async function person(
  database: TestDatabase,
  name: string,
  role: Role,
  more: { mayMerge?: boolean; repositories?: string[] } = {},
) {
  await addPerson(database, { name, role, mayMerge: more.mayMerge ?? false, repositories: more.repositories ?? null });
  return (await addToken(database, { person: name, device: 'd' })).token;
}

onPostgres('F-52', 'F-53').test(
  'every route asks for the role it needs, and each change and refusal has its person in the audit',
  async () => {
    const { database, port } = await makeWorld();
    const tokens = {
      viewer: await person(database, 'vi', 'viewer'),
      operator: await person(database, 'op', 'operator'),
      admin: await person(database, 'ad', 'admin'),
    };
    await until(
      'the hub knows them',
      async () => (await knock(port, { path: '/v1/fleet', token: tokens.admin })).status === 200,
    );
    const rank = { viewer: 0, operator: 1, admin: 2 };
    const refusals: string[] = [];
    for (const name of Object.keys(operations)) {
      const { role, merges } = needs(name);
      for (const who of ['viewer', 'operator', 'admin'] as const) {
        const answer = await knock(port, {
          method: 'POST',
          path: `/v1/op/${name}`,
          body: { id: 'none' },
          token: tokens[who],
        });
        const isRefused = answer.code === 'role_forbidden';
        // A body that does not fit is refused before the role is asked for; neither does anything.
        if (answer.code === 'bad_request' || answer.code === 'not_yours') continue;
        const isBeyond = rank[who] < rank[role] || (merges && who === 'operator');
        expect([name, who, isRefused]).toEqual([name, who, isBeyond]);
        if (isRefused && operations[name as keyof typeof operations].effect !== 'reads')
          refusals.push(`${who.slice(0, 2)} ${name}`);
      }
    }
    expect(refusals.length).toBeGreaterThan(5);
    for (const path of ['/mcp', '/v1/completions', '/v1/sessions', '/v1/models']) {
      expect([path, (await knock(port, { method: 'POST', path, body: {}, token: tokens.operator })).code]).toEqual([
        path,
        'role_forbidden',
      ]);
    }
    const rows = await until('the audit is written', async () => {
      const found = await database.query<{ line: string }>(
        "SELECT by || ' ' || operation AS line FROM reef.audit WHERE outcome = 'role_forbidden' ORDER BY seq",
      );
      return found.length >= refusals.length && found;
    });
    expect(rows.map(({ line }) => line).toSorted()).toEqual(refusals.toSorted());
    expect((await knock(port, { path: '/v1/fleet' })).code).toBe('unauthorized');
    expect((await knock(port, { path: '/v1/fleet', token: 'f'.repeat(64) })).code).toBe('unauthorized');
  },
);

onPostgres('F-52').test('a revoked token is out within a second, with the stream it had open', async () => {
  const { database, port } = await makeWorld();
  const token = await person(database, 'ada', 'operator', { repositories: ['shop'] });
  await until('the hub knows her', async () => (await knock(port, { path: '/v1/fleet', token })).status === 200);
  const page = (await knock(port, { method: 'POST', path: '/v1/login', body: { code: token } })).json as {
    token: string;
    tokenId: string;
  };
  expect((await knock(port, { path: '/v1/fleet', token: page.token })).status).toBe(200);
  const stream = await fetch(`http://127.0.0.1:${port}/v1/events`, { headers: { authorization: `Bearer ${token}` } });
  expect(stream.status).toBe(200);
  const ended = stream.text().then(
    () => performance.now(),
    () => performance.now(),
  );
  const revokedAt = performance.now();
  await revokeTokens(database, { person: 'ada' });
  await until('she is out', async () => (await knock(port, { path: '/v1/fleet', token })).code === 'unauthorized');
  // By the notice, long before anybody would look again.
  expect((await ended) - revokedAt).toBeLessThan(5_000);
  expect((await knock(port, { path: '/v1/fleet', token: page.token })).code).toBe('unauthorized');
  expect((await knock(port, { method: 'POST', path: '/v1/login', body: { code: token } })).code).toBe(
    'login_code_used',
  );
});

onPostgres('F-39', 'F-53', 'F-46', 'F-52').test(
  'the page sees all hosts, answers reach the right one, and a stranger to the repository sees nothing',
  async () => {
    const { database, port } = await makeWorld();
    const home = testHome(temporaryFolder(), 'shop');
    home.jobs.set('J', testJob('J'));
    home.questionsNow = [testQuestion('J')];
    home.messages('J', 3);
    const store = openHostStore({ database, log, identity: () => ({ host: 'b', epoch: 1 }), homes: () => [home] });
    ending.push(async () => {
      await store.close();
      home.store.close();
    });
    const ada = await person(database, 'ada', 'operator');
    const eve = await person(database, 'eve', 'operator', { repositories: ['web'] });
    const ask = (token: string, name: string, body: object = {}) =>
      knock(port, { method: 'POST', path: `/v1/op/${name}`, body, token });
    const seen = await until('the question is on the page', async () => {
      const { json } = await ask(ada, 'inbox');
      const [question] = (json as { questions?: { host: string; repository: string }[] }).questions ?? [];
      return question;
    });
    expect(seen).toMatchObject({ host: 'b', repository: 'shop', questionId: 'q1' });
    expect((await ask(ada, 'status')).json).toMatchObject({ jobs: [{ id: 'J' }] });
    expect([(await ask(eve, 'inbox')).json, (await ask(eve, 'status')).json]).toEqual([
      { questions: [], notices: [] },
      { jobs: [] },
    ]);
    expect((await ask(eve, 'interrupt', { id: 'J' })).code).toBe('role_forbidden');
    expect((await ask(eve, 'send', { id: 'J', questionId: 'q1', text: 'x' })).code).toBe('question_not_found');
    expect((await ask(ada, 'send', { id: 'J', questionId: 'q1', text: 'yes' })).json).toMatchObject({
      delivered: true,
    });
    expect((await ask(ada, 'send', { id: 'J', questionId: 'q1', text: 'no' })).json).toMatchObject({
      error: { code: 'already_answered', details: { by: 'ada' } },
    });
    expect((await ask(ada, 'interrupt', { id: 'J' })).json).toEqual({ done: 'interrupt' });
    expect(home.performed.map(({ operation, by }) => [operation, by])).toEqual([
      ['send', 'ada'],
      ['interrupt', 'ada'],
    ]);
    await database.query("UPDATE reef.host SET state = 'lost', epoch = 2 WHERE id = 'b'");
    expect((await ask(ada, 'job_log', { id: 'J' })).json).toMatchObject({
      error: { code: 'artifact_unreachable', details: { host: 'b' } },
    });
  },
);

onPostgres('F-34').test('an effect that was meant and not done is asked after before it is done again', async () => {
  const { database } = await makeWorld();
  const done: string[] = [];
  const effect = (host: string, epoch: number, how: 'crash' | 'act', happened: object | undefined) =>
    effectOnce<object>(
      database,
      { host, epoch },
      {
        key: 'accept:R',
        run: 'R',
        kind: 'accept',
        happened: async () => happened,
        act: async () => {
          if (how === 'crash') throw new Error('killed');
          done.push(host);
          return { commit: host };
        },
      },
    );
  await expect(effect('a', 3, 'crash', undefined)).rejects.toThrow('killed');
  expect(await effect('b', 1, 'act', undefined)).toEqual({ commit: 'b' });
  expect(await effect('a', 3, 'act', undefined)).toEqual({ commit: 'b' });
  await database.query("UPDATE reef.effect SET state = 'meant', result = NULL");
  expect(await effect('a', 3, 'act', { commit: 'found' })).toEqual({ commit: 'found' });
  await expect(effect('a', 2, 'act', undefined)).rejects.toMatchObject({ code: 'job_superseded' });
  expect(done).toEqual(['b']);
});

onPostgres('F-12').test(
  'merges into one target take turns, whichever hosts make them; others go beside them',
  async () => {
    const { database } = await makeWorld();
    const open = new Map<string, number>();
    const most = new Map<string, number>();
    const merge = (host: string, epoch: number, run: string, target: string) =>
      onceIn(database, { repository: 'shop', self: () => ({ host, epoch }) })<object>({
        key: `accept:${run}`,
        run,
        kind: 'accept',
        alone: target,
        happened: async () => undefined,
        act: async () => {
          const now = (open.get(target) ?? 0) + 1;
          open.set(target, now);
          most.set(target, Math.max(now, most.get(target) ?? 0));
          const other = target === 'main' ? 'beside' : 'main';
          await until(`a merge into ${other} is at work`, () => (most.get(other) ?? 0) > 0);
          await database.query('SELECT 1');
          open.set(target, now - 1);
          return { run };
        },
      });
    await Promise.all([
      merge('a', 3, '1', 'main'),
      merge('b', 1, '2', 'main'),
      merge('b', 1, '3', 'main'),
      merge('a', 3, '4', 'beside'),
    ]);
    expect(Object.fromEntries(most)).toEqual({ main: 1, beside: 1 });
  },
);
