import fc from 'fast-check';
import { expect } from 'vitest';
import { aJob } from '../../test/support/job-storage.ts';
import { verifies } from '../../test/support/verifies.ts';
import type { Job } from '../protocol/jobs.ts';
import { nextToStart } from './job-runner.ts';

const job = (id: string, parentId?: string): Job =>
  aJob(id, { launch: 0, status: 'queued', ...(parentId !== undefined && { parentId, rootId: parentId, depth: 1 }) });
const ids = (jobs: Job[]) => jobs.map(({ id }) => id);
const nobody: ReadonlySet<string> = new Set();

verifies('A-80').test('children go before roots, then who came first', () => {
  const queued = [job('c'), job('a'), job('e', 'p'), job('b'), job('d', 'p')];
  expect(ids(nextToStart({ queued, busy: [job('p')], lending: nobody, maxJobs: 4 }))).toEqual(['d', 'e', 'a']);
});

verifies('A-80').test('nobody starts while every slot is held', () => {
  const busy = [job('a'), job('b')];
  expect(nextToStart({ queued: [job('c')], busy, lending: nobody, maxJobs: 2 })).toEqual([]);
  expect(nextToStart({ queued: [job('c')], busy, lending: nobody, maxJobs: 1 })).toEqual([]);
});

verifies('A-80').test('a parent that waits lends its slot', () => {
  const state = { queued: [job('c', 'p'), job('a')], busy: [job('p')], maxJobs: 1 };
  expect([
    ids(nextToStart({ ...state, lending: nobody })),
    ids(nextToStart({ ...state, lending: new Set(['p']) })),
  ]).toEqual([[], ['c']]);
});

verifies('A-80').test('eight parents that each wait for one child all finish', () => {
  const parents = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => job(`p${n}`));
  let queued = [...parents];
  let busy: Job[] = [];
  const lending = new Set<string>();
  const done: string[] = [];
  for (let round = 0; round < 40 && done.length < 16; round++) {
    const started = nextToStart({ queued, busy, lending, maxJobs: 8 });
    queued = queued.filter((waiting) => !started.includes(waiting));
    busy = [...busy, ...started];
    for (const begun of started) {
      if (begun.depth > 0) continue;
      queued.push(job(`${begun.id}-child`, begun.id));
      lending.add(begun.id);
    }
    for (const ended of busy.filter(({ depth }) => depth > 0)) {
      const over = [ended.id, ended.parentId ?? ''];
      done.push(...over);
      lending.delete(ended.parentId ?? '');
      busy = busy.filter(({ id }) => !over.includes(id));
    }
  }
  expect(done.toSorted()).toEqual(parents.flatMap(({ id }) => [id, `${id}-child`]).toSorted());
});

const anyFamily = fc.uniqueArray(fc.record({ id: fc.nat(500), child: fc.boolean(), lends: fc.boolean() }), {
  selector: ({ id }) => id,
  maxLength: 60,
});

verifies('A-80').test('never more than maxJobs work at once, and no slot stays empty while somebody waits', () => {
  fc.assert(
    fc.property(anyFamily, fc.nat(60), fc.integer({ min: 1, max: 12 }), (family, cut, maxJobs) => {
      const jobs = family.map(({ id, child }) => job(String(id), child ? 'p' : undefined));
      const busy = jobs.slice(0, Math.min(cut, maxJobs));
      const queued = jobs.slice(busy.length);
      const lending = new Set(family.filter(({ lends }) => lends).map(({ id }) => String(id)));
      const started = nextToStart({ queued, busy, lending, maxJobs });
      const working = busy.filter(({ id }) => !lending.has(id)).length + started.length;
      expect(working).toBe(Math.min(maxJobs, busy.filter(({ id }) => !lending.has(id)).length + queued.length));
      expect(new Set(started).size).toBe(started.length);
      expect(started.every((begun) => queued.includes(begun))).toBe(true);
    }),
  );
});
