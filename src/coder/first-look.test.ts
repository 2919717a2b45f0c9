import { expect } from 'vitest';
import { playTasks } from '../../bench/context/first-edit.ts';
import { call, done } from '../../test/support/coder/scene.ts';
import { sceneOfTest } from '../../test/support/coder/scene-of-test.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { ownTokens } from '../../test/support/own-tokens.ts';
import { verifies } from '../../test/support/verifies.ts';
import { textOf } from '../runtime/models/message.ts';

/** Many files that use the words of the task, and one that defines what it is about. */
const SHOP = {
  'src/billing/rounding.ts': `/** Rounds the price of an invoice to cents. */
export function roundInvoicePrice(price: number): number {
  return Math.floor(price * 100) / 100;
}
`,
  ...Object.fromEntries(
    Array.from({ length: 6 }, (_, n) => [
      `src/pages/page-${n}.ts`,
      `import { roundInvoicePrice } from '../billing/rounding.ts';\n// The invoice page ${n} shows the price of an invoice; customers pay the price on the invoice.\nexport const page${n} = (invoice: { price: number }) => 'price of the invoice: ' + roundInvoicePrice(invoice.price);\n`,
    ]),
  ),
};
const TASK = {
  task: 'The price on an invoice is rounded down, it should be rounded to the nearest cent',
  path: 'src/billing/rounding.ts',
  line: 'return Math.floor(price * 100) / 100;',
};

verifies('C-065', 'S-29', 'S-52').test(
  'the first prompt shows the code that the task is about, so that the first right edit comes in fewer calls',
  async () => {
    const rows = await playTasks(SHOP, [TASK]);
    const [row] = rows;
    expect(row?.with.calls).toBe(2);
    expect(row?.without.calls).toBeGreaterThan(2);
    expect([row?.without.shown, (row?.with.shown ?? 0) > 100, (row?.with.shown ?? 0) <= 2_000]).toEqual([
      0,
      true,
      true,
    ]);
  },
  120_000,
);

verifies('S-28', 'S-29', 'S-52').test(
  'what is shown stays within its tokens, counts as text of the project, stands in later prompts, and is asked for once',
  async () => {
    let asked = 0;
    const askCode = async () => {
      asked += 1;
      return 'src/a.ts:1-9  matches\n'.concat('const shown = 1;\n'.repeat(2_000));
    };
    const parts = { firstLook: 1_000, askCode };
    const first = await sceneOfTest({ script: [call('list_files'), call('list_files')], parts });
    expect(await first.work()).toBe('script_exhausted');
    const shown = first.prompts.map((prompt) => prompt.map(textOf).filter((text) => text.includes('const shown')));
    expect([asked, shown.map((texts) => texts.length)]).toEqual([1, [1, 1, 1]]);
    const code = first.ledgers.map(({ segments }) => segments.find(({ kind }) => kind === 'code'));
    expect(code.map((each) => each?.provenance)).toEqual(['project', 'project']);
    expect(code.filter((each) => (each?.tokens ?? 0) > 1_000)).toEqual([]);
    expect(first.ledgers.filter((ledger) => ownTokens(ledger) >= 5_000)).toEqual([]);
    // The rest is one call away, and another process of the job shows the same without asking again.
    const [id = ''] = /a:\w{7}/.exec(shown[0]?.[0] ?? '') ?? [];
    expect((await first.artifacts.read(id)).text).toContain('const shown = 1;');
    await first.tracker.close();
    const next = await sceneOfTest({ root: first.root, turn: 0, script: [done()], parts });
    const log = first.news.slice(0, 2).map((payload) => ({ type: 'progress', payload }));
    next.coder.restore(log, { turn: 0, used: { tokens: 0, usd: 0 } });
    await next.work();
    expect([asked, next.prompts[0]?.map(textOf).filter((text) => text.includes('const shown'))]).toEqual([1, shown[0]]);
  },
);

verifies('S-54', 'S-29').test(
  'an index that does not answer in time holds nothing up, and the prompt says so',
  async () => {
    const clock = manualClock();
    const isAborted: boolean[] = [];
    const scene = await sceneOfTest({
      clock,
      script: [done()],
      parts: {
        firstLook: 2_000,
        askCode: (_tool, _args, signal) => {
          signal.addEventListener('abort', () => isAborted.push(true));
          void clock.advance(5_000);
          return new Promise(() => {});
        },
      },
    });
    expect(await scene.work()).toMatchObject({ endedBy: 'done' });
    const said = scene.prompts[0]?.map(textOf).filter((text) => text.includes('code index was not ready'));
    expect([said?.length, isAborted]).toEqual([1, [true]]);
    const without = await sceneOfTest({ script: [done()], parts: { firstLook: 2_000 } });
    expect(await without.work()).toMatchObject({ endedBy: 'done' });
    expect(without.prompts[0]?.map(textOf).join('\n')).toContain('code index was not ready');
  },
);
