import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { loadTokenCounter } from '../../base/tokens.ts';
import { type CacheProfile, parametersFor } from './cache-profile.ts';
import { capExchange } from './cap-exchange.ts';
import { artifactId, cutEnd, cutMiddle, cutToTokens } from './caps.ts';
import { CacheWatch, type Ledger, ledgerLine, type Segment } from './ledger.ts';
import { countMessages, type Exchange } from './messages.ts';

const counter = await loadTokenCounter();
const lines = (count: number) => Array.from({ length: count }, (_, n) => `line ${n} of it`).join('\n');
const PROFILE: CacheProfile = {
  readFactor: 0.1,
  minPrefix: 1_024,
  ttlS: 300,
  reasoning: false,
};

verifies('S-37', 'S-39').test(
  'a cut keeps head and tail at line breaks and says what is missing and where it is',
  () => {
    const text = lines(1_000);
    const { text: cut, id } = cutMiddle(text, 400);
    const [, mark = ''] = /\n(\[.*\])\n/.exec(cut) ?? [];
    const [head = '', tail = ''] = cut.split(`\n${mark}\n`);
    expect([text.startsWith(`${head}\n`), text.endsWith(`\n${tail}`), id]).toEqual([true, true, artifactId(text)]);
    const removed = text.slice(head.length, text.length - tail.length);
    expect(mark).toBe(
      `[… ${removed.length.toLocaleString('en-US')} chars, ${removed.split('\n').length} lines: artifact_read "${id}"]`,
    );
    expect(cutMiddle('short', 400)).toEqual({ text: 'short' });
  },
);

verifies('S-39').test('a read is one piece with the offset to read on from', () => {
  const text = lines(1_000);
  const { text: cut, id } = cutEnd(text, 6_000);
  const [, offset] = /artifact_read "a:[0-9a-f]{7}" offset (\d+)\]$/.exec(cut) ?? [];
  expect(cut.startsWith(text.slice(0, Number(offset)))).toBe(true);
  expect([id, Number(offset) <= 6_000, Number(offset) > 5_800]).toEqual([artifactId(text), true, true]);
});

test('a cut splits no character, and a budget in tokens is kept even by one long line', () => {
  for (const text of ['😀'.repeat(3_000), 'x'.repeat(200_000), `${'日本'.repeat(4_000)}`]) {
    const cut = cutToTokens(counter, text, { tokens: 300 });
    expect(counter.count(cut.text)).toBeLessThanOrEqual(300);
    expect(cut.text.isWellFormed()).toBe(true);
    expect(cutMiddle(text, 501).text.isWellFormed()).toBe(true);
  }
});

function exchangeOf(command: string, size: number, kind: 'command' | 'read' | 'other' = 'command'): Exchange {
  return {
    turn: 0,
    text: '',
    calls: [{ id: 'c', tool: 't', args: { command } }],
    results: [{ id: 'c', kind, text: 'x\n'.repeat(size / 2) }],
  };
}

verifies('S-39').test('each kind of text has its cap, and a turn its share of the tail', () => {
  const shown = (exchange: Exchange, turnTokens = 100_000) => capExchange(exchange, { counter, turnTokens }).messages;
  const length = (exchange: Exchange) => Math.round((shown(exchange)[1]?.text.length ?? 0) / 1_000);
  expect([
    length(exchangeOf('npm test', 90_000)),
    length(exchangeOf('cd src && sed -n 1,99p a.ts', 90_000)),
    length(exchangeOf('', 90_000, 'read')),
    length(exchangeOf('', 90_000, 'other')),
  ]).toEqual([2, 3, 6, 3]);
  const [assistant] = shown({ ...exchangeOf('y'.repeat(66_000), 2), text: 'z'.repeat(66_000) });
  expect(assistant).toMatchObject({
    text: expect.stringContaining('artifact_read'),
    calls: [{ args: { command: expect.stringContaining('artifact_read') } }],
  });
  expect(JSON.stringify(assistant).length).toBeLessThan(8_600);
  const ids = Array.from({ length: 60 }, (_, n) => `c${n}`);
  const wide = shown(
    {
      turn: 0,
      text: '',
      calls: ids.map((id) => ({ id, tool: 't', args: {} })),
      results: ids.map((id) => ({ id, kind: 'read', text: lines(90) })),
    },
    2_500,
  );
  expect(countMessages(counter, wide.slice(1))).toBeLessThanOrEqual(2_500);
});

verifies('S-36').test('parameters follow the cache; settings decide over that within their bounds', () => {
  const of = (profile: Partial<CacheProfile>, window = 200_000, settings = {}) => {
    const { mode, tailBudget, keep, fillTo } = parametersFor({ ...PROFILE, ...profile }, window, settings);
    return [mode, tailBudget, keep, fillTo];
  };
  expect([
    of({}),
    of({ minPrefix: 4_096 }),
    of({ reasoning: true }),
    of({ readFactor: 1 }),
    of({}, 16_000),
    of({}, 200_000, { use_snapshot: false }),
    of({ readFactor: 1 }, 200_000, { mode: 'epoch', tail_budget: 8_000, keep: 5 }),
  ]).toEqual([
    ['epoch', 10_000, 2, 0],
    ['epoch', 10_000, 2, 4_506],
    ['epoch', 12_000, 2, 0],
    ['snapshot', 10_000, 2, 0],
    ['snapshot', 4_000, 2, 0],
    ['full', 10_000, 2, 0],
    ['epoch', 8_000, 5, 0],
  ]);
  for (const wrong of [
    { tail_budget: 1_999 },
    { tail_budget: 60_000 },
    { tail_budget: 3_000.5 },
    { keep: 0 },
    { keep: 11 },
  ]) {
    expect(() => of({}, 200_000, wrong)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  }
});

const segment = (kind: Segment['kind'], tokens: number, hash: string): Segment => ({
  kind,
  provenance: 'reef',
  tokens,
  hash,
});
const ledger = (turn: number, segments: Segment[]): Ledger => ({
  turn,
  epoch: 0,
  mode: 'epoch',
  segments,
  exclusions: [],
  estimated: 0,
});

verifies('S-53').test('three misses in a row of a prefix that should be cached name the segment that differs', () => {
  const watch = new CacheWatch(PROFILE);
  const prompts = Array.from({ length: 6 }, (_, turn) =>
    ledger(turn, [segment('system', 2_000, 'same'), segment('snapshot', 9, `s${turn}`)]),
  );
  const heard = prompts.map((one, turn) =>
    watch.observe(one, { input: 1, cacheRead: turn === 2 ? 5 : 0, cacheWrite: 0 }),
  );
  expect(heard).toEqual([undefined, undefined, undefined, undefined, undefined, '1:snapshot']);
  const short = new CacheWatch(PROFILE);
  const small = prompts.map(({ turn }) =>
    short.observe(ledger(turn, [segment('system', 90, 'same')]), { input: 1, cacheRead: 0, cacheWrite: 0 }),
  );
  expect(small.every((one) => one === undefined)).toBe(true);
});

test('a line of the ledger has hashes and sizes, and no text', () => {
  const line = ledgerLine(ledger(3, [segment('task', 12, 'abc')]), { input: 14, cacheRead: 0, cacheWrite: 14 });
  expect(JSON.parse(line)).toEqual({
    turn: 3,
    epoch: 0,
    mode: 'epoch',
    segments: [{ kind: 'task', provenance: 'reef', tokens: 12, hash: 'abc' }],
    exclusions: [],
    estimated: 0,
    reported: { input: 14, cacheRead: 0, cacheWrite: 14 },
  });
  expect(line.endsWith('\n')).toBe(true);
});
