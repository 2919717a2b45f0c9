import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { chmod, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { readEnvironment } from '../../base/env.ts';
import { homeAt } from '../../base/home.ts';
import { connect } from './client.ts';
import { errorBody } from './request.ts';
import { listens, startDaemon } from './start-daemon.ts';

const DAEMON = fileURLToPath(new URL('../../../test/support/surfaces/small-daemon.ts', import.meta.url));

let dir: string;
let children: ChildProcess[];
beforeEach(() => {
  dir = temporaryFolder();
  children = [];
});
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

function program(args: string[]) {
  const log = openSync(join(dir, 'daemon.log'), 'a', 0o600);
  const child = spawn(process.execPath, args, { stdio: ['ignore', log, log] });
  children.push(child);
  return { pid: child.pid };
}
const home = () => homeAt(dir, readEnvironment({ XDG_STATE_HOME: dir }));
const start = () => startDaemon({ home: home(), launch: () => program([DAEMON, dir]) });
const starts = async () => (await readFile(join(dir, 'starts'), 'utf8')).trim().split('\n').length;

verifies('Q-08').test('fifty at once on a cold home start one program, and all of them reach it', async () => {
  await Promise.all(Array.from({ length: 50 }, start));
  const client = connect({ socket: home().socket, surface: 'cli' });
  const pids = await Promise.all(Array.from({ length: 50 }, async () => (await client.daemon())?.pid));
  expect(new Set(pids).size).toBe(1);
  expect([await starts(), children.length]).toEqual([1, 1]);
  expect(await readdir(dir)).not.toContain('daemon.starting');
});

verifies('Q-08').test('whoever loses the lock connects to the winner', async () => {
  const launches = [0, 1, 2].map(() => program([DAEMON, dir]));
  await startDaemon({ home: home(), launch: () => launches.shift() ?? { pid: undefined } });
  await expect.poll(starts).toBe(3);
  await expect.poll(() => children.filter(({ exitCode }) => exitCode === null).length).toBe(1);
  expect(await listens(home().socket)).toBe(true);
});

verifies('Q-08').test('a daemon that is just ending does not spoil the next start', async () => {
  const lock = join(dir, 'lock');
  await writeFile(lock, 'held by one that is ending');
  const begun = start();
  await expect.poll(() => starts().catch(() => 0)).toBe(1);
  await expect.poll(() => children[0]?.exitCode).toBe(0);
  await rm(lock);
  await begun;
  expect(await listens(home().socket)).toBe(true);
});

test('a starter that was killed does not stop the next', async () => {
  const marker = join(dir, 'daemon.starting');
  await writeFile(marker, '');
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(marker, longAgo, longAgo);
  await start();
  expect(await starts()).toBe(1);
});

test('a starter that waits for long is not taken for one that was killed', async () => {
  const hanging = () => program(['-e', 'setInterval(() => {}, 1000)']);
  const begun = startDaemon({ home: home(), launch: hanging });
  await expect.poll(() => children.length).toBe(1);
  const marker = join(dir, 'daemon.starting');
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(marker, longAgo, longAgo);
  await expect.poll(async () => (await stat(marker)).mtimeMs).toBeGreaterThan(longAgo.getTime());
  program([DAEMON, dir]);
  await begun;
});

test('a daemon that cannot start is reported with the end of its log, before the limit', async () => {
  const script = "console.error('x'.repeat(3000)); console.error('reef.db is from a newer Reef'); process.exit(1)";
  const failed = startDaemon({ home: home(), launch: () => program(['-e', script]) });
  const { error } = (await failed.catch(errorBody)) as ReturnType<typeof errorBody>;
  expect(error).toMatchObject({
    code: 'daemon_unavailable',
    details: { log: join(dir, 'daemon.log'), tail: 'reef.db is from a newer Reef\n' },
  });
});

test('a daemon that hangs is given up after the limit', async () => {
  const failed = startDaemon({
    home: home(),
    launch: () => program(['-e', 'setInterval(() => {}, 1000)']),
    limitMs: 200,
  });
  const { error } = (await failed.catch(errorBody)) as ReturnType<typeof errorBody>;
  expect(error.code).toBe('daemon_unavailable');
});

test('a home that cannot be made is named', async () => {
  const file = join(dir, 'file');
  await writeFile(file, '');
  await chmod(file, 0o600);
  const failed = startDaemon({
    home: { ...home(), dir: join(file, 'home') },
    launch: () => ({ pid: undefined }),
  });
  const { error } = (await failed.catch(errorBody)) as ReturnType<typeof errorBody>;
  expect([error.code, error.message.includes(file)]).toEqual(['home_not_writable', true]);
});
