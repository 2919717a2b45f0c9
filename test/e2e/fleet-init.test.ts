import { execFile } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { readEnvironment } from '../../src/base/env.ts';
import { migrations } from '../../src/fleet/database/migrate.ts';
import { openDatabase } from '../../src/fleet/database/open-database.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../support/postgres.ts';
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
