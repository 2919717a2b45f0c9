import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { readEnvironment } from '../../src/base/env.ts';
import { migrations } from '../../src/fleet/database/migrate.ts';
import { openDatabase } from '../../src/fleet/database/open-database.ts';
import { preparedUrl } from '../support/fleet/prepared.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../support/postgres.ts';
import { initRepository } from '../support/repository.ts';
import { ROOT } from '../support/source-files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';

const server = postgresOfFile({ tcp: true });
const run = promisify(execFile);
const env = readEnvironment({});

async function reef(home: string, ...args: string[]) {
  const options = { cwd: home, env: { PATH: process.env.PATH, HOME: home, NO_COLOR: '1' } };
  return run(process.execPath, [join(ROOT, 'bin/reef.cjs'), ...args], options);
}

/** From now on a role shows its password; this one never has any. */
async function demandPasswords(url: string): Promise<void> {
  const database = await openDatabase(url, { env });
  const [row] = await database.query<{ hba_file: string }>('SHOW hba_file');
  const lines = ['all postgres', 'all all'].map((who, n) => `local ${who} ${n ? 'scram-sha-256' : 'trust'}`);
  const rows = [...lines, 'host all all 127.0.0.1/32 scram-sha-256'].map((line) => `('${line}')`);
  await database.query(`COPY (VALUES ${rows.join(',')}) TO '${row?.hba_file}'`);
  await database.query('SELECT pg_reload_conf()');
  await database.close();
}

verifies('F-42', 'F-54')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'reef fleet init prepares a database, prints the first token once and lets workers in by password',
    async () => {
      const home = temporaryFolder();
      const admin = join(home, 'admin.url');
      const app = join(home, 'app.url');
      const url = server().url(await server().create());
      writeFileSync(admin, url, { mode: 0o600 });
      const first = await reef(
        home,
        'fleet',
        'init',
        '--database-url-file',
        admin,
        '--admin',
        'ada',
        '--app-url-file',
        app,
        '--json',
      );
      const made = JSON.parse(first.stdout);
      expect(made).toEqual({
        migrations: migrations().map(({ version }) => version),
        name: 'ada',
        token: expect.stringMatching(/^[0-9a-f]{64}$/),
        expiresAt: expect.any(String),
        appUrlFile: app,
      });
      const again = await reef(home, 'fleet', 'init', '--database-url-file', admin);
      expect(again.stdout).toBe('There are people already.\n');
      expect(statSync(app).mode & 0o777).toBe(0o600);
      await demandPasswords(url);
      const worker = readFileSync(app, 'utf8').trim();
      const database = await openDatabase(worker, { env, role: 'reef_app' });
      const stored = await database.query<{ hash: Buffer }>('SELECT hash FROM reef.token');
      expect(stored.map(({ hash }) => hash.toString('hex'))).not.toContain(made.token);
      await database.close();
      const wrong = openDatabase(worker.replace(/:[0-9a-f]+@/, ':wrong@'), { env });
      await expect(wrong).rejects.toMatchObject({ code: 'database_refused' });
      const seen = await reef(home, 'fleet', 'init', '--database-url', 'postgres://a:geheim@localhost/x').catch(
        (error) => error,
      );
      expect([seen.code, seen.stderr]).toEqual([2, expect.stringContaining('lists processes')]);
      expect(seen.stderr).not.toContain('geheim');
    },
  );

verifies('F-40', 'F-41', 'F-53')
  .needs(hasPostgres, NO_POSTGRES)
  .test('people, tokens, repositories, budgets and retention are commands, each with a row in the audit', async () => {
    const home = temporaryFolder();
    const admin = join(home, 'admin.url');
    const hub = join(home, 'hub');
    writeFileSync(admin, await preparedUrl(server()), { mode: 0o600 });
    const source = join(home, 'source');
    initRepository(source);
    const fleet = async (...args: string[]) => {
      const { stdout } = await reef(home, 'fleet', ...args, '--database-url-file', admin, '--json').catch(
        (error) => error,
      );
      return JSON.parse(stdout);
    };
    expect(await fleet('person', 'add', 'ada', '--role', 'operator', '--merge', '--repo', 'shop')).toMatchObject({
      name: 'ada',
      role: 'operator',
      mayMerge: true,
      repositories: ['shop'],
    });
    expect(await fleet('person', 'add', 'ada')).toMatchObject({ error: { code: 'name_taken' } });
    const { token } = await fleet('token', 'add', 'ada', '--device', 'laptop', '--days', '7');
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(await fleet('token', 'add', 'ada', '--device', 'x', '--days', '91')).toMatchObject({
      error: { code: 'bad_request' },
    });
    expect(await fleet('token', 'add', 'ben', '--device', 'x')).toMatchObject({ error: { code: 'person_not_found' } });
    expect(await fleet('token', 'revoke', 'ada', '--device', 'phone')).toMatchObject({
      error: { code: 'token_not_found' },
    });
    expect(await fleet('token', 'revoke', 'ada', '--device', 'laptop')).toEqual({ revoked: 1 });
    expect(await fleet('repo', 'add', 'shop', source, '--hub', hub, '--cap', '3')).toMatchObject({
      defaultBranch: 'main',
      cap: 3,
    });
    expect(await fleet('repo', 'add', 'shop', source, '--hub', hub)).toMatchObject({ error: { code: 'name_taken' } });
    expect(await fleet('repo', 'add', '../x', source, '--hub', hub)).toMatchObject({ error: { code: 'name_invalid' } });
    expect(await fleet('repo', 'add', 'gone', join(home, 'none'), '--hub', hub)).toMatchObject({
      error: { code: 'git_failed' },
    });
    expect(await fleet('budget', 'shop', '--usd', '12.50')).toEqual({ kind: 'repository', name: 'shop' });
    expect(await fleet('budget', 'nobody', '--usd', '1')).toMatchObject({ error: { code: 'person_not_found' } });
    expect(await fleet('retention')).toEqual({ dropped: [], removed: 0 });
    expect(await fleet('answer', 'shop/J/q', 'yes')).toMatchObject({ error: { code: 'question_not_found' } });
    expect([await fleet('inbox'), await fleet('hosts'), await fleet('runs')]).toEqual([
      { questions: [] },
      { hosts: [] },
      { runs: [] },
    ]);
    expect((await fleet('repo', 'list')).repositories).toMatchObject([{ name: 'shop', running: 0, isTrusted: false }]);
    const database = await openDatabase(readFileSync(admin, 'utf8'), { env, role: 'reef_app' });
    const rows = await database.query<{ line: string; by: string }>(
      "SELECT concat_ws(' ', operation, target, outcome) AS line, by FROM reef.audit ORDER BY seq",
    );
    await database.close();
    expect(rows.map(({ line }) => line)).toEqual([
      'fleet.person.add ada ok',
      'fleet.person.add ada name_taken',
      'fleet.token.add ada laptop ok',
      'fleet.token.add ada x bad_request',
      'fleet.token.add ben x person_not_found',
      'fleet.token.revoke ada phone token_not_found',
      'fleet.token.revoke ada laptop ok',
      'fleet.repo.add shop ok',
      'fleet.repo.add shop name_taken',
      'fleet.repo.add ../x name_invalid',
      'fleet.repo.add gone git_failed',
      'fleet.budget shop ok',
      'fleet.budget nobody person_not_found',
      'fleet.retention 30 days, 13 months ok',
      'fleet.answer shop/J/q question_not_found',
    ]);
    expect(new Set(rows.map(({ by }) => by)).size).toBe(1);
    expect(await fleet('person', 'revoke', 'ada')).toEqual({ name: 'ada' });
    expect((await fleet('person', 'list')).people).toEqual([]);
  });

verifies('F-52')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'reef serve with a database serves the hub until it is told to end, and only on this machine unasked',
    async () => {
      const home = temporaryFolder();
      const app = join(home, 'app.url');
      writeFileSync(app, await preparedUrl(server()), { mode: 0o600 });
      const named = ['--database-url-file', app];
      await reef(home, 'fleet', 'person', 'add', 'ada', ...named);
      const { stdout } = await reef(home, 'fleet', 'token', 'add', 'ada', '--device', 'laptop', ...named);
      const open = await reef(home, 'serve', '--host', '0.0.0.0', '--json', ...named).catch((error) => error);
      expect(JSON.parse(open.stdout)).toMatchObject({ error: { code: 'remote_shell' } });
      const env = { PATH: process.env.PATH, HOME: home, NO_COLOR: '1' };
      const hub = spawn(process.execPath, [join(ROOT, 'bin/reef.cjs'), 'serve', '--json', ...named], {
        cwd: home,
        env,
      });
      const [line] = await once(hub.stdout, 'data');
      const { address } = JSON.parse(String(line));
      const fleet = (token: string) => fetch(`${address}/v1/fleet`, { headers: { authorization: `Bearer ${token}` } });
      expect(await (await fleet(stdout.trim())).json()).toEqual({
        hosts: [],
        runs: [],
        questions: [],
        repositories: [],
        by: 'ada',
      });
      expect((await fleet('0'.repeat(64))).status).toBe(401);
      hub.kill('SIGTERM');
      expect(await once(hub, 'exit')).toEqual([0, null]);
    },
  );
