import { existsSync, utimesSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { aJob } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { writeFiles } from '../../test/support/repository.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import type { Job } from '../protocol/jobs.ts';
import { Store } from '../store/store.ts';
import { HomeRetention } from './home-retention.ts';

const NOW = new Date('2026-03-01T00:00:00.000Z');
const ADDRESS = 'a'.repeat(64);
const SHARED = 'b'.repeat(64);
const silent = { info() {}, warn() {} };
const ended = (at: string) => ({ status: 'completed' as const, endedAt: `${at}T00:00:00.000Z` });

function aHome({ mib = 2_048 } = {}) {
  const dir = temporaryFolder();
  const database = join(dir, 'reef.db');
  const store = new Store(database);
  onTestFinished(() => store.close());
  const clock = manualClock(NOW);
  const settings = () => ({ keep: { days: 30, mib } });
  const retention = new HomeRetention({ home: { dir, database }, store, clock, log: silent, settings });
  const add = (job: Job, events = 3, size = 1_000) => {
    store.commit(() => {
      store.jobs.insert({ job, runtime: {} });
      let seq = 0;
      for (let n = 0; n < events; n += 1) {
        const payload = JSON.stringify({ kind: 'text', text: 'x'.repeat(size) });
        seq = store.events.append({ at: job.createdAt, jobId: job.id, type: 'progress', payload });
      }
      if (job.endedAt !== undefined) store.jobs.update({ job, runtime: {} }, seq);
    });
    writeFiles(join(dir, 'jobs'), { [`${job.id}/1/out`]: 'x'.repeat(1_000) });
  };
  const addRun = (
    id: string,
    { at, worktreeId = '', blobs = [] as string[] }: { at: string; worktreeId?: string; blobs?: string[] },
  ) =>
    store.commit(() => {
      store.runs.insert({ id, worktreeId, state: 'over', doc: { task: `task of ${id}` } });
      for (const blob of blobs) store.journal.putBlob(blob, Buffer.from(blob));
      store.journal.append(id, { at, kind: 'start', key: 'start', data: JSON.stringify({ blobs }) });
      store.journal.append(id, { at, kind: 'end', key: 'end', data: '{}' });
      store.verdicts.insert(id, []);
    });
  /** The last twenty stay whatever their age. */
  const addRecent = () => {
    for (let n = 10; n < 30; n += 1) add(aJob(`Z${n}`, ended('2026-02-28')), 1);
  };
  return { dir, store, clock, retention, add, addRun, addRecent };
}

const ids = ({ entries }: { entries: { id: string }[] }) => entries.map(({ id }) => id);

verifies('Q-110', 'S-72').test('tasks go by age with all that was kept of them, and open work stays', async () => {
  const { dir, store, clock, retention, add, addRun, addRecent } = aHome();
  add(aJob('A0'));
  add(aJob('A1', ended('2026-01-02')), 1_234);
  add(aJob('A2', { ...ended('2026-01-03'), parentId: 'A1', rootId: 'A1' }));
  add(aJob('A3', { ...ended('2026-01-02'), worktree: 'W' }));
  add(aJob('A4', ended('2026-01-02')));
  add(aJob('A5', { parentId: 'A4', rootId: 'A4' }));
  addRun('R1', { at: '2026-01-02T00:00:00.000Z', blobs: [ADDRESS, SHARED] });
  addRun('R2', { at: '2026-02-27T00:00:00.000Z', blobs: [SHARED] });
  addRun('R3', { at: '2026-01-02T00:00:00.000Z', worktreeId: 'W' });
  add(aJob('R1-job', ended('2026-01-02')));
  store.commit(() => {
    store.blocks.insert({ jobId: 'R1-job', runId: 'R1', block: 'Write', visit: 1, branch: '', schema: {} });
    store.worktrees.insert({ id: 'W', repository: 'r', taskId: 't', status: 'ready', isOpen: true, doc: {} });
    for (const jobId of ['A1', 'A4']) store.grants.insert({ fingerprint: 'f', jobId, at: '', by: 'me' });
  });
  addRecent();
  const usedBefore = store.jobs.usages().map(({ id }) => id);

  const dry = await retention.prune({ dryRun: true });
  expect(dry.entries.map(({ id, kind, reason, outcome, title }) => [id, kind, reason, outcome, title])).toEqual([
    ['A1', 'job', 'age', 'would_remove', 't'],
    ['R1', 'run', 'age', 'would_remove', 'task of R1'],
  ]);
  expect(dry.entries[0]?.bytes).toBeGreaterThan(1_234_000);
  expect(store.jobs.get('A1')).toBeDefined();

  const done = await retention.prune({ dryRun: false });
  expect(done.entries.map(({ id, outcome }) => [id, outcome])).toEqual([
    ['A1', 'removed'],
    ['R1', 'removed'],
  ]);
  expect(done.bytes).toBeLessThan(dry.bytes + 100_000);
  for (const id of ['A1', 'A2', 'R1-job']) {
    expect([id, store.jobs.get(id), store.events.tail(id, 1), existsSync(join(dir, 'jobs', id))]).toEqual([
      id,
      undefined,
      [],
      false,
    ]);
  }
  expect(store.grants.find('f', 'A1')).toBeUndefined();
  expect([store.runs.get('R1'), store.journal.after('R1', 0, 1), store.blocks.get('R1-job')]).toEqual([
    undefined,
    [],
    undefined,
  ]);
  for (const id of ['A0', 'A3', 'A4', 'A5', 'Z10']) {
    expect([id, store.events.tail(id, 9).length > 0, existsSync(join(dir, 'jobs', id))]).toEqual([id, true, true]);
  }
  expect([store.runs.get('R2'), store.runs.get('R3'), store.grants.find('f', 'A4')]).not.toContain(undefined);
  // What was used is still known, and what lies beside a journal goes an hour later if no other one names it.
  expect(store.jobs.usages().map(({ id }) => id)).toEqual(usedBefore);
  expect(store.journal.getBlob(ADDRESS)).toBeDefined();
  clock.jumpWall(3_700_000);
  expect(ids(await retention.prune({ dryRun: false }))).toEqual([]);
  expect(store.journal.getBlob(ADDRESS)).toBeUndefined();
  expect(store.journal.getBlob(SHARED)).toBeDefined();
  // A line for each job is kept for a year.
  clock.jumpWall(366 * 24 * 3_600_000);
  await retention.prune({ dryRun: false });
  expect(store.jobs.usages().map(({ id }) => id)).not.toContain('A1');
});

verifies('Q-110', 'S-72').test(
  'above its size the oldest go, none of the last day, and the file gets smaller',
  async () => {
    const { dir, store, retention, add } = aHome({ mib: 3 });
    for (const [id, day] of [
      ['A1', '2026-02-25'],
      ['A2', '2026-02-26'],
      ['A3', '2026-02-27'],
    ] as const)
      add(aJob(id, ended(day)), 100, 20_000);
    add(aJob('A4', { status: 'completed', endedAt: '2026-02-28T12:00:00.000Z' }), 100, 20_000);
    const before = store.retention.usedBytes();
    const dry = await retention.prune({ dryRun: true });
    expect(dry.entries.map(({ id, reason }) => [id, reason])).toEqual([
      ['A1', 'size'],
      ['A2', 'size'],
      ['A3', 'size'],
    ]);
    const last = store.events.lastSeq();
    expect(ids(await retention.prune({ dryRun: false }))).toEqual(['A1', 'A2', 'A3']);
    expect(store.retention.usedBytes()).toBeLessThan(before / 2);
    expect(store.retention.release()).toBe(false); // nothing free is left in it
    expect(await readdir(join(dir, 'jobs'))).toEqual(['A4']);
    // Numbers go on where they were, also when all older events are gone.
    expect(store.events.lastSeq()).toBe(last);
    expect(ids(await retention.prune({ dryRun: false }))).toEqual([]);
  },
);

verifies('Q-110').test('the number of the newest event is never given again', async () => {
  const { store, retention, add, addRecent } = aHome();
  addRecent();
  add(aJob('A1', ended('2026-01-02')), 5);
  // Its end was told before the others': it is not among the last twenty.
  store.commit(() => {
    const job = aJob('A1', ended('2026-01-02'));
    store.jobs.update({ job, runtime: {} }, 0);
  });
  const last = store.events.lastSeq();
  expect(ids(await retention.prune({ dryRun: false }))).toEqual(['A1']);
  store.events.rewind(); // reads it again from the table
  expect(store.events.lastSeq()).toBe(last);
});

verifies('Q-110', 'W-75').test('a removal that was killed in the middle is completed by the next', async () => {
  const { store, retention, add, addRecent } = aHome();
  add(aJob('A1', ended('2026-01-02')), 1_500);
  addRecent();
  const total = () => store.jobs.usages().filter(({ id }) => id === 'A1').length;
  store.record(() => {
    store.retention.keepUsage('A1', 'm');
    store.retention.removeEvents('A1');
  });
  expect([store.events.tail('A1', 2_000).length, total()]).toEqual([1_000, 1]);
  expect(ids(await retention.prune({ dryRun: false }))).toEqual(['A1']);
  expect([store.events.tail('A1', 1).length, total()]).toEqual([0, 1]);
});

verifies('Q-110', 'S-72').test(
  'folders that belong to no job go by age, and those of worktrees after a year',
  async () => {
    const { dir, retention, add } = aHome();
    add(aJob('A1', ended('2026-02-27')));
    const made = ['jobs/nobody', 'jobs/nobody-new', 'jobs/A1', 'repostate/old', 'repostate/new'];
    writeFiles(dir, Object.fromEntries(made.map((name) => [`${name}/file`, 'x'])));
    const at = (name: string, day: string) => utimesSync(join(dir, name), new Date(day), new Date(day));
    for (const [name, day] of [
      ['jobs/nobody', '2026-01-01'],
      ['jobs/nobody-new', '2026-02-28'],
      ['jobs/A1', '2026-01-01'],
      ['repostate/old', '2025-02-01'],
      ['repostate/new', '2025-05-01'],
    ] as const)
      at(name, day);
    await retention.prune({ dryRun: true });
    expect(made.filter((name) => !existsSync(join(dir, name)))).toEqual([]);
    await retention.prune({ dryRun: false });
    expect(made.filter((name) => !existsSync(join(dir, name)))).toEqual(['jobs/nobody', 'repostate/old']);
  },
);
