import { chmod, mkdir, readdir, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished } from 'vitest';
import { writeFacts } from '../../../test/support/context/write-facts.ts';
import { makeRepository } from '../../../test/support/repository.ts';
import { openSocket } from '../../../test/support/surfaces/socket.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { readEnvironment } from '../../base/env.ts';
import { homeAt } from '../../base/home.ts';
import { collect } from '../../context/code-index/collect.ts';
import { FactStore } from '../../context/code-index/store/fact-store.ts';
import { openFactDatabase } from '../../context/code-index/store/open-database.ts';
import { WorktreeTree } from '../../context/code-index/tree/worktree-tree.ts';
import { connect } from '../client/client.ts';
import { derivedChecks } from './derived.ts';
import { byHand, type Check, examine, type Fix, type Found, ok, warn } from './finding.ts';
import { homeChecks, socketCheck } from './home.ts';
import { logOut, machineChecks } from './machine.ts';
import { sizeChecks } from './sizes.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

const home = () => homeAt(dir, readEnvironment({ XDG_STATE_HOME: dir }));
const mode = async (path: string) => (await stat(path)).mode & 0o777;
const finding = (fix: Fix): Found => ({ check: 'c', ...warn('w', 'e', fix) });
const checkOf = (...found: Found[]): Check => ({ name: 'c', look: async () => found });
/** Of a home that nobody serves. */
const nobody = () => connect({ socket: join(dir, 'none.sock'), surface: 'cli' });

verifies('Q-101').test('a check that breaks is a finding and hides no other', async () => {
  const broken: Check = { name: 'broken', look: () => Promise.reject(new Error('EIO')) };
  expect(await examine([broken, checkOf({ check: 'c', ...ok('w', 'e') })], { fix: false })).toEqual([
    {
      ...{ check: 'broken', severity: 'error', what: 'the check failed', evidence: 'EIO' },
      fix: { does: 'fix what the message names, then run `reef doctor` again', safe: false },
    },
    { check: 'c', severity: 'ok', what: 'w', evidence: 'e' },
  ]);
});

verifies('Q-102').test('--fix applies what is safe and only that', async () => {
  const done: string[] = [];
  const safe = finding({ does: 'mend', safe: true, apply: async () => void done.push('safe') });
  const failing = finding({ does: 'mend', safe: true, apply: () => Promise.reject(new Error('EROFS')) });
  const unsafe = finding(byHand('ask somebody'));
  const checks = [checkOf(safe, failing, unsafe)];
  const looked = await examine(checks, { fix: false });
  expect([looked.map(({ severity }) => severity), done]).toEqual([['warn', 'warn', 'warn'], []]);
  expect(await examine(checks, { fix: true })).toEqual([
    { check: 'c', severity: 'ok', what: 'w: fixed', evidence: 'e', fix: { does: 'mend', safe: true } },
    { check: 'c', severity: 'error', what: 'w', evidence: 'the fix failed: EROFS', fix: { does: 'mend', safe: true } },
    { check: 'c', severity: 'warn', what: 'w', evidence: 'e', fix: { does: 'ask somebody', safe: false } },
  ]);
  expect(done).toEqual(['safe']);
});

verifies('Q-100', 'X-44').test('what of the home is open to others is found, closed, and well after that', async () => {
  await mkdir(join(dir, 'jobs', 'a', '1'), { recursive: true });
  await writeFile(join(dir, 'jobs', 'a', '1', 'out'), '', { mode: 0o644 });
  await writeFile(join(dir, 'reef.db'), '', { mode: 0o600 });
  await writeFile(join(dir, 'workflows.yaml'), '', { mode: 0o644 });
  await symlink('/etc/passwd', join(dir, 'jobs', 'link'));
  await mkdir(join(dir, 'index', 'r', 'sandbox', 'home'), { recursive: true, mode: 0o755 });
  await chmod(join(dir, 'index', 'r'), 0o700);
  await chmod(join(dir, 'index'), 0o700);
  await chmod(dir, 0o755);
  const [modes] = homeChecks(home());
  const checks = modes ? [modes] : [];
  const before = await examine(checks, { fix: false });
  expect(before).toMatchObject([
    { check: 'home', severity: 'warn', what: 'other users may read 5 files of Reef', fix: { safe: true } },
  ]);
  expect(await mode(dir)).toBe(0o755);
  await examine(checks, { fix: true });
  expect(await examine(checks, { fix: true })).toMatchObject([{ severity: 'ok', what: 'private' }]);
  const paths = [dir, join(dir, 'jobs'), join(dir, 'jobs', 'a', '1', 'out'), join(dir, 'workflows.yaml')];
  expect(await Promise.all(paths.map(mode))).toEqual([0o700, 0o700, 0o600, 0o644]);
  expect(await mode('/etc/passwd')).not.toBe(0o600);
});

verifies('Q-101').test('a home that does not exist is no trouble, and is not made', async () => {
  const absent = homeAt(join(dir, 'none'), readEnvironment({}));
  const findings = await examine([...homeChecks(absent), socketCheck(absent, nobody())], { fix: true });
  expect(findings.map(({ severity }) => severity)).toEqual(['ok', 'ok', 'ok']);
  expect(await readdir(dir)).toEqual([]);
});

verifies('Q-100').test('a socket is told apart: answered, left behind, absent', async () => {
  const socket = await openSocket();
  const served = homeAt(socket.dir, readEnvironment(socket.env));
  const look = async (at: ReturnType<typeof home>) => (await examine([socketCheck(at, nobody())], { fix: false }))[0];
  expect(await look(served)).toMatchObject({ severity: 'ok', what: 'the daemon listens' });
  await socket.close();
  expect(await look(home())).toMatchObject({ severity: 'ok', what: 'no daemon is running' });
  await mkdir(dirname(home().socket), { recursive: true });
  await writeFile(home().socket, '');
  expect(await look(home())).toMatchObject({ severity: 'warn', what: expect.stringContaining('left behind') });
});

const sandboxMode = () => 'auto' as const;

verifies('Q-100', 'U-06').test(
  'the machine is looked at: node, git, sandbox, limits, processes, tmux, disk, descriptors, inotify, log-out',
  async () => {
    const findings = await examine(machineChecks({ path: process.env.PATH ?? '', folder: dir, sandboxMode }), {
      fix: false,
    });
    expect(findings.map((each) => each.check)).toEqual([
      'node',
      'git',
      'sandbox',
      'limits',
      'processes',
      'tmux',
      'disk',
      'files',
      'inotify',
      'log-out',
    ]);
    expect(findings.slice(0, 2)).toMatchObject([
      { severity: 'ok', what: process.version, evidence: process.execPath },
      { severity: 'ok', what: expect.stringMatching(/^2\.\d+/) },
    ]);
  },
);

verifies('Q-100').test('a missing or old git is an error with a fix', async () => {
  const git = async (script?: string) => {
    const bin = join(dir, 'bin');
    await mkdir(bin, { recursive: true });
    if (script) await writeFile(join(bin, 'git'), script, { mode: 0o755 });
    const findings = await examine(machineChecks({ path: bin, folder: dir, sandboxMode }), { fix: false });
    return findings.find((each) => each.check === 'git');
  };
  const fix = { does: 'install git 2.38 or newer', safe: false };
  expect(await git()).toMatchObject({ severity: 'error', what: 'not found on PATH', fix });
  expect(await git('#!/bin/sh\necho git version 2.37.9')).toMatchObject({
    severity: 'error',
    what: 'version 2.37.9 is too old; Reef needs 2.38',
    fix,
  });
  expect(await git('#!/bin/sh\necho git version 3.0.1')).toMatchObject({ severity: 'ok', what: '3.0.1' });
});

verifies('Q-100').test('a log-out that would end jobs is told, unless the user lingers', async () => {
  const look = () => logOut({ root: dir, user: 'ada' });
  expect(await look()).toMatchObject({ severity: 'ok', what: 'does not end jobs: there is no logind here' });
  await mkdir(join(dir, 'run/systemd/seats'), { recursive: true });
  expect(await look()).toMatchObject({ severity: 'ok', what: 'does not end jobs' });
  await mkdir(join(dir, 'etc/systemd/logind.conf.d'), { recursive: true });
  await writeFile(join(dir, 'etc/systemd/logind.conf'), '[Login]\n#KillUserProcesses=yes\nKillUserProcesses=no\n');
  expect(await look()).toMatchObject({ severity: 'ok', what: 'does not end jobs' });
  await writeFile(join(dir, 'etc/systemd/logind.conf.d/50-site.conf'), '[Login]\nKillUserProcesses=yes\n');
  const fix = { does: 'loginctl enable-linger', safe: false };
  expect(await look()).toMatchObject({ severity: 'warn', what: 'logging out ends your jobs', fix });
  await mkdir(join(dir, 'var/lib/systemd/linger'), { recursive: true });
  await writeFile(join(dir, 'var/lib/systemd/linger/ada'), '');
  expect(await look()).toMatchObject({ severity: 'ok', what: 'does not end jobs: lingering is enabled for you' });
});

verifies('Q-100').test('a home from the future says that the clock went back', async () => {
  const look = async () => (await examine(homeChecks(home()), { fix: false })).find((each) => each.check === 'clock');
  await writeFile(home().database, '');
  expect(await look()).toMatchObject({ severity: 'ok' });
  const tomorrow = new Date(Date.now() + 24 * 3_600_000);
  await utimes(home().database, tomorrow, tomorrow);
  expect(await look()).toMatchObject({
    severity: 'warn',
    what: 'files of the home are 1440 minutes ahead of the clock',
  });
});

verifies('Q-103').test(
  'a code index or a state that cannot be read is named, and gone after --fix: it is made anew',
  async () => {
    const look = async (fix: boolean) =>
      (await examine(derivedChecks({ home: home(), deep: false }), { fix })).map(
        ({ severity, what }) => `${severity}: ${what}`,
      );
    const well = ['ok: the code index and the state are readable'];
    expect(await look(false)).toEqual(well);
    const index = join(dir, 'index', 'abc', 'code.db');
    openFactDatabase(index).close();
    const state = join(dir, 'repostate', 'abc', 'repostate.json');
    await mkdir(dirname(state), { recursive: true });
    await writeFile(state, '{}');
    expect(await look(false)).toEqual(well);
    await writeFile(index, 'not a database');
    await writeFile(state, '{ "version": 1, "fi');
    const named = ['a code index is damaged', 'the state of a worktree is not readable'];
    expect(await look(false)).toEqual(named.map((what) => `warn: ${what}`));
    expect(await look(true)).toEqual(named.map((what) => `ok: ${what}: fixed`));
    expect([await look(true), await readdir(join(dir, 'index', 'abc'))]).toEqual([well, []]);
  },
);

verifies('C-024').test('a code index more than twice its source, though all went that may, is named', async () => {
  const { git, place } = makeRepository({ 'a.ts': 'export const a = 1;\n' });
  const tree = new WorktreeTree({ git, checkout: place, format: 'sha1' });
  await tree.sweep();
  const store = new FactStore(join(dir, 'index', 'abc', 'code.db'));
  const look = () => examine(derivedChecks({ home: home(), deep: false }), { fix: false });
  const [{ oid = '' } = {}] = tree.files.values();
  const data = new Uint8Array(2_000_000);
  writeFacts(store, [{ oid, lang: '', stage: 1, extractor: 'v', status: 'ok', data, bytes: 20 }]);
  expect(await look()).toMatchObject([{ severity: 'ok' }]);
  await collect({ git, tree, store });
  expect(await look()).toMatchObject([
    { severity: 'warn', what: expect.stringMatching(/^a code index is [\d.]+ times as large as its source$/) },
  ]);
  store.close();
});

verifies('Q-102').test('what a daemon may have open by now is not removed', async () => {
  const socket = await openSocket();
  onTestFinished(() => socket.close());
  const state = join(dir, 'repostate', 'abc', 'repostate.json');
  await mkdir(dirname(state), { recursive: true });
  await writeFile(state, '{ "version": 1, "fi');
  await mkdir(dirname(home().socket), { recursive: true });
  const start = { does: 'start one', safe: true as const, apply: () => symlink(socket.path, home().socket) };
  const [, derived] = await examine([checkOf(finding(start)), ...derivedChecks({ home: home(), deep: false })], {
    fix: true,
  });
  expect(derived).toMatchObject({ severity: 'error', evidence: 'the fix failed: a daemon uses it now' });
  expect(await readdir(dirname(state))).toEqual(['repostate.json']);
});

verifies('Q-100', 'Q-103').test('a disk without room is an error', async () => {
  // A file system that never has any.
  const findings = await examine(machineChecks({ path: process.env.PATH ?? '', folder: '/proc', sandboxMode }), {
    fix: false,
  });
  expect(findings.find((each) => each.check === 'disk')).toMatchObject({ severity: 'error', what: '0 MiB free' });
});

verifies('Q-110', 'S-72').test(
  '--sizes shows each part of the home, the largest first, and what limits it',
  async () => {
    const { dir: folder } = home();
    await mkdir(join(folder, 'artifacts'), { recursive: true });
    await writeFile(join(folder, 'artifacts', 'a'), Buffer.alloc(3 * 1_048_576));
    await writeFile(join(folder, 'daemon.log'), Buffer.alloc(1_048_576));
    await writeFile(join(folder, 'reef.db'), Buffer.alloc(500_000));
    const found = await examine(
      sizeChecks(home(), () => ({ days: 30, mib: 2_048 })),
      { fix: false },
    );
    expect(found.map(({ what }) => what)).toEqual([
      'artifacts 3.0 MiB; removed 7 days after its job, above 1,024 MiB earlier',
      'daemon.log 1.0 MiB; at most 8 MiB, and as much of the one before',
      'reef.db 0.5 MiB; events, answers and journals go 30 days after their task, above 2,048 MiB of all earlier; what was used and who called, after 365',
    ]);
  },
);
