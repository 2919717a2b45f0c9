import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { Json } from '../../protocol/workflow.ts';
import { contentRule, readResult, resultJsonSchema, withoutFence } from './read-result.ts';

const signals = ['SIGNAL:SUCCESS', 'SIGNAL:FAILURE'];
const read = (text: string, more: { toolResult?: Json; structured?: Json } = {}) =>
  readResult({ text, ...more }, { signals });
const ok = (signal: string, summary: Json) => ({ ok: true, result: { signal, summary, segments: [], newFiles: [] } });
const fence = (value: Json) => `\`\`\`reef-result\n${JSON.stringify(value)}\n\`\`\``;
const good = (summary: string) => ({ signal: 'SIGNAL:SUCCESS', summary });

verifies('W-61').test('the first valid of tool, structured output, fence and last line is the result', () => {
  const text = `${fence(good('fence'))}\nSIGNAL:FAILURE`;
  expect([
    read(text, { toolResult: good('tool'), structured: good('structured') }),
    read(text, { structured: good('structured') }),
    read(text),
    read('last\nSIGNAL:FAILURE'),
    read(text, { toolResult: { signal: 'SIGNAL:NONSENSE' }, structured: good('structured') }),
  ]).toEqual([
    ok('SIGNAL:SUCCESS', 'tool'),
    ok('SIGNAL:SUCCESS', 'structured'),
    ok('SIGNAL:SUCCESS', 'fence'),
    ok('SIGNAL:FAILURE', 'last'),
    ok('SIGNAL:SUCCESS', 'structured'),
  ]);
});

verifies('W-61').test('of several fences the last whole one counts', () => {
  const open = '```reef-result\n{"signal": "SIGNAL:SUCCESS"';
  const other = '```json\n{"signal":"SIGNAL:FAILURE","summary":"no"}\n```';
  expect([read(`${fence(good('one'))}\n${fence(good('two'))}\n${other}\n${open}`), read(other)]).toEqual([
    ok('SIGNAL:SUCCESS', 'two'),
    { ok: false, faults: ['there is no result: neither a tool call, a fence nor a signal'] },
  ]);
});

describe('the last line', () => {
  const table: [text: string, signal: string | undefined][] = [
    ['SIGNAL:SUCCESS', 'SIGNAL:SUCCESS'],
    ['done\n\n  **SIGNAL:SUCCESS**  \n\n\n', 'SIGNAL:SUCCESS'],
    ['done\n`SIGNAL:FAILURE`', 'SIGNAL:FAILURE'],
    ['done\n__*`SIGNAL:FAILURE`*__', 'SIGNAL:FAILURE'],
    ['SIGNAL:SUCCESS\nwell, almost', undefined],
    ['I say SIGNAL:SUCCESS', undefined],
    ['SIGNAL:SUCCESS.', undefined],
    ['signal:success', undefined],
    ['', undefined],
    ['SUCCESS', undefined],
  ];
  for (const [text, signal] of table) {
    verifies('W-62').test(`${JSON.stringify(text)} means ${signal ?? 'nothing'}`, () => {
      const found = read(text);
      expect(found.ok ? found.result.signal : undefined).toBe(signal);
    });
  }

  verifies('W-63').test('a signal outside the table is a fault', () => {
    expect(read('done\nSIGNAL:MAYBE')).toEqual({ ok: false, faults: [expect.stringContaining('last line: signal')] });
    expect(read('done\nSIGNAL:RETURNED').ok).toBe(false);
  });

  test('a long run of ornaments is read in one go: a pattern would take minutes', () => {
    expect(read(`${'*'.repeat(400_000)}x${'*'.repeat(400_000)}x`).ok).toBe(false);
  });
});

verifies('W-63').test('every fault of every form is listed', () => {
  const found = read(
    `${fence({ signal: 'SIGNAL:X', segments: [{ type: 'bad type', content: 1 }, { content: null }] })}\nSIGNAL:Y`,
    { toolResult: 'nonsense' },
  );
  const faults = found.ok ? [] : found.faults.map((fault) => fault.replace(/^([^:]+: [a-z0-9.]*).*$/s, '$1'));
  expect(faults).toEqual([
    'block_result: ',
    'reef-result: signal',
    'reef-result: summary',
    'reef-result: segments.0.type',
    'reef-result: segments.1.type',
    'last line: signal',
  ]);
  expect(read('```reef-result\n{nonsense\n```')).toEqual({
    ok: false,
    faults: [expect.stringContaining('reef-result: is not JSON')],
  });
});

verifies('W-60').test('segments and new files are taken over, and unknown fields do not hurt', () => {
  const segments = [{ type: 'CODE_OUTPUT', content: { filePath: 'a', fileContent: 'b' }, filePath: 'a', mood: 'good' }];
  expect(read(fence({ ...good('x'), segments, newFiles: ['c'], confidence: 0.9 } as Json))).toEqual({
    ok: true,
    result: {
      signal: 'SIGNAL:SUCCESS',
      summary: 'x',
      segments: [{ type: 'CODE_OUTPUT', content: { filePath: 'a', fileContent: 'b' }, filePath: 'a' }],
      newFiles: ['c'],
    },
  });
  expect(resultJsonSchema(signals)).toMatchObject({ type: 'object', required: ['signal', 'summary'] });
});

test('no text makes it throw', () => {
  const part = fc.constantFrom(
    '```',
    '```reef-result',
    '{}',
    '{"signal":"SIGNAL:SUCCESS"',
    '\n',
    'SIGNAL:SUCCESS',
    '**',
    ' ',
    'x',
  );
  fc.assert(fc.property(fc.array(part), (parts) => typeof read(parts.join('')).ok === 'boolean'));
});

describe('content', () => {
  const schemas = {
    Plan: { type: 'object', properties: { steps: { type: 'array', items: {}, minItems: 1 } }, required: ['steps'] },
    Word: { type: 'string', minLength: 3 },
  };
  const check = (name: string, content: Json) => contentRule(name, schemas as never)?.(content);

  verifies('W-63').test('CodeOnly checks text, CodeAndExplanation JSON, both after one outer fence', () => {
    expect([
      check('CodeOnly', '```js\nlet a;\n```'),
      check('CodeOnly', 'let a;'),
      check('CodeOnly', ''),
      check('CodeOnly', 7),
      check('CodeOnly', { filePath: 'a', fileContent: 'x' }),
      check('CodeOnly', { filePath: 'a', fileContent: '' }),
      check('CodeAndExplanation', '```json\n{"code": "x", "explanation": "y"}\n```'),
      check('CodeAndExplanation', { code: 'x', explanation: 'y' }),
      check('CodeAndExplanation', 'nonsense'),
      check('CodeAndExplanation', '{"code": ""}'),
    ]).toEqual([
      { content: 'let a;' },
      { content: 'let a;' },
      { faults: ['the code is empty'] },
      { faults: ['Invalid input: expected string, received number'] },
      { content: { filePath: 'a', fileContent: 'x' } },
      { faults: ['the code is empty'] },
      { content: { code: 'x', explanation: 'y' } },
      { content: { code: 'x', explanation: 'y' } },
      { faults: [expect.stringContaining('is not JSON')] },
      { faults: ['code: the code is empty', 'explanation: Invalid input: expected string, received undefined'] },
    ]);
  });

  verifies('W-63').test('schemas of the manifest work the same way', () => {
    expect([
      check('Plan', '{"steps": [1]}'),
      check('Plan', '{"steps": []}'),
      check('Word', 'abc'),
      check('Word', 'a'),
      check('None', 'x'),
    ]).toEqual([
      { content: { steps: [1] } },
      { faults: [expect.stringContaining('steps')] },
      { content: 'abc' },
      { faults: [expect.any(String)] },
      { faults: ['there is no schema "None"'] },
    ]);
    expect(contentRule(undefined, undefined)).toBeUndefined();
  });

  test('only one fence around everything is taken off', () => {
    expect(
      ['```\na\n```', 'x\n```\na\n```', '```\na\n```\n```\nb\n```', '```\na', '~~~md\n```\na\n```\n~~~'].map(
        withoutFence,
      ),
    ).toEqual(['a', 'x\n```\na\n```', '```\na\n```\n```\nb\n```', '```\na', '```\na\n```']);
  });
});
