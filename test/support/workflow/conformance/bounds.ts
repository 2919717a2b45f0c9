import assert from 'node:assert/strict';
import type { DurableEngine } from '../../../../src/workflow/durable/durable-engine.ts';
import { type ConformanceCase, codeOf, completed, entriesOf, forEver, ID, keysOf } from './harness.ts';

/** Time, numbers, and what is listed meanwhile. */
export const boundCases: ConformanceCase[] = [
  {
    name: 'a sleep lasts over the loss of the engine, and a time that is past returns at once',
    ids: ['W-73'],
    async run(harness) {
      const at = new Date(harness.now().getTime() + 1_000).toISOString();
      let asleep = 0;
      const define = (engine: DurableEngine) =>
        engine.define('w', async (d) => {
          await d.sleepUntil('past', new Date(0).toISOString());
          asleep += 1;
          await d.sleepUntil('later', at);
          return harness.now().getTime() >= Date.parse(at);
        });
      const first = await harness.open();
      define(first);
      await first.start('w', ID, null);
      await harness.until(() => asleep === 1);
      await harness.sleeping();
      await harness.lose(first);
      const second = await harness.open();
      define(second);
      assert.deepEqual(await second.recover(), [ID]);
      await harness.until(() => asleep === 2);
      await harness.sleeping();
      await harness.advance(1_000);
      assert.deepEqual(await second.result(ID), completed(true));
      assert.deepEqual(await keysOf(second), ['start', 'step past', 'step later', 'end']);
    },
  },
  {
    name: 'a step whose time is up is told to end and fails, for good',
    ids: ['W-70'],
    async run(harness) {
      const told: string[] = [];
      const engine = await harness.open();
      engine.define('w', (d) =>
        codeOf(
          d.step('slow', null, ({ abort }) => forEver(abort).catch((error) => told.push(error.code)), {
            timeoutMs: 50,
          }),
        ),
      );
      await engine.start('w', ID, null);
      await harness.sleeping();
      await harness.advance(50);
      assert.deepEqual([await engine.result(ID), told], [completed('step_timeout'), ['step_timeout']]);
    },
  },
  {
    name: 'a loop of many visits is walked once, and again from its journal',
    ids: ['W-70'],
    async run(harness) {
      const visits = harness.visits;
      let calls = 0;
      const define = (engine: DurableEngine) =>
        engine.define('w', async (d) => {
          let sum = 0;
          for (let visit = 1; visit <= visits; visit++) {
            sum += await d.step(`main/loop#${visit}`, sum, async () => {
              calls += 1;
              return visit;
            });
          }
          await d.waitFor('go', null);
          return sum;
        });
      const first = await harness.open();
      define(first);
      await first.start('w', ID, null);
      await harness.until(async () => (await keysOf(first)).includes('wait go'));
      await harness.lose(first);
      const second = await harness.open();
      define(second);
      await second.recover();
      await second.answer(ID, 'go', 'a', null);
      assert.deepEqual([await second.result(ID), calls], [completed((visits * (visits + 1)) / 2), visits]);
    },
  },
  {
    name: 'an engine that closes ends no run, and one that is cancelled while it waits or sleeps ends at once',
    ids: ['W-74', 'F-06'],
    async run(harness) {
      const later = new Date(harness.now().getTime() + 3_600_000).toISOString();
      const define = (engine: DurableEngine) =>
        engine.define('w', async (d, kind) => {
          if (kind === 'asleep') await d.sleepUntil('long', later);
          if (kind === 'in child') return (await d.child('c', 'w', 'waits')) ?? null;
          return (await d.waitFor('q', null)) ?? null;
        });
      const kinds = ['asleep', 'in child', 'waits'];
      const first = await harness.open();
      define(first);
      for (const kind of kinds) await first.start('w', kind, kind);
      await harness.until(async () => (await entriesOf(first, 'waits')).length === 2);
      await harness.lose(first);
      const second = await harness.open();
      define(second);
      assert.deepEqual((await second.recover()).sort(), kinds);
      for (const kind of kinds) await second.cancel(kind, 'enough');
      const ends = await Promise.all(kinds.map((kind) => second.result(kind)));
      assert.deepEqual(
        ends,
        kinds.map(() => ({ status: 'cancelled', reason: 'enough' })),
      );
    },
  },
  {
    name: 'a list pages by id, whatever begins and ends meanwhile',
    ids: ['W-75'],
    async run(harness) {
      const engine = await harness.open();
      engine.define('w', async (d, input) => (input === 'waits' ? ((await d.waitFor('q', null)) ?? null) : null));
      const ids = Array.from({ length: 103 }, (_, index) => `r${String(index).padStart(3, '0')}`);
      for (const id of ids) await engine.start('w', id, id === 'r001' ? 'waits' : null);
      await Promise.all(ids.filter((id) => id !== 'r001').map((id) => engine.result(id)));
      const first = await engine.list({});
      await engine.start('w', 'r000-late', null);
      await engine.start('w', 'r999', null);
      await engine.result('r999');
      const rest = await engine.list({}, first.next);
      const running = await engine.list({ status: 'running' });
      assert.deepEqual(
        [...first.runs, ...rest.runs].map(({ runId }) => runId),
        [...ids, 'r999'],
      );
      assert.deepEqual(
        running.runs.map(({ runId, status }) => [runId, status]),
        [['r001', 'running']],
      );
      await engine.cancel('r001', 'done');
      assert.deepEqual(
        (await engine.list({ status: 'cancelled' })).runs.map(({ runId }) => runId),
        ['r001'],
      );
    },
  },
];
