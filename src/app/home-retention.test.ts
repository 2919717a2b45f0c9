import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { aJob } from '../../test/support/job-storage.ts';
import { writeFiles } from '../../test/support/repository.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { Store } from '../store/store.ts';
import { pruneJobFolders } from './home-retention.ts';

const NOW = new Date('2026-03-01T00:00:00.000Z');

verifies('S-72').test('folders of jobs go by age and by size, and those with open work stay', async () => {
  const dir = temporaryFolder();
  const store = new Store(join(dir, 'db'));
  onTestFinished(() => store.close());
  const ended = (at: string) => ({ status: 'completed' as const, endedAt: `${at}T00:00:00.000Z` });
  const jobs = [
    aJob('live'),
    aJob('old', ended('2026-01-02')),
    aJob('old-unmerged', { ...ended('2026-01-02'), worktree: 'w' }),
    aJob('new', ended('2026-02-27')),
    aJob('newest', ended('2026-02-28')),
  ];
  store.commit(() => {
    for (const job of jobs) store.jobs.insert({ job, runtime: {} });
    store.worktrees.insert({ id: 'w', repository: 'r', taskId: 't', status: 'ready', isOpen: true, doc: {} });
  });
  const folder = join(dir, 'jobs');
  for (const { id } of jobs) writeFiles(folder, { [`${id}/1/out`]: 'x'.repeat(1_000) });
  writeFiles(folder, { 'unknown/1/out': 'of nobody' });

  expect(await pruneJobFolders({ dir: folder, store, now: NOW })).toEqual(['old']);
  expect(await pruneJobFolders({ dir: folder, store, now: NOW, maxBytes: 3_500 })).toEqual(['new']);
  expect((await readdir(folder)).sort()).toEqual(['live', 'newest', 'old-unmerged', 'unknown']);
});
