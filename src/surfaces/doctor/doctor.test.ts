import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSocket } from '../../../test/surfaces/socket.ts';
import { verifies } from '../../../test/verifies.ts';
import { readEnvironment } from '../../base/env.ts';
import { homeAt } from '../../base/home.ts';
import { holdLock } from '../../store/home-lock.ts';
import { Store } from '../../store/store.ts';
import { connect } from '../client/client.ts';
import { agentChecks } from './agents.ts';
import { examine } from './examine.ts';
import type { Check, Found } from './finding.ts';
import { homeChecks } from './home.ts';
import { machineChecks } from './machine.ts';
import { storeChecks } from './store.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reef-surfaces-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const home = () => homeAt(dir, readEnvironment({}));
const mode = async (path: string) => (await stat(path)).mode & 0o777;
const finding = (changes: Partial<Found>): Found => ({
  check: 'c',
  severity: 'warn',
  what: 'w',
  evidence: 'e',
  ...changes,
});
const check = (...found: Found[]): Check => ({ name: 'c', look: async () => found });

verifies('Q-101').test('a check that breaks is a finding and hides no other', async () => {
  const broken: Check = { name: 'broken', look: () => Promise.reject(new Error('EIO')) };
  expect(await examine([broken, check(finding({ severity: 'ok' }))], { fix: false })).toEqual([
    { check: 'broken', severity: 'error', what: 'could not be checked', evidence: 'EIO' },
    { check: 'c', severity: 'ok', what: 'w', evidence: 'e' },
  ]);
});

verifies('Q-102').test('--fix applies what is safe and only that', async () => {
  const done: string[] = [];
  const safe = finding({ fix: { does: 'mend', safe: true, apply: async () => void done.push('safe') } });
  const failing = finding({ fix: { does: 'mend', safe: true, apply: () => Promise.reject(new Error('EROFS')) } });
  const unsafe = finding({ fix: { does: 'ask somebody', safe: false } });
  const checks = [check(safe, failing, unsafe)];
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
  await chmod(dir, 0o755);
  const [modes] = homeChecks(home());
  const checks = modes ? [modes] : [];
  const before = await examine(checks, { fix: false });
  expect(before).toMatchObject([
    { check: 'home', severity: 'warn', what: '5 entries are open to other users', fix: { safe: true } },
  ]);
  expect(await mode(dir)).toBe(0o755);
  await examine(checks, { fix: true });
  expect(await examine(checks, { fix: true })).toMatchObject([{ severity: 'ok', what: 'closed to others' }]);
  const paths = [dir, join(dir, 'jobs'), join(dir, 'jobs', 'a', '1', 'out'), join(dir, 'workflows.yaml')];
  expect(await Promise.all(paths.map(mode))).toEqual([0o700, 0o700, 0o600, 0o644]);
  expect(await mode('/etc/passwd')).not.toBe(0o600);
});

verifies('Q-101').test('a home that does not exist is no trouble, and is not made', async () => {
  const absent = homeAt(join(dir, 'none'), readEnvironment({}));
  const findings = await examine(homeChecks(absent), { fix: true });
  expect(findings.map(({ severity }) => severity)).toEqual(['ok', 'ok']);
  expect(await readdir(dir)).toEqual([]);
});

verifies('Q-100').test('a socket is told apart: answered, left behind, absent', async () => {
  const socket = await openSocket();
  const served = homeAt(socket.dir, readEnvironment({}));
  const look = async (at: ReturnType<typeof home>) =>
    (await examine(homeChecks(at), { fix: false })).find((each) => each.check === 'socket');
  expect(await look(served)).toMatchObject({ severity: 'ok', what: 'a daemon answers' });
  await socket.close();
  expect(await look(home())).toMatchObject({ severity: 'ok', what: 'no daemon runs' });
  await writeFile(home().socket, '');
  expect(await look(home())).toMatchObject({ severity: 'warn', what: expect.stringContaining('left behind') });
});

verifies('Q-100').test('lock and database are told well, damaged, or in the hands of one that hangs', async () => {
  const look = async () => {
    const findings = await examine(storeChecks(home()), { fix: false });
    return findings.map(({ severity, what }) => [severity, what]);
  };
  expect(await look()).toEqual([
    ['ok', 'free'],
    ['ok', 'none yet'],
  ]);
  expect(await readdir(dir)).toEqual([]);
  const store = new Store(home().database);
  const lock = holdLock(home().lock);
  expect(await look()).toEqual([
    ['error', 'held by a daemon that does not answer'],
    ['ok', 'quick_check ok'],
  ]);
  lock.release();
  store.close();
  expect(await look()).toEqual([
    ['ok', 'free'],
    ['ok', 'quick_check ok'],
  ]);
  const bytes = await readFile(home().database);
  await writeFile(home().database, bytes.fill(0xff, 100, 4_096));
  expect((await look())[1]?.[0]).toBe('error');
  await writeFile(home().database, 'not a database');
  expect((await look())[1]?.[0]).toBe('error');
});

verifies('Q-100', 'U-06').test(
  'the machine is looked at: node, git, sandbox, processes, tmux, disk, descriptors, inotify',
  async () => {
    const findings = await examine(machineChecks({ path: process.env.PATH ?? '', folder: dir }), { fix: false });
    expect(findings.map((each) => each.check)).toEqual([
      'node',
      'git',
      'sandbox',
      'processes',
      'tmux',
      'disk',
      'files',
      'inotify',
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
    const findings = await examine(machineChecks({ path: bin, folder: dir }), { fix: false });
    return findings.find((each) => each.check === 'git');
  };
  const fix = { does: 'install git 2.38 or newer', safe: false };
  expect(await git()).toMatchObject({ severity: 'error', what: 'not found on PATH', fix });
  expect(await git('#!/bin/sh\necho git version 2.37.9')).toMatchObject({
    severity: 'error',
    what: '2.37.9, needs 2.38',
    fix,
  });
  expect(await git('#!/bin/sh\necho git version 3.0.1')).toMatchObject({ severity: 'ok', what: '3.0.1' });
});

verifies('A-57', 'Q-100').test(
  'agents are shown with version and finding; a missing one with how to get it',
  async () => {
    const detected = [
      {
        name: 'claude',
        title: 'Claude Code',
        path: '/bin/claude',
        version: '2.1.325',
        severity: 'ok',
        install: 'npm i claude',
      },
      {
        name: 'codex',
        title: 'Codex',
        severity: 'warn',
        finding: 'codex is not on PATH. Install it with: npm i codex',
        install: 'npm i codex',
      },
    ] as const;
    const client = connect({ socket: join(dir, 'none.sock'), surface: 'cli' });
    const findings = await examine(agentChecks({ detect: async () => [...detected], client, version: '1.0.0' }), {
      fix: false,
    });
    expect(findings).toEqual([
      { check: 'claude', severity: 'ok', what: '2.1.325', evidence: '/bin/claude' },
      {
        check: 'codex',
        severity: 'warn',
        what: 'codex is not on PATH.',
        evidence: 'Codex',
        fix: { does: 'npm i codex', safe: false },
      },
      {
        check: 'daemon',
        severity: 'ok',
        what: 'not running; the next command starts it',
        evidence: 'reef daemon status',
      },
    ]);
  },
);

verifies('A-83', 'Q-100').test('an agent that this shell finds and the daemon does not is named', async () => {
  const socket = await openSocket();
  const client = connect({ socket: socket.path, surface: 'cli' });
  const at = (path: string) => ({ name: 'claude', title: 'Claude', path, severity: 'ok', install: 'x' }) as const;
  const look = async (path: string) =>
    examine(agentChecks({ detect: async () => [at(path)], client, version: '0.2.0' }), { fix: false });
  const [, daemon, hidden] = await look(join(dir, 'claude'));
  expect(daemon).toMatchObject({ severity: 'warn', what: 'runs 0.1.0, this is 0.2.0' });
  // The daemon of the test is this process: its PATH at start is in /proc.
  expect(hidden).toMatchObject({
    check: 'path',
    severity: 'warn',
    what: 'the daemon finds no claude; this shell does',
  });
  const [, , seen] = await look(join(dirname('/usr/bin/env'), 'claude'));
  expect(seen).toMatchObject({ check: 'path', severity: 'ok' });
  await socket.close();
});

test('a failure to detect agents is one finding, not a crash', async () => {
  const client = connect({ socket: join(dir, 'none.sock'), surface: 'cli' });
  const detect = () => Promise.reject(new Error('config.yaml:3:1: bad'));
  const findings = await examine(agentChecks({ detect, client, version: '1' }), { fix: false });
  expect(findings.map(({ check: name, severity }) => [name, severity])).toEqual([
    ['agents', 'error'],
    ['daemon', 'ok'],
    ['path', 'error'],
  ]);
});
