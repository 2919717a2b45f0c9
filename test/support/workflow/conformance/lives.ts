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

export const lifeCases: ConformanceCase[] = [
  {
    name: 'a second start of a run joins it, and is refused with another input',
    ids: ['W-74', 'F-02'],
    async run(harness) {
      const engine = await harness.open();
      let calls = 0;
      engine.define('w', async (d) => d.step('a', null, async () => ++calls));
      await engine.start('w', ID, { x: 1 });
      await engine.start('w', ID, { x: 1 });
      assert.equal(await codeOf(engine.start('w', ID, { x: 2 })), 'run_exists');
      assert.deepEqual(await engine.result(ID), completed(1));
      await engine.start('w', ID, { x: 1 });
      assert.deepEqual([await keysOf(engine), calls], [['start', 'step a', 'end'], 1]);
    },
  },
  {
    name: 'recover takes up each unfinished run once, and no ended one',
    ids: ['W-74'],
    async run(harness) {
      const define = (engine: DurableEngine) =>
        engine.define('w', async (d, input) => (input === 'waits' ? ((await d.waitFor('q', null)) ?? null) : null));
      const first = await harness.open();
      define(first);
      await first.start('w', 'ended', null);
      await first.result('ended');
      for (const id of ['one', 'two']) await first.start('w', id, 'waits');
      await harness.until(async () => (await entriesOf(first, 'two')).length === 2);
      await harness.lose(first);
      const second = await harness.open();
      define(second);
      assert.deepEqual([await second.recover(), await second.recover()], [['one', 'two'], []]);
      for (const id of ['one', 'two']) await second.answer(id, 'q', 'a', id);
      assert.deepEqual([await second.result('one'), await second.result('two')], [completed('one'), completed('two')]);
    },
  },
  {
    name: 'an engine that lost its claim records nothing, whatever still comes',
    ids: ['W-74'],
    async run(harness) {
      let release: (value: string) => void = () => {};
      const slow = new Promise<string>((resolve) => {
        release = resolve;
      });
      const define = (engine: DurableEngine, work: () => Promise<string>) =>
        engine.define('w', (d) => d.step('slow', null, work));
      const first = await harness.open();
      define(first, () => slow);
      await first.start('w', ID, null);
      await harness.until(async () => (await keysOf(first)).length === 1);
      const losing = harness.lose(first);
      release('from the one that lost');
      await losing;
      const second = await harness.open();
      assert.deepEqual(await keysOf(second), ['start']);
      define(second, async () => 'from its successor');
      await second.recover();
      assert.deepEqual(await second.result(ID), completed('from its successor'));
    },
  },
  {
    name: 'cancel aborts what is under way, reaches children, and twice is once; nobody revives it',
    ids: ['W-74', 'F-06'],
    async run(harness) {
      const aborted: string[] = [];
      const engine = await harness.open();
      let begun = 0;
      const hang = (d: Scope, key: string) =>
        d.step(key, null, ({ abort }) => {
          begun += 1;
          return forEver(abort).catch(() => String(aborted.push(key)));
        });
      engine.define('branch', async (d) => hang(d, 'in-child'));
      engine.define('w', async (d) => {
        const child = d.child('c', 'branch', null);
        await Promise.all([child, hang(d, 'in-run')]);
        return null;
      });
      await engine.start('w', ID, null);
      await harness.until(() => begun === 2);
      await engine.cancel(ID, 'enough');
      await engine.cancel(ID, 'again');
      assert.deepEqual(await engine.result(ID), { status: 'cancelled', reason: 'enough' });
      assert.deepEqual(aborted.sort(), ['in-child', 'in-run']);
      assert.deepEqual(await keysOf(engine), ['start', 'end']);
      assert.equal(await engine.answer(ID, 'q', 'a', null), 'late');
      await harness.lose(engine);
      const second = await harness.open();
      assert.deepEqual(await second.recover(), []);
      assert.equal(await codeOf(second.cancel('nobody', 'x')), 'run_not_found');
    },
  },
  {
    name: 'steps of different children overlap, and each child is run once',
    ids: ['W-75'],
    async run(harness) {
      const begun: string[] = [];
      let release: (value: null) => void = () => {};
      const gate = new Promise<null>((resolve) => {
        release = resolve;
      });
      const define = (engine: DurableEngine) => {
        engine.define('branch', async (d, input) => {
          await d.step(`${input}/s`, null, async () => {
            begun.push(String(input));
            if (begun.length === 2) release(null);
            return gate;
          });
          return `${input} done`;
        });
        engine.define('w', async (d) => {
          const both = await Promise.all(['a', 'b'].map((each) => d.child(each, 'branch', each)));
          await d.waitFor('go', null);
          return both.map((each) => each ?? null);
        });
      };
      const second = await answeredAfterLoss(harness, define, 'go');
      assert.deepEqual(await second.result(ID), completed(['a done', 'b done']));
      assert.deepEqual(begun.sort(), ['a', 'b']);
    },
  },
  {
    name: 'a child ended by its parent is over for good',
    ids: ['W-75'],
    async run(harness) {
      let begun = 0;
      const define = (engine: DurableEngine) => {
        engine.define('branch', (d) =>
          d.step('hangs', null, ({ abort }) => {
            begun += 1;
            return forEver(abort);
          }),
        );
        engine.define('w', async (d) => {
          const end = new AbortController();
          const child = d.child('c', 'branch', null, { abort: end.signal });
          end.abort(new Error('lost the race'));
          const isOver = (await child) === undefined;
          await d.waitFor('go', null);
          return isOver;
        });
      };
      const second = await answeredAfterLoss(harness, define, 'go');
      assert.deepEqual([await second.result(ID), begun <= 1], [completed(true), true]);
    },
  },
  {
    name: 'history goes on from the entry it is given',
    ids: ['W-75'],
    async run(harness) {
      const engine = await harness.open();
      engine.define('w', async (d) => (await d.waitFor('q', null)) ?? null);
      await engine.start('w', 'r1', null);
      await harness.until(async () => (await entriesOf(engine, 'r1')).length === 2);
      const later: number[] = [];
      for await (const { n } of engine.history('r1', 1)) later.push(n);
      assert.deepEqual(later, [2]);
    },
  },
  {
    name: 'a child that fails ends the run, and what ran beside it lets go',
    ids: ['W-74', 'F-06'],
    async run(harness) {
      const aborted: string[] = [];
      const engine = await harness.open();
      engine.define('fails', async () => {
        throw new ReefError('bad_request', 'no');
      });
      engine.define('hangs', (d) =>
        d.step('hang', null, ({ abort }) => forEver(abort).catch(() => String(aborted.push('hang')))),
      );
      engine.define('w', async (d) => {
        await Promise.all([d.child('a', 'hangs', null), d.child('b', 'fails', null)]);
        return null;
      });
      await engine.start('w', ID, null);
      assert.deepEqual(await engine.result(ID), { status: 'failed', code: 'bad_request', message: 'no' });
      await harness.until(() => aborted.length === 1);
      assert.deepEqual(await keysOf(engine), ['start', 'child b', 'end']);
    },
  },
];
