import fc from 'fast-check';
import { expect } from 'vitest';
import { scale } from '../../test/support/scale.ts';
import { verifies } from '../../test/support/verifies.ts';
import { decide, type QueueItem } from './queue.ts';

const item = (id: string, since: number, more: Partial<QueueItem> = {}): QueueItem => ({
  ...{ id, since, state: 'waiting', overtaken: 0, anyway: false },
  ...more,
});
/** The letters of an id are the files it touches: `ab1` and `bc2` clash. */
const share = (one: string, other: string) => [...one].some((sign) => /[a-z]/.test(sign) && other.includes(sign));

verifies('T-20').test('tasks run side by side, and one waits only for those it clashes with', () => {
  const items = [item('a', 0, { state: 'active' }), item('ab', 1), item('c', 2), item('bd', 3), item('e', 4)];
  expect(decide(items, share, 8)).toEqual({
    start: ['c', 'e'],
    overtaken: [],
    waiting: [
      { id: 'ab', waitsFor: ['a'] },
      { id: 'bd', waitsFor: ['ab'] },
    ],
  });
});

verifies('T-20').test('room is for those with a folder; a held one blocks without taking any', () => {
  const items = [
    item('a', 0, { state: 'active' }),
    item('b', 1, { state: 'held' }),
    item('b2', 2),
    item('c', 3),
    item('d', 4),
  ];
  expect(decide(items, share, 2)).toEqual({
    start: ['c'],
    overtaken: [],
    waiting: [
      { id: 'b2', waitsFor: ['b'] },
      { id: 'd', waitsFor: [] },
    ],
  });
});

verifies('T-21').test('waiters of one clash go by priority, then by time', () => {
  const items = [
    item('a1', 0),
    item('a2', 1, { priority: 2 }),
    item('a3', 2, { priority: 1 }),
    item('a4', 3, { priority: 2 }),
  ];
  const { start, waiting, overtaken } = decide(items, share, 8);
  expect([start, waiting.map(({ id }) => id), overtaken]).toEqual([['a3'], ['a2', 'a4', 'a1'], ['a2', 'a1']]);
});

verifies('T-21').test('after three overtakes a waiter goes first, and one that goes anyway waits for nobody', () => {
  const items = [item('a1', 0, { overtaken: 3 }), item('a2', 1, { priority: 1 }), item('a3', 2, { anyway: true })];
  const { start, waiting } = decide(items, share, 8);
  expect([start, waiting]).toEqual([['a1', 'a3'], [{ id: 'a2', waitsFor: ['a1'] }]]);
});

/** A whole life of the queue in memory: every task comes, starts once, and ends. */
class Model {
  readonly items = new Map<string, QueueItem>();
  readonly started: string[] = [];
  #clock = 0;

  submit(id: string, more: Partial<QueueItem>): void {
    if (this.items.has(id) || this.started.includes(id)) return;
    this.items.set(id, item(id, this.#clock++, more));
    this.evaluate();
  }

  end(id: string): void {
    if (this.items.get(id)?.state === 'waiting') return;
    this.items.delete(id);
    this.evaluate();
  }

  hold(id: string): void {
    const held = this.items.get(id);
    if (held?.state === 'active') this.items.set(id, { ...held, state: 'held' });
    this.evaluate();
  }

  evaluate(): void {
    const { start, overtaken } = decide([...this.items.values()], share, 3);
    for (const id of start) {
      const waiting = this.items.get(id);
      if (waiting) this.items.set(id, { ...waiting, state: 'active' });
      this.started.push(id);
    }
    for (const id of overtaken) {
      const waiting = this.items.get(id);
      if (waiting) this.items.set(id, { ...waiting, overtaken: waiting.overtaken + 1 });
    }
    this.check();
  }

  check(): void {
    const busy = [...this.items.values()].filter(({ state }) => state !== 'waiting');
    const pairs = busy.flatMap((one, index) => busy.slice(index + 1).map((other) => [one, other] as const));
    expect(pairs.filter(([one, other]) => !one.anyway && !other.anyway && share(one.id, other.id))).toEqual([]);
    expect(busy.filter(({ state }) => state === 'active').length).toBeLessThanOrEqual(3);
  }
}

const RUNS = scale('T-22', { test: 1_000, faults: 5_000, soak: 50_000 });

verifies('T-22', 'T-20').test(
  `in ${RUNS} random orders every task starts exactly once, and no two that clash at one time`,
  () => {
    const id = fc.tuple(fc.constantFrom('a', 'b', 'c', 'ab', 'bc', 'd'), fc.nat(9)).map(([files, n]) => `${files}${n}`);
    const step = fc.oneof(
      fc.record({
        do: fc.constant('submit' as const),
        id,
        priority: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
      }),
      fc.record({ do: fc.constantFrom('end' as const, 'hold' as const), id }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const model = new Model();
        const all = new Set<string>();
        for (const next of steps) {
          if (next.do === 'submit') {
            all.add(next.id);
            model.submit(next.id, next.priority === undefined ? {} : { priority: next.priority });
          } else model[next.do](next.id);
        }
        for (let left = 200; left > 0 && model.items.size > 0; left--) {
          const busy = [...model.items.values()].find(({ state }) => state !== 'waiting');
          expect(busy).toBeDefined();
          model.end(busy?.id ?? '');
        }
        expect([model.items.size, [...model.started].sort()]).toEqual([0, [...all].sort()]);
      }),
      { numRuns: RUNS },
    );
  },
);

verifies('T-21').test('nobody is overtaken more than three times', () => {
  const model = new Model();
  model.submit('a0', { priority: 1 });
  model.submit('a1', { priority: 9 });
  for (let n = 2; n < 9; n++) {
    model.submit(`a${n}`, { priority: 1 });
    model.end(model.started.at(-1) ?? '');
  }
  expect(model.started.slice(0, 5)).toEqual(['a0', 'a2', 'a3', 'a4', 'a1']);
});
