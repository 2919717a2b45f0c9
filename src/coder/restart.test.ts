import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, calls, done } from '../../test/support/coder/scene.ts';
import { sceneOfTest } from '../../test/support/coder/scene-of-test.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { loadTokenCounter } from '../base/tokens.ts';
import type { ContextNews } from '../protocol/repostate.ts';
import type { Ledger } from '../repostate/prompt/ledger.ts';
import type { Message } from '../runtime/models/message.ts';
import { toExchange, toModelMessages } from './bounded-prompt.ts';
import { JobLog } from './job-log.ts';

verifies('S-19', 'S-22').test(
  'after a restart what the job had seen may be edited, what others changed meanwhile has to be read again',
  async () => {
    const first = await sceneOfTest({
      files: { 'a.txt': 'alpha\n', 'b.txt': 'beta\n', 'c.txt': 'gamma\n' },
      script: [
        calls(['read_file', { path: 'a.txt' }], ['read_file', { path: 'b.txt' }]),
        call('write_file', { path: 'd.txt', content: 'delta\n' }),
        call('todo', { op: 'set', items: ['go on'] }),
      ],
    });
    expect(await first.work()).toBe('script_exhausted');
    await first.tracker.close();
    writeFileSync(join(first.checkout, 'b.txt'), 'another beta\n');
    const second = await sceneOfTest({
      root: first.root,
      turn: 3,
      script: [
        ...['a.txt', 'b.txt', 'c.txt', 'd.txt'].map((path) =>
          call('edit_file', { path, old: 'ta\n', new: 'X\n', all: true }),
        ),
        call('todo', { op: 'complete', id: 'k1' }),
        done(),
      ],
    });
    second.coder.restore(
      first.news.map((payload) => ({ type: 'progress', payload })),
      { turn: 3, used: { tokens: 0, usd: 0 } },
    );
    expect(await second.work()).toMatchObject({ endedBy: 'done' });
    expect(
      second
        .results()
        .slice(0, 4)
        .map((line) => /"code":"(\w+)"/.exec(line)?.[1] ?? 'edited'),
    ).toEqual([
      'edit_not_found', // seen; it only does not hold the text
      'unread_file',
      'unread_file',
      'edited',
    ]);
    expect(second.ledgers[0]?.epoch).toBe(0);
  },
);

verifies('S-58').test('what an earlier process used counts towards the budget', async () => {
  const scene = await sceneOfTest({ script: [call('list_files'), done()] });
  scene.coder.restore([], { turn: 5, used: { tokens: 2_200_000, usd: 0 } });
  expect([await scene.work(), scene.asked.map(({ question }) => question)]).toEqual([
    'budget_exhausted',
    ['The budget is used up (5 turns, 2200000 tokens). What now?'],
  ]);
});

test('a plan that is set again is the plan there was, so that its ids stay', async () => {
  const plan = call('todo', { op: 'set', items: ['one', 'two'] });
  const scene = await sceneOfTest({
    script: [plan, call('todo', { op: 'start', id: 'k1' }), plan, call('todo', { op: 'set', items: ['three'] })],
  });
  await scene.work();
  expect(scene.results().slice(1)).toEqual([
    'todo: k1 [in_progress] one\nk2 [pending] two',
    'todo: k1 [in_progress] one\nk2 [pending] two',
    'todo: k3 [pending] three',
  ]);
});

test('a line that a crash tore costs nothing but itself', () => {
  const dir = temporaryFolder();
  const note = (turn: number) => ({ kind: 'context.noted', turn, why: 'delta', text: `note ${turn}` }) as const;
  const appended: ContextNews = { kind: 'context.appended', turn: 7, messages: [], called: [], thought: [] };
  const log = new JobLog(dir);
  const ledger: Ledger = { turn: 0, epoch: 0, mode: 'epoch', segments: [], exclusions: [], estimated: 9 };
  for (const input of [10, 20]) log.record(ledger, { input, cacheRead: 0, cacheWrite: 0 });
  log.append(note(1));
  log.append(appended);
  appendFileSync(join(dir, 'context-log.jsonl'), '{"type":"progress","pay');
  const again = new JobLog(dir);
  again.append(note(2));
  const told = again.read().map(({ payload }) => payload);
  expect([told, again.lastTurn(), again.used().tokens]).toEqual([[note(1), appended, note(2)], 7, 30]);
  expect(readFileSync(join(dir, 'context-log.jsonl'), 'utf8').split('\n')).toHaveLength(5);
});

verifies('S-59').test('text, opaque reasoning, calls and results pass through the prompt as they came', async () => {
  const counter = await loadTokenCounter();
  const thought = { type: 'reasoning' as const, text: 'hm', opaque: { signature: 'xyz' } };
  const reply: Message = {
    role: 'assistant',
    content: [
      thought,
      { type: 'text', text: 'Look.' },
      { type: 'tool_call', id: 'c1', name: 'read_file', arguments: { path: 'a' } },
      { type: 'tool_call', id: 'c2', name: 'list_files', arguments: 'no JSON' },
    ],
  };
  const results: Message = {
    role: 'tool',
    content: [
      { type: 'tool_result', id: 'c1', name: 'read_file', output: 'alpha' },
      { type: 'tool_result', id: 'c2', name: 'list_files', output: 'bad', isError: true },
    ],
  };
  const exchange = toExchange(3, { reply, results }, counter);
  const again = toModelMessages([
    { role: 'assistant', text: exchange.text, reasoning: [...(exchange.reasoning ?? [])], calls: [...exchange.calls] },
    ...exchange.results.map(({ id, text, isError }) => ({
      role: 'tool' as const,
      id,
      text,
      ...(isError && { isError }),
    })),
  ]);
  const [first, second, third, fourth] = reply.content;
  expect(again).toEqual([
    { role: 'assistant', content: [first, second, third, { ...fourth, arguments: { input: 'no JSON' } }] },
    results,
  ]);
});
