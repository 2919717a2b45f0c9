import assert from 'node:assert/strict';
import type { Body } from '../../../../src/workflow/durable/durable.ts';
import { type ConformanceCase, completed, type Harness, ID, keysOf, type Scope } from './harness.ts';

export const placeCases: ConformanceCase[] = [
  {
    name: 'a key met again with another input stands still and executes nothing',
    ids: ['W-71', 'F-03'],
    run: (harness) => mismatch(harness, async (d) => d.step('a', 'other', async () => 'ran')),
  },
  {
    name: 'a key met at another place stands still and executes nothing',
    ids: ['W-71', 'F-03'],
    run: (harness) =>
      mismatch(harness, async (d) => {
        await d.step('b', null, async () => 'ran');
        return null;
      }),
  },
  {
    name: 'a key used twice in one body stands still and executes nothing',
    ids: ['W-71', 'F-03'],
    async run(harness) {
      let calls = 0;
      const engine = await harness.open();
      engine.define('w', async (d) => {
        await d.step('a', null, async () => ++calls);
        return d.step('a', null, async () => ++calls);
      });
      await engine.start('w', ID, null);
      const end = await engine.result(ID);
      assert.deepEqual([end.status, calls], ['stuck', 1]);
    },
  },
  {
    name: 'the program that wrote the journal can go on after another one was refused',
    ids: ['W-71', 'F-03'],
    async run(harness) {
      await mismatch(harness, async (d) => d.step('a', 'other', async () => 'ran'));
      const engine = await harness.open();
      engine.define('w', recorded);
      await engine.recover();
      await engine.answer(ID, 'go', 'a', 'on');
      assert.deepEqual(await engine.result(ID), completed('on'));
    },
  },
];

const recorded: Body = async (d) => {
  await d.step('a', 'input', async () => 1);
  return (await d.waitFor('go', null)) ?? null;
};

async function mismatch(harness: Harness, changed: Body): Promise<void> {
  const ran: string[] = [];
  const first = await harness.open();
  first.define('w', recorded);
  await first.start('w', ID, null);
  await harness.until(async () => (await keysOf(first)).includes('wait go'));
  await harness.lose(first);
  const second = await harness.open();
  second.define('w', (d, input) =>
    changed(
      {
        ...bound(d),
        step: (key, of, fn) =>
          d.step(key, of, (scope) => {
            ran.push(key);
            return fn(scope);
          }),
      },
      input,
    ),
  );
  await second.recover();
  const end = await second.result(ID);
  assert.deepEqual([end.status, 'code' in end && end.code, ran], ['stuck', 'journal_mismatch', []]);
  await harness.lose(second);
}

function bound(d: Scope): Scope {
  return {
    step: d.step.bind(d),
    waitFor: d.waitFor.bind(d),
    sleepUntil: d.sleepUntil.bind(d),
    child: d.child.bind(d),
  };
}
