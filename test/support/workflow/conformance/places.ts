import assert from 'node:assert/strict';
import type { Json } from '../../../../src/protocol/workflow.ts';
import type { Body, WaitOptions } from '../../../../src/workflow/durable/durable.ts';
import { type ConformanceCase, completed, entriesOf, type Harness, ID, keysOf, type Scope } from './harness.ts';

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
  {
    name: 'a question in other words is the same question, also in a journal whose program compared every word',
    ids: ['W-71', 'F-03'],
    async run(harness) {
      // Written before and read now; written now and read before.
      const programs = [{}, { compared: nameOf }];
      for (const [n, options] of programs.entries()) {
        const id = `${ID}-${n}`;
        await asks(harness, id, { name: 'budget', words: `spent ${n}` }, options);
        const engine = await harness.open();
        const words = n === 0 ? 'it is used up' : `spent ${n}`;
        engine.define('w', async (d) => (await d.waitFor('go', { name: 'budget', words }, programs[1 - n])) ?? null);
        await engine.recover();
        await engine.answer(id, 'go', 'a', 'on');
        assert.deepEqual(await engine.result(id), completed('on'));
        await harness.lose(engine);
      }
    },
  },
  {
    name: 'another question at the same place stands still',
    ids: ['W-71', 'F-03'],
    async run(harness) {
      await asks(harness, ID, { name: 'budget', words: 'spent' }, { compared: nameOf });
      const engine = await harness.open();
      engine.define('w', async (d) => (await d.waitFor('go', { name: 'other' }, { compared: nameOf })) ?? null);
      await engine.recover();
      const end = await engine.result(ID);
      assert.deepEqual([end.status, 'code' in end && end.code], ['stuck', 'journal_mismatch']);
    },
  },
];

const nameOf = (question: Json) => (question as { name: string }).name;

/** A run that comes to its question, and is lost there. */
async function asks(harness: Harness, id: string, question: Json, options: WaitOptions): Promise<void> {
  const engine = await harness.open();
  engine.define('w', async (d) => (await d.waitFor('go', question, options)) ?? null);
  await engine.start('w', id, null);
  await harness.until(async () => (await entriesOf(engine, id)).some(({ kind }) => kind === 'wait'));
  await harness.lose(engine);
}

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
