import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { openSqlite } from '../../src/store/driver.ts';
import type { HostOrder } from '../support/context/random-host.ts';
import { PATH, textOf } from '../support/programs.ts';
import { initRepository } from '../support/repository.ts';
import { scale } from '../support/scale.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';

const HOST = fileURLToPath(new URL('../support/context/random-host.ts', import.meta.url));
const WORKTREES = 12;
const STEPS = 10;
/** Of the host, each with one folder to watch. */
const MOST_SERVERS = 5;

/** Processes that name the folder in their arguments, which the servers and everything that holds them do. */
function pidsIn(dir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && textOf(`/proc/${name}/cmdline`).includes(dir))
    .map(Number);
}

/** What the kernel watches of these folders, for whichever process: one line of `fdinfo` is one watch, by its inode. */
function watchesOn(folders: readonly string[]): number {
  const inodes = new Set(folders.map((folder) => statSync(folder).ino.toString(16)));
  const fdinfo = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => entriesOf(`/proc/${pid}/fdinfo`));
  const watched = fdinfo.flatMap((file) => [...textOf(file).matchAll(/^inotify .*\bino:([0-9a-f]+)/gm)]);
  return watched.filter(([, inode = '']) => inodes.has(inode)).length;
}

/** Nothing of a process that has ended meanwhile. */
function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** Runs the host to the end of its sequences, kills it, and waits for what it left to go. */
async function liveAndDie(order: Omit<HostOrder, 'path'>, withinMs: number) {
  const host = spawn(process.execPath, [HOST, JSON.stringify({ ...order, path: PATH })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void host.kill('SIGKILL'));
  let said = '';
  host.stdout.on('data', (chunk) => {
    said += chunk;
  });
  await until('its sequences are over', () => /^done \d+$/m.test(said) || host.exitCode !== null, withinMs);
  const before = pidsIn(order.dir).filter((pid) => pid !== host.pid).length;
  // By those at work, and by nobody who went before them. A git about to start is a copy of its server, watches and all.
  await until('no more is watched', () => watchesOn(order.worktrees) <= MOST_SERVERS);
  const watched = watchesOn(order.worktrees);
  host.kill('SIGKILL');
  await until('nothing is left', () => pidsIn(order.dir).length === 0);
  // The kernel takes watches back a moment after the process that had them.
  await until('nothing is watched', () => watchesOn(order.worktrees) === 0).catch(() => {});
  const wrong = said.split('\n').filter((line) => line.startsWith('wrong'));
  return { wrong, hadServers: before > 0, watched, stillWatched: watchesOn(order.worktrees) };
}

const sequences = scale('C-079', { test: 10, faults: 200, soak: 2_000 });
verifies('C-079', 'C-002', 'C-001').test(
  `servers that go up, down, are asked and killed at random leave nothing when the daemon is killed (${sequences} sequences)`,
  async () => {
    const dir = temporaryFolder();
    const worktrees = Array.from({ length: WORKTREES }, (_, index) => join(dir, `w${index}`));
    for (const path of worktrees) mkdirSync(join(path, '.git'), { recursive: true });
    const seed = Number(process.env.REEF_SEED ?? Date.now() % 1_000_000);
    process.stdout.write(`REEF_SEED=${seed}\n`);
    const order = { dir, worktrees, server: 'fake' as const, seed, sequences, steps: STEPS };
    expect(await liveAndDie(order, 60_000 + sequences * 6_000)).toMatchObject({ wrong: [], hadServers: true });
  },
  90_000 + sequences * 6_000,
);

const ownSequences = scale('C-079', { test: 2, faults: 20, soak: 200 });
verifies('C-079').test(
  `the same with the real server: no process, no watch, no lease is left (${ownSequences} sequences)`,
  async () => {
    const dir = temporaryFolder();
    const worktrees = makeWorktrees(dir);
    const seed = Number(process.env.REEF_SEED ?? Date.now() % 1_000_000);
    process.stdout.write(`REEF_SEED=${seed}\n`);
    const order = { dir, worktrees, server: 'own' as const, seed, sequences: ownSequences, steps: STEPS };
    const { wrong, hadServers, watched, stillWatched } = await liveAndDie(order, 120_000 + ownSequences * 20_000);
    expect({ wrong, hadServers, stillWatched }).toEqual({ wrong: [], hadServers: true, stillWatched: 0 });
    expect(watched).toBeGreaterThan(0);
    const database = openSqlite(join(dir, 'index/code.db'));
    onTestFinished(() => void database.close());
    const held = database.prepare('SELECT role FROM lease WHERE until > ?');
    await until('all leases are free', () => held.all(Date.now()).length === 0, 12_000);
  },
  180_000 + ownSequences * 20_000,
);

/** One repository of small files, checked out twelve times. */
function makeWorktrees(dir: string): string[] {
  const [first = '', ...others] = Array.from({ length: WORKTREES }, (_, index) => join(dir, `w${index}`));
  const files = Array.from({ length: 100 }, (_, at) => [
    `f${at}.ts`,
    `export function name${at}() {\n  return ${at};\n}\n`,
  ]);
  const git = initRepository(first, Object.fromEntries(files));
  for (const path of others) git('worktree', 'add', '-q', path);
  return [first, ...others];
}
