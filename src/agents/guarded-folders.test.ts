import { existsSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { TestStorage } from '../../test/support/job-storage.ts';
import { managerOf } from '../../test/support/manager.ts';
import { verifies } from '../../test/support/verifies.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Job } from '../protocol/jobs.ts';
import type { JobRuntime } from './job-runtime.ts';
import { GuardedFolders } from './sandbox.ts';

let storage: TestStorage<Clock>;
let guards: GuardedFolders;
beforeEach(() => {
  storage = new TestStorage(systemClock);
  guards = new GuardedFolders(storage.store);
  mkdirSync(join(storage.dir, '.claude'));
});
afterEach(() => storage.close());

const isGuarded = () => existsSync(join(storage.dir, '.claude'));
const ID = '01JOB000000000000000000001';

describe('when something in a sandbox is over, what guards its folder', () => {
  const others: [string, Partial<Job>, Partial<JobRuntime>, boolean][] = [
    ['stays for a job that rests with its process', { status: 'paused' }, { hasProcess: true }, true],
    ['stays for a job that is being launched', { status: 'queued' }, { isLaunching: true }, true],
    ['goes where a job waits for its turn', { status: 'queued' }, {}, false],
    ['goes where a job rests without a process', { status: 'paused' }, {}, false],
    ['goes where a job is in no sandbox', { status: 'running', sandbox: 'none' }, { hasProcess: true }, false],
    ['goes where a job is elsewhere', { status: 'running', cwd: '/' }, { hasProcess: true }, false],
  ];
  for (const [what, job, runtime, isKept] of others) {
    verifies('X-25').test(what, () => {
      storage.addJob(ID, { cwd: storage.dir, sandbox: 'bubblewrap', ...job }, runtime);
      guards.leave(storage.dir);
      expect(isGuarded()).toBe(isKept);
    });
  }

  verifies('X-25').test('goes with the launch that a killed daemon did not complete', async () => {
    storage.addJob(ID, { cwd: storage.dir, sandbox: 'bubblewrap', status: 'queued' }, { isLaunching: true });
    guards.leave(storage.dir);
    const before = isGuarded();
    const { runner } = managerOf(storage);
    await runner.start();
    await runner.close();
    expect([before, isGuarded()]).toEqual([true, false]);
  });

  verifies('X-25').test('a link is put back as it was before the first of them', () => {
    symlinkSync('conf', join(storage.dir, '.codex'));
    const links = guards.linksOf(storage.dir);
    storage.addJob(ID, { cwd: storage.dir, sandbox: 'bubblewrap', status: 'running' }, { hasProcess: true, links });
    rmSync(join(storage.dir, '.codex'));
    symlinkSync('elsewhere', join(storage.dir, '.codex'));
    guards.enter(storage.dir)();
    const during = readlinkSync(join(storage.dir, '.codex'));
    const gate = guards.enter(storage.dir);
    storage.change(ID, (tx) => (tx.runtime.hasProcess = false));
    gate();
    expect([during, readlinkSync(join(storage.dir, '.codex'))]).toEqual(['elsewhere', 'conf']);
  });

  verifies('X-25').test('stays for a gate, and goes with the last', () => {
    const [first, last] = [guards.enter(storage.dir), guards.enter(storage.dir)];
    const seen = [() => guards.leave(storage.dir), first, last].map((over) => {
      over();
      return isGuarded();
    });
    expect(seen).toEqual([true, true, false]);
  });
});
