import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { readEnvironment } from '../../src/base/env.ts';
import { openSqlite } from '../../src/store/driver.ts';
import { openClient } from '../../src/surfaces/client/client.ts';
import { makeWorld, type World } from '../e2e/harness.ts';
import { plainGit, writeFiles } from '../support/repository.ts';
import { spoken } from '../support/surfaces/spoken.ts';
import { verifies } from '../support/verifies.ts';

const SLOW_MS = 120_000;

let world: World;
afterEach(() => world.close());

function reef(...args: string[]) {
  return spoken({ args, cwd: world.repository, env: world.env, isTTY: false, person: (stdin) => void stdin.end() });
}

const inReef = (name: string) => join(world.repository, '.reef', name);

/** What an older Reef left: the same files, in the repository. */
async function makeOldHome(): Promise<string> {
  const env = { ...world.env, REEF_HOME: join(world.repository, '.reef') };
  const client = openClient({ env: readEnvironment(env), cwd: world.repository, surface: 'cli' });
  const { agentId } = await client.call('spawn', {
    agent: world.script('old', [{ say: 'From before.' }]),
    task: 'old',
  });
  await client.call('wait', { ids: [agentId], until: ['done'], timeoutMs: 45_000 });
  const daemon = await client.daemon();
  await client.stop(true);
  await expect.poll(() => existsSync(`/proc/${daemon?.pid}`)).toBe(false);
  return agentId.slice(0, 8); // as `ps` shows it
}

verifies('X-130').test(
  'a state.json that came with the repository starts nothing and is not read',
  async () => {
    world = makeWorld();
    const canary = join(world.root, 'canary');
    const agent = world.script('evil', [{ shell: ['touch', canary] }]);
    const id = await makeOldHome();
    const snapshot = JSON.parse(readFileSync(inReef('state.json'), 'utf8'));
    const [job] = snapshot.completed;
    const queued = { ...job, agent, status: 'queued', launch: 0 };
    for (const name of ['reef.db', 'reef.db-wal', 'reef.db-shm']) rmSync(inReef(name), { force: true });
    writeFileSync(inReef('state.json'), JSON.stringify({ ...snapshot, active: [queued], completed: [] }));
    plainGit(world.repository)('add', '-f', '.reef/state.json');
    plainGit(world.repository)('commit', '-qm', 'A gift');
    for (const command of [['status'], ['trust'], ['doctor'], ['inbox']]) await reef(...command);
    const { out } = await reef('ps');
    expect([out.includes(id), existsSync(canary)]).toEqual([false, false]);
  },
  SLOW_MS,
);

verifies('X-130').test(
  'links in .reef/ are not followed: what they point at stays as it is, and Reef works',
  async () => {
    for (const name of ['state.json', '.gitignore', 'jobs', '']) {
      world = makeWorld();
      const outside = join(world.root, 'outside');
      mkdirSync(outside);
      const victim = join(world.root, 'bashrc');
      writeFileSync(victim, 'mine\n');
      const folder = join(world.repository, '.reef');
      if (name === '') symlinkSync(outside, folder);
      else {
        mkdirSync(folder);
        symlinkSync(name === 'jobs' ? outside : victim, join(folder, name));
      }
      const said = await reef('spawn', world.script('works', [{ say: 'Done.' }]), 'a task');
      const waited = await reef('wait', '@last', '--until', 'done');
      await world.stopDaemon();
      expect([name, said.code, waited.code, readFileSync(victim, 'utf8'), readdirSync(outside)]).toEqual([
        name,
        0,
        0,
        'mine\n',
        [],
      ]);
      await world.close();
    }
    world = makeWorld();
  },
  SLOW_MS,
);

verifies('X-130').test(
  'a copy of the state lies in the repository for readers, and nobody reads it back',
  async () => {
    world = makeWorld();
    await reef('spawn', world.script('works', [{ say: 'Done.' }]), 'a task');
    await reef('wait', '@last', '--until', 'done');
    await world.stopDaemon();
    const copy = JSON.parse(readFileSync(inReef('state.json'), 'utf8'));
    expect(copy).toEqual({
      ...JSON.parse(readFileSync(world.home.snapshot, 'utf8')),
      ...{ runtimes: {}, outbox: [] },
    });
    expect(copy.completed.map(({ task }: { task: string }) => task)).toEqual(['a task']);
    writeFileSync(inReef('state.json'), '{"version":');
    expect((await reef('ps')).out).toContain('a task');
    expect(plainGit(world.repository)('status', '--porcelain')).toBe('');
  },
  SLOW_MS,
);

verifies('X-130').test(
  'the home of an older Reef is taken over where something is trusted, once, with its jobs',
  async () => {
    world = makeWorld();
    writeFileSync(join(world.repository, 'package.json'), '{"scripts":{"test":"true"}}');
    const id = await makeOldHome();
    expect((await reef('trust', '--yes')).code).toBe(0);
    expect((await reef('ps')).out).not.toContain(id);
    expect((await reef('doctor')).out).toMatch(/old home +jobs of an older Reef lie in the repository/);
    await world.stopDaemon();
    rmSync(world.home.dir, { recursive: true }); // as it is on the first day of the new version
    expect((await reef('ps')).out).toContain(id);
    expect((await reef('output', id)).out).toContain('From before.');
    expect(existsSync(inReef('reef.db'))).toBe(false);
  },
  SLOW_MS,
);

verifies('X-130').test(
  'where nothing is trusted it is left alone until a person says so, and never when it came with the repository',
  async () => {
    world = makeWorld();
    const id = await makeOldHome();
    plainGit(world.repository)('add', '-f', '.reef/state.json');
    expect((await reef('doctor', '--fix')).out).toContain('git tracks .reef/state.json');
    plainGit(world.repository)('rm', '-q', '--cached', '.reef/state.json');
    expect((await reef('ps')).out).not.toContain(id);
    expect((await reef('doctor', '--fix')).out).toMatch(/old home +jobs of an older Reef lie in the repository: fixed/);
    expect((await reef('ps')).out).toContain(id);
  },
  SLOW_MS,
);

/** A home as the last Reef wrote it that kept homes in repositories: a job, a run whose work is not merged, a worktree with an edit. */
const OLD_HOME = new URL('../fixtures/old-home.json', import.meta.url);

interface Dump {
  version: number;
  schema: string[];
  tables: Record<string, Record<string, string | number | null | { base64: string }>[]>;
  files: Record<string, string>;
  bytes: Record<string, string>;
}

function layOldHome(root: string): void {
  const { version, schema, tables, files, bytes }: Dump = JSON.parse(
    readFileSync(OLD_HOME, 'utf8').replaceAll('@ROOT@', root),
  );
  writeFiles(root, files);
  writeFiles(
    root,
    Object.fromEntries(Object.entries(bytes).map(([path, text]) => [path, Buffer.from(text, 'base64')])),
  );
  const database = openSqlite(inReef('reef.db'));
  for (const sql of schema) database.exec(sql);
  for (const [table, rows] of Object.entries(tables)) {
    for (const row of rows) {
      const places = Object.keys(row).map(() => '?');
      const values = Object.values(row).map((value) =>
        typeof value === 'object' && value !== null ? Buffer.from(value.base64, 'base64') : value,
      );
      database.prepare(`INSERT INTO ${table} (${Object.keys(row)}) VALUES (${places})`).run(...values);
    }
  }
  database.pragma(`user_version = ${version}`);
  database.close();
}

verifies('X-130').test(
  'a home that an older Reef wrote is taken over with its jobs, runs and worktrees, and its work can be merged',
  async () => {
    world = makeWorld();
    world.configure({});
    rmSync(world.repository, { recursive: true });
    layOldHome(world.root);
    const [job, run, ofRun, byHand] = ['01M7Q1JPGJ', '01M7Q1JST8', '01M7Q1JSTA', '01M7Q1JZYQ'];
    expect((await reef('ps')).out).toContain('an old job');
    expect((await reef('output', job)).out).toContain('From before.');
    expect((await reef('run', 'show', run)).out).toMatch(/success[\s\S]*test passed/);
    expect((await reef('worktree', 'list')).out).toMatch(/reef\/write-sum[\s\S]*reef\/by-hand/);
    expect((await reef('diff', byHand)).out).toContain('+by hand');
    expect((await reef('accept', ofRun)).out).toContain('merged');
    expect(plainGit(world.repository)('show', 'main:sum.mjs')).toContain('a + b');
    expect([existsSync(inReef('reef.db')), existsSync(join(world.home.dir, 'reef.db'))]).toEqual([false, true]);
  },
  SLOW_MS,
);
