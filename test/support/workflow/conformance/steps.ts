import assert from 'node:assert/strict';
import { ReefError } from '../../../../src/protocol/errors.ts';
import type { DurableEngine } from '../../../../src/workflow/durable/durable-engine.ts';
import {
  answeredAfterLoss,
  type ConformanceCase,
  codeOf,
  completed,
  entriesOf,
  forEver,
  ID,
  keysOf,
  type Scope,
} from './harness.ts';

export const stepCases: ConformanceCase[] = [
  {
    name: 'a run goes through its steps in order and keeps every result',
    ids: ['W-70'],
    async run(harness) {
      const engine = await harness.open();
      engine.define('sum', async (d, input) => {
        const a = await d.step('a', input, async () => 1);
        return (await d.step('b', a, async () => a + 1)) + 10;
      });
      await engine.start('sum', ID, { of: 'two' });
      assert.deepEqual(await engine.result(ID), completed(12));
      const entries = (await entriesOf(engine)).map(({ n, kind, key, data }) => [n, kind, key, data.value]);
      assert.deepEqual(entries, [
        [1, 'start', '', { of: 'two' }],
        [2, 'step', 'a', 1],
        [3, 'step', 'b', 2],
        [4, 'end', '', 12],
      ]);
    },
  },
  {
    name: 'a recorded step is not run again, an unrecorded one is, with the same effect key and the next attempt',
    ids: ['W-70', 'F-05'],
    async run(harness) {
      const calls: string[] = [];
      const body = (isFirst: boolean) => async (d: Scope) => {
        await d.step('kept', null, async ({ effectKey, attempt }) => calls.push(`${effectKey} ${attempt}`));
        return d.step('lost', null, async ({ effectKey, attempt, abort }) => {
          calls.push(`${effectKey} ${attempt}`);
          return isFirst ? forEver(abort) : 'done';
        });
      };
      const first = await harness.open();
      first.define('w', body(true));
      await first.start('w', ID, null);
      await harness.until(() => calls.length === 2);
      await harness.lose(first);
      const second = await harness.open();
      second.define('w', body(false));
      assert.deepEqual(await second.recover(), [ID]);
      assert.deepEqual(await second.result(ID), completed('done'));
      assert.deepEqual(calls, [`${ID}/kept 1`, `${ID}/lost 1`, `${ID}/lost 2`]);
      assert.deepEqual(await keysOf(second), ['start', 'step kept', 'step lost', 'end']);
    },
  },
  {
    name: 'a step that throws is recorded, and throws the same at a replay',
    ids: ['W-70'],
    async run(harness) {
      let calls = 0;
      const define = (engine: DurableEngine) =>
        engine.define('w', async (d) => {
          const code = await codeOf(
            d.step('bad', null, async () => {
              calls += 1;
              throw new ReefError('git_locked', 'held');
            }),
          );
          await d.waitFor('go', null);
          return code;
        });
      const second = await answeredAfterLoss(harness, define, 'go');
      assert.deepEqual(await second.result(ID), completed('git_locked'));
      assert.equal(calls, 1);
    },
  },
  {
    name: 'a body that throws ends the run as failed, visibly',
    ids: ['W-70'],
    async run(harness) {
      const engine = await harness.open();
      engine.define('w', async () => {
        throw new ReefError('bad_request', 'no');
      });
      await engine.start('w', ID, null);
      assert.deepEqual(await engine.result(ID), { status: 'failed', code: 'bad_request', message: 'no' });
    },
  },
  {
    name: 'a large result is whole again at a replay and its entry is small',
    ids: ['W-75'],
    async run(harness) {
      const large = 'ß'.repeat(300_000);
      const define = (engine: DurableEngine) =>
        engine.define('w', async (d) => {
          const text = await d.step('large', null, async () => ({ text: large }));
          await d.waitFor('go', null);
          return text;
        });
      const second = await answeredAfterLoss(harness, define, 'go');
      assert.deepEqual(await second.result(ID), completed({ text: large }));
    },
  },
];
