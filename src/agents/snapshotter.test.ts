import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { aQuestion, CANARY, ends, says, TestStorage } from '../../test/support/job-storage.ts';
import { type ManualClock, manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { limited } from '../base/log.ts';
import { createSafeDir } from '../base/safe-dir.ts';
import type { EventBody } from '../protocol/events.ts';
import { type PersistenceHook, type Snapshot, SnapshotFile } from '../store/snapshot-file.ts';
import type { Store } from '../store/store.ts';
import type { JobRuntime } from './job-runtime.ts';
import { Snapshotter, takeSnapshot } from './snapshotter.ts';

let storage: TestStorage;
let dir: string;
let store: Store;
let clock: ManualClock;
beforeEach(() => {
  storage = new TestStorage(manualClock());
  ({ dir, store, clock } = storage);
});
afterEach(() => {
  vi.useRealTimers();
  storage.close();
});

const redact = <T>(value: T): T => storage.log.redact(value);
const killed = ends('killed');
const stale: EventBody = {
  type: 'error',
  payload: { scope: 'process', fatal: true, code: 'exit_unknown', retryable: false, message: 'Unknown' },
};
function add(id: string, ...bodies: EventBody[]): void {
  storage.addJob(id, { status: 'queued' });
  storage.tell(id, ...bodies);
}
const name = (n: number) => `J${String(n).padStart(3, '0')}`;
const jobIds = (jobs: Snapshot['active']) => jobs.map(({ id }) => id);

/** Counts what reaches the file; `holdUp` stands for a slow disk. */
class CountingHook implements PersistenceHook {
  readonly #file = new SnapshotFile(join(dir, 'state.json'));
  readonly savedAt: number[] = [];
  atOnce = 0;
  most = 0;
  holdUp: Promise<void> | undefined;

  load() {
    return this.#file.load();
  }

  async save(snapshot: Snapshot): Promise<void> {
    this.savedAt.push(Date.now());
    this.atOnce += 1;
    this.most = Math.max(this.most, this.atOnce);
    await this.holdUp;
    await this.#file.save(snapshot);
    this.atOnce -= 1;
  }
}

/** Time passes for timers while files are written for real. */
async function pass(ms: number, isDone: () => boolean): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  const deadline = performance.now() + 10_000;
  while (!isDone() && performance.now() < deadline) await nextTurn();
  await nextTurn();
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const fakeTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
const rethrow = (error: unknown) => {
  throw error;
};

describe('what a snapshot holds', async () => {
  verifies('A-63', 'Q-10').test('active jobs, those that ended last, and the newest events of each', async () => {
    add('A', says('hello'));
    add('B', says('bye'), killed);
    const snapshot = await takeSnapshot({ store, clock, redact });
    const [a, b] = [store.jobs.get<JobRuntime>('A'), store.jobs.get<JobRuntime>('B')];
    expect(snapshot).toEqual({
      version: 1,
      writtenAt: '2026-01-01T00:00:00.000Z',
      lastSeq: 3,
      active: [a?.job],
      completed: [b?.job],
      tails: { A: store.events.tail('A', 10), B: store.events.tail('B', 10) },
      runtimes: { A: a?.runtime, B: b?.runtime },
      questions: [],
      outbox: [],
    });
  });

  verifies('Q-10', 'A-25', 'A-147').test(
    'the 21st job that ends evicts the oldest with everything held for it',
    async () => {
      for (let n = 1; n <= 20; n++) add(name(n), says('x'), n % 2 === 0 ? killed : stale);
      const before = await takeSnapshot({ store, clock, redact });
      add(name(0), says('x'), killed);
      const after = await takeSnapshot({ store, clock, redact });
      const last = (of: Snapshot) => [
        jobIds(of.completed),
        Object.keys(of.tails).sort(),
        Object.keys(of.runtimes).sort(),
      ];
      const twenty = Array.from({ length: 20 }, (_, n) => name(n + 1));
      const newest = [...twenty.slice(1), name(0)];
      expect([last(before), last(after)]).toEqual([
        [twenty.toReversed(), twenty, twenty],
        [newest.toReversed(), newest.toSorted(), newest.toSorted()],
      ]);
    },
  );

  verifies('Q-10').test('a tail has 200 events at most', async () => {
    add('A', ...Array.from({ length: 250 }, (_, n) => says(String(n))));
    const tail = (await takeSnapshot({ store, clock, redact })).tails.A ?? [];
    expect(tail.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, n) => n + 51));
  });

  verifies('Q-10').test('a tail has 64 KiB at most, in bytes and not in characters', async () => {
    add('A', ...Array.from({ length: 100 }, () => says('语'.repeat(1000))));
    const tail = (await takeSnapshot({ store, clock, redact })).tails.A ?? [];
    const size = tail.reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)), 0);
    expect({ fits: size <= 64 * 1024, isFull: size > 60 * 1024, newest: tail.at(-1)?.seq }).toEqual({
      fits: true,
      isFull: true,
      newest: 100,
    });
  });

  test('the newest event is kept whatever its size: the log goes on from there', async () => {
    // Exactly the cap of a payload: with its place and time it is more than a tail may hold.
    add('A', says('small'), says('x'.repeat(64 * 1024 - JSON.stringify(says('').payload).length)));
    expect((await takeSnapshot({ store, clock, redact })).tails.A?.map(({ seq }) => seq)).toEqual([2]);
  });
});

describe('when it is written', () => {
  verifies('A-146', 'Q-11').test(
    '10,000 changes in ten seconds are ten writes a second apart, each whole',
    async () => {
      fakeTimers();
      const hook = new CountingHook();
      const snapshotter = new Snapshotter({ store, redact, hook, clock, onFailure: rethrow });
      add('A', says('x'));
      const lastSeqs: number[] = [];
      for (let step = 1; step <= 100; step++) {
        for (let n = 0; n < 100; n++) snapshotter.changed();
        storage.tell('A', says(`step ${step}`));
        await pass(100, () => hook.savedAt.length === Math.floor(step / 10) && hook.atOnce === 0);
        if (step % 10 === 0) lastSeqs.push((await hook.load())?.lastSeq ?? 0);
      }
      const gaps = hook.savedAt.slice(1).map((at, index) => at - (hook.savedAt[index] ?? 0));
      expect({ gaps, most: hook.most, lastSeqs }).toEqual({
        gaps: Array.from({ length: 9 }, () => 1000),
        most: 1,
        lastSeqs: Array.from({ length: 10 }, (_, n) => 11 + 10 * n),
      });
      await snapshotter.close();
    },
  );

  verifies('Q-11').test('a slow disk makes no queue of writes: one is under way, one more follows', async () => {
    fakeTimers();
    const hook = new CountingHook();
    const { promise, resolve } = Promise.withResolvers<void>();
    hook.holdUp = promise;
    const snapshotter = new Snapshotter({ store, redact, hook, clock, onFailure: rethrow });
    add('A', says('x'));
    for (let second = 0; second < 30; second++) {
      snapshotter.changed();
      await vi.advanceTimersByTimeAsync(1000);
    }
    hook.holdUp = undefined;
    resolve();
    await pass(0, () => hook.atOnce === 0);
    await pass(1000, () => hook.savedAt.length === 2 && hook.atOnce === 0);
    await pass(10_000, () => true);
    expect({ writes: hook.savedAt.length, most: hook.most }).toEqual({ writes: 2, most: 1 });
    await snapshotter.close();
  });

  verifies('Q-11').test('nothing changed, nothing written', async () => {
    fakeTimers();
    const hook = new CountingHook();
    const snapshotter = new Snapshotter({ store, redact, hook, clock, onFailure: rethrow });
    snapshotter.changed();
    await pass(1000, () => hook.savedAt.length === 1 && hook.atOnce === 0);
    await pass(60_000, () => true);
    expect(hook.savedAt).toHaveLength(1);
    await snapshotter.close();
  });

  verifies('A-63').test('closing writes the last state at once', async () => {
    const hook = new CountingHook();
    const snapshotter = new Snapshotter({ store, redact, hook, clock, onFailure: rethrow });
    snapshotter.changed();
    add('A', says('the last word'));
    await snapshotter.close();
    expect(await hook.load()).toEqual(await takeSnapshot({ store, clock, redact }));
  });

  verifies('X-50').test(
    'neither the file nor the copy that agents can read shows a secret that is on its way to one of them',
    async () => {
      mkdirSync(join(dir, 'repo'));
      const file = new SnapshotFile(join(dir, 'state.json'), createSafeDir(join(dir, 'repo')));
      add('A', says('one'));
      const own = { jobId: 'A', launch: 1, askedAt: clock.now().toISOString(), line: { offset: 0, bytes: 1 } } as const;
      const password = aQuestion('1#0', { requestId: '1', secret: true });
      store.questions.insert({ ...own, question: password, state: 'answered', answer: { answer: 'typed password' } });
      store.questions.insert({
        ...own,
        question: aQuestion('2#0', { requestId: '2' }),
        state: 'answered',
        answer: { answer: 'plain' },
      });
      for (const [ref, text] of [
        ['m', `use ${CANARY}`],
        ['1', 'typed password'],
        ['2', 'plain'],
      ] as const)
        store.outbox.insert({ key: ref, jobId: 'A', ref, state: 'new', doc: { text } });
      await file.save(await takeSnapshot({ store, clock, redact }));
      const [home, copy] = [join(dir, 'state.json'), join(dir, 'repo', 'state.json')].map((path) =>
        readFileSync(path, 'utf8'),
      );
      expect(
        [home, copy].map((text) => [CANARY, 'typed password', 'plain'].filter((word) => text?.includes(word))),
      ).toEqual([['plain'], []]);
      const kept = await file.load();
      expect(kept?.questions.map(({ state }) => state)).toEqual(['open', 'answered']);
      expect(kept?.outbox.map(({ doc }) => doc)).toEqual([{ text: 'use [redacted]' }, { text: 'plain' }]);
    },
  );

  verifies('Q-11').test('the file is the old or the new one, private, and leaves nothing beside it', async () => {
    const file = new SnapshotFile(join(dir, 'state.json'));
    add('A', says('one'));
    await file.save(await takeSnapshot({ store, clock, redact }));
    const old = readFileSync(join(dir, 'state.json'), 'utf8');
    storage.tell('A', ...Array.from({ length: 100 }, (_, n) => says(`two ${n}`)));
    const seen = new Set<string>();
    let isSaved = false;
    const saving = file.save(await takeSnapshot({ store, clock, redact })).finally(() => {
      isSaved = true;
    });
    while (!isSaved) {
      seen.add(readFileSync(join(dir, 'state.json'), 'utf8'));
      await nextTurn();
    }
    await saving;
    const now = readFileSync(join(dir, 'state.json'), 'utf8');
    expect([...seen].filter((text) => text !== old && text !== now)).toEqual([]);
    expect({
      mode: statSync(join(dir, 'state.json')).mode & 0o777,
      files: readdirSync(dir).filter((entry) => !entry.startsWith('reef.db')),
      isNew: now !== old,
    }).toEqual({ mode: 0o600, files: ['state.json'], isNew: true });
  });
});

describe('a write that fails', () => {
  verifies('Q-05').test('is told once a minute with a count, holds nobody up, and the next one is tried', async () => {
    fakeTimers();
    let tries = 0;
    const disk: PersistenceHook = {
      load: async () => null,
      save: async () => {
        tries += 1;
        throw new Error('no space');
      },
    };
    const told: [string, number][] = [];
    const onFailure = limited({ monotonicMs: () => Date.now() }, (error: unknown, count) =>
      told.push([String(error), count]),
    );
    const snapshotter = new Snapshotter({ store, redact, hook: disk, clock, onFailure });
    for (let second = 0; second < 125; second++) {
      expect(snapshotter.changed()).toBe(undefined);
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect({ tries, told }).toEqual({
      tries: 125,
      told: [
        ['Error: no space', 1],
        ['Error: no space', 60],
        ['Error: no space', 60],
      ],
    });
    await snapshotter.close();
  });

  verifies('Q-05').test('is made good by the next one', async () => {
    const failed: unknown[] = [];
    const hook = new SnapshotFile(join(dir, 'gone', 'state.json'));
    const snapshotter = new Snapshotter({ store, redact, hook, clock, onFailure: (error) => failed.push(error) });
    await snapshotter.close();
    mkdirSync(join(dir, 'gone'));
    await snapshotter.close();
    expect({ failed, saved: await hook.load() }).toEqual({
      failed: [expect.objectContaining({ code: 'ENOENT' })],
      saved: await takeSnapshot({ store, clock, redact }),
    });
  });
});
