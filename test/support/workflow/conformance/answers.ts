import assert from 'node:assert/strict';
import type { DurableEngine } from '../../../../src/workflow/durable/durable-engine.ts';
import { type ConformanceCase, codeOf, completed, ID, keysOf } from './harness.ts';

export const answerCases: ConformanceCase[] = [
  {
    name: 'an answer wakes its wait; the first wins, the same again is a duplicate, another is late',
    ids: ['W-72', 'F-05'],
    async run(harness) {
      const engine = await harness.open();
      engine.define('w', async (d) => (await d.waitFor('q', { ask: 'what?' })) ?? 'nothing');
      await engine.start('w', ID, null);
      await harness.until(async () => (await keysOf(engine)).includes('wait q'));
      const said = [
        await engine.answer(ID, 'q', 'one', 'first'),
        await engine.answer(ID, 'q', 'one', 'first'),
        await engine.answer(ID, 'q', 'two', 'second'),
      ];
      assert.deepEqual(said, ['taken', 'duplicate', 'late']);
      assert.deepEqual(await engine.result(ID), completed('first'));
      assert.equal(await engine.answer(ID, 'other', 'three', 'x'), 'late');
      assert.equal(await codeOf(engine.answer('nobody', 'q', 'a', null)), 'run_not_found');
    },
  },
  {
    name: 'an answer that came before its wait is found',
    ids: ['W-72', 'F-05'],
    async run(harness) {
      const engine = await harness.open();
      engine.define('w', async (d) => {
        await d.waitFor('first', null);
        return (await d.waitFor('second', null)) ?? null;
      });
      await engine.start('w', ID, null);
      assert.equal(await engine.answer(ID, 'second', 'a', 'early'), 'taken');
      assert.equal(await engine.answer(ID, 'first', 'b', null), 'taken');
      assert.deepEqual(await engine.result(ID), completed('early'));
    },
  },
  {
    name: 'of two answers at once one is taken',
    ids: ['W-72'],
    async run(harness) {
      const engine = await harness.open();
      engine.define('w', async (d) => (await d.waitFor('q', null)) ?? null);
      await engine.start('w', ID, null);
      const said = await Promise.all(['a', 'b', 'c'].map((id) => engine.answer(ID, 'q', id, id)));
      assert.deepEqual(said.filter((word) => word === 'taken').length, 1);
      assert.deepEqual(await engine.result(ID), completed(['a', 'b', 'c'][said.indexOf('taken')] ?? ''));
    },
  },
  {
    name: 'a wait and its answer survive the loss of the engine, whichever came first',
    ids: ['W-72', 'F-05'],
    async run(harness) {
      const define = (engine: DurableEngine) =>
        engine.define('w', async (d) => (await d.waitFor('q', 'which?')) ?? null);
      const first = await harness.open();
      define(first);
      await first.start('w', ID, null);
      await harness.until(async () => (await keysOf(first)).includes('wait q'));
      await harness.lose(first);
      const second = await harness.open();
      assert.equal(await second.answer(ID, 'q', 'a', 'while nobody ran it'), 'taken');
      define(second);
      await second.recover();
      assert.deepEqual(await second.result(ID), completed('while nobody ran it'));
    },
  },
  {
    name: 'a wait until a time gives undefined then, for good',
    ids: ['W-72'],
    async run(harness) {
      const engine = await harness.open();
      const until = new Date(harness.now().getTime() + 1_000).toISOString();
      engine.define('w', async (d) => {
        const answer = await d.waitFor('q', null, { until });
        return [answer === undefined, (await d.waitFor('last', null)) ?? null];
      });
      await engine.start('w', ID, null);
      await harness.until(async () => (await keysOf(engine)).includes('wait q'));
      await harness.sleeping();
      await harness.advance(1_000);
      await harness.until(async () => (await keysOf(engine)).includes('wait last'));
      assert.equal(await engine.answer(ID, 'q', 'a', 'too late'), 'late');
      await engine.answer(ID, 'last', 'b', 'end');
      assert.deepEqual(await engine.result(ID), completed([true, 'end']));
    },
  },
];
