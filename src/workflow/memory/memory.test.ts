import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { inputFor, segment } from '../../../test/support/workflow/worker-input.ts';
import type { Json } from '../../protocol/workflow.ts';
import { artifactId } from '../../repostate/prompt/caps.ts';
import { Store } from '../../store/store.ts';
import { renderPrompt } from '../agent/prompt.ts';
import { journalBlobs } from '../durable/journal.ts';
import { newSegments } from '../run/visit-step.ts';
import { type Blobs, openSegment, storeSegment, viewSegment } from './segment.ts';
import { shapeView } from './shape-view.ts';

function memoryBlobs(): Blobs & { kept: Map<string, Buffer> } {
  const kept = new Map<string, Buffer>();
  return {
    kept,
    put(bytes) {
      kept.set(`b${kept.size + 1}`, bytes);
      return `b${kept.size}`;
    },
    get: (address) => kept.get(address) ?? Buffer.alloc(0),
  };
}

verifies('W-17').test('content over 64 KiB is a blob: reading gives all, a view head, tail and address', () => {
  const blobs = memoryBlobs();
  const log = `${'a'.repeat(40_000)}ß${'b'.repeat(40_000)}`;
  const stored = storeSegment(segment('s', 'TEST_RESULT', log), blobs);
  expect([JSON.stringify(stored).length < 6_000, openSegment(stored, blobs).content, viewSegment(stored)]).toEqual([
    true,
    log,
    {
      id: 's',
      type: 'TEST_RESULT',
      timestamp: '2026-01-01T00:00:00.000Z',
      bytes: 80_002,
      head: 'a'.repeat(2_048),
      tail: 'b'.repeat(2_048),
      address: 'b1',
    },
  ]);
  const json = { list: Array.from({ length: 20_000 }, (_, n) => n) };
  expect(openSegment(storeSegment(segment('j', 'LINT_RESULT', json), blobs), blobs).content).toEqual(json);
  expect(blobs.kept.size).toBe(2);
});

verifies('W-17').test('small content stays where it is; a middling one is shown by its ends', () => {
  const blobs = memoryBlobs();
  const small = segment('s', 'AGENT_OUTPUT', { a: 1 });
  const middle = storeSegment(segment('m', 'AGENT_OUTPUT', 'x'.repeat(60_000)), blobs);
  expect([storeSegment(small, blobs), blobs.kept.size, viewSegment(middle)]).toMatchObject([
    small,
    0,
    { bytes: 60_000, head: 'x'.repeat(2_048), tail: 'x'.repeat(2_048) },
  ]);
});

verifies('W-17', 'J-05').test('what a linter wrote is shown as it wrote it, however long', () => {
  const blobs = memoryBlobs();
  const heads = ['a.ts:1 no', 'a.ts:1 no\n'.repeat(10_000)].map((raw) =>
    viewSegment(storeSegment(segment('l', 'LINT_RESULT', { raw, parseError: 'no JSON' }), blobs)).head.slice(0, 9),
  );
  expect(heads).toEqual(['a.ts:1 no', 'a.ts:1 no']);
});

verifies('W-17').test('over 64 MiB the first and last 32 MiB are kept, and a mark', () => {
  const blobs = memoryBlobs();
  const half = 32 * 1024 * 1024;
  const log = `${'a'.repeat(half)}${'x'.repeat(100)}${'b'.repeat(half)}`;
  const stored = storeSegment(segment('s', 'TEST_RESULT', log), blobs);
  const text = String(openSegment(stored, blobs).content);
  const mark = '\n…[cut 100 bytes]…\n';
  expect([text.length, text.slice(half - 1, half + mark.length + 1)]).toEqual([2 * half + mark.length, `a${mark}b`]);
});

verifies('W-17', 'W-75').test('blobs lie beside the journal under the hash of their bytes', () => {
  const dir = temporaryFolder();
  const store = new Store(join(dir, 'db'));
  const blobs = journalBlobs(store);
  const addresses = [blobs.put(Buffer.from('x')), blobs.put(Buffer.from('x')), blobs.put(Buffer.from('y'))];
  expect([new Set(addresses).size, blobs.get(addresses[0] ?? '').toString(), addresses[0]?.length]).toEqual([
    2,
    'x',
    64,
  ]);
  expect(() => blobs.get('nowhere')).toThrow('is missing');
  store.close();
});

const here = { timestamp: '2026-01-01T00:00:00.000Z', block: 'N__B', visit: 2, branch: 'main' };
const payload = ['A', 'B', 'A', 'C'].map((type, n) => segment(`s${n}`, type, n));
const shape = (...strategies: string[]) =>
  shapeView({ segments: payload, inherited: { rule: 'tabs', other: 1 } }, strategies, here);
const ids = (...strategies: string[]) => shape(...strategies).segments.map(({ id }) => id);

verifies('W-15').test('strategies shape what one visit sees and leave the payload as it is', () => {
  const before = structuredClone(payload);
  expect([
    ids(),
    ids('FIRST:C'),
    ids('LATEST:A'),
    ids('ONLY:B,C'),
    ids('DROP:A'),
    ids('LATEST:A', 'FIRST:A'),
    ids('LATEST:NONE'),
    ids('nonsense'),
  ]).toEqual([
    ['s0', 's1', 's2', 's3'],
    ['s3', 's0', 's1', 's2'],
    ['s1', 's2', 's3'],
    ['s1', 's3'],
    ['s1', 's3'],
    ['s2', 's1', 's3'],
    ['s0', 's1', 's2', 's3'],
    ['s0', 's1', 's2', 's3'],
  ]);
  expect(payload).toEqual(before);
});

verifies('W-15').test('MERGE shows a key of static memory as STATIC_MEMORY, the others stay inherited', () => {
  const { segments, inherited } = shape('MERGE:STATIC_MEMORY:rule', 'MERGE:STATIC_MEMORY:absent');
  expect([segments.at(-1), inherited]).toEqual([
    { ...here, id: 'static:rule', type: 'STATIC_MEMORY', content: 'tabs' },
    { other: 1 },
  ]);
});

verifies('W-11', 'W-12').test(
  'only new ids join the payload: not known ones, not projections, and nothing is deleted',
  () => {
    const { segments } = shape('MERGE:STATIC_MEMORY:rule', 'DROP:A');
    const fresh = segment('new', 'AGENT_OUTPUT', 'x');
    const given = [...segments, fresh, { ...fresh, content: 'again' }, { ...segment('s1', 'B', 'changed') }];
    expect([newSegments(segments, given), newSegments(segments, [])]).toEqual([[fresh], []]);
  },
);

const measure = (text: string) => text.length;
const outline = ({ path }: { path: string }) => `bones of ${path}`;
async function prompt(limit: number, more: Partial<ReturnType<typeof inputFor>> = {}, stored = new Map()) {
  const input = {
    ...inputFor('/w', [
      segment('old', 'AGENT_OUTPUT', 'o'.repeat(1_000)),
      segment('new', 'TEST_RESULT', 'n'.repeat(1_000)),
    ]),
    inherited_context: { rules: 'r'.repeat(1_000) } as Record<string, Json>,
    primary_artifacts: [{ path: 'a.ts', content: 'f'.repeat(1_000) }],
    ...more,
  };
  const { text } = await renderPrompt(
    { ...input, block_contract: { ...input.block_contract, instructions: 'i'.repeat(500) } },
    stored,
    { limit, measure, outline },
  );
  return text;
}
const shown = (text: string) =>
  ['f', 'o', 'n', 'r', 'i'].map((letter) => `${letter}${text.includes(letter.repeat(500)) ? '+' : '-'}`).join(' ');

verifies('W-10').test(
  'over budget files shrink first, then the oldest segments, then inherited context; the contract never',
  async () => {
    const { length: full } = await prompt(100_000);
    const limits = [full, full - 1, full - 1_000, full - 1_900, full - 2_800, 1];
    expect((await Promise.all(limits.map((limit) => prompt(limit)))).map(shown)).toEqual([
      'f+ o+ n+ r+ i+',
      'f- o+ n+ r+ i+',
      'f- o- n+ r+ i+',
      'f- o- n- r+ i+',
      'f- o- n- r- i+',
      'f- o- n- r- i+',
    ]);
    const least = await prompt(1);
    for (const part of ['bones of a.ts', 'N__B, visit 1', '1000 bytes, left out']) expect(least).toContain(part);
  },
);

verifies('W-10', 'W-17').test('all five layers are in it, and large content by head, tail and address', async () => {
  const blobs = memoryBlobs();
  const log = segment('new', 'TEST_RESULT', `begin${'x'.repeat(70_000)}end`);
  const text = await prompt(100_000, { execution_payload: [log] }, new Map([['new', storeSegment(log, blobs)]]));
  expect([
    text.includes(`artifact_read "${artifactId(String(log.content))}"`),
    text.includes('begin'),
    text.includes('end'),
    text.length < 12_000,
  ]).toEqual([true, true, true, true]);
  for (const part of [
    '## Task',
    'do it',
    '## What happened so far',
    'INHERITED_CONTEXT rules',
    '### a.ts',
    '## Where you are',
  ])
    expect(text).toContain(part);
});

verifies('W-10', 'S-37').test(
  'short of room a long log shows head and tail before anything becomes a pointer, and what is left out is handed back whole',
  async () => {
    const old = segment('old', 'AGENT_OUTPUT', `${'o'.repeat(600)}`);
    const log = segment('log', 'TEST_RESULT', `head ${'x'.repeat(30_000)} tail`);
    const input = inputFor('/w', [old, log]);
    const render = (limit: number) => renderPrompt(input, new Map(), { limit, measure, outline });
    const [cut, pointers] = [await render(8_000), await render(1_000)];
    expect([cut.leftOut, pointers.leftOut]).toEqual([[log.content], [old.content, log.content]]);
    expect([cut.text.includes('head x'), cut.text.includes('x tail'), cut.text.includes('o'.repeat(600))]).toEqual([
      true,
      true,
      true,
    ]);
    for (const { content } of [old, log])
      expect(pointers.text).toContain(`left out: artifact_read "${artifactId(String(content))}"`);
    const told = ({ parts }: typeof cut) => parts.map(({ section, name, shown: how }) => [section, name, how]);
    const rest = [
      ['Where you are', undefined, undefined],
      ['How to answer', undefined, undefined],
    ];
    const task = ['Task', undefined, undefined];
    const happened = (id: string, how?: string) => ['What happened so far', id, how];
    expect([told(cut), told(pointers)]).toEqual([
      [task, happened('AGENT_OUTPUT · N__A#1'), happened('TEST_RESULT · N__A#1', 'cut'), ...rest],
      [task, happened('AGENT_OUTPUT · N__A#1', 'pointer'), happened('TEST_RESULT · N__A#1', 'pointer'), ...rest],
    ]);
    const counted = cut.parts.reduce((sum, { tokens }) => sum + tokens, 0);
    expect(cut.text.length - counted).toBeLessThan(200); // the headings, and the lines between
  },
);
