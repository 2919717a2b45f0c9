import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { Json } from '../../protocol/workflow.ts';
import { parseStrategy } from '../memory/shape-view.ts';
import { type Action, parseAction } from './action.ts';
import { holds, parseGuard, parseValue, type Scope, valueIn } from './guard.ts';
import {
  blockIdOf,
  canWrite,
  fallsToDefault,
  gateOf,
  isName,
  isSegmentType,
  isSignal,
  isWorkerSignal,
  parseBlockId,
  parseWorker,
  rosterEntry,
} from './names.ts';

describe('actions', () => {
  const table: [text: string, action: Action][] = [
    ['JUMP:Core_IO__Write', { do: 'jump', to: 'Core_IO__Write' }],
    ['JUMP:Core_IO', { do: 'jump', to: 'Core_IO' }],
    ['CALL:Fix', { do: 'call', node: 'Fix' }],
    ['CALL:Fix:Core__Next', { do: 'call', node: 'Fix', returnTo: 'Core__Next' }],
    ['RETURN', { do: 'return' }],
    ['HALT_AND_FLAG', { do: 'halt' }],
    ['FORK:A,B', { do: 'fork', nodes: ['A', 'B'] }],
    ['FORK:A,B,A:N__Join', { do: 'fork', nodes: ['A', 'B', 'A'], joinTo: 'N__Join' }],
  ];
  for (const [text, action] of table) {
    verifies('W-20').test(`${text} is an action`, () => expect(parseAction(text)).toEqual(action));
  }

  const wrong = [
    ...['', 'JUMP', 'JUMP:', 'jump:A', 'JUMP: A', 'JUMP:A ', 'JUMP:A:B__C', 'JUMP:A__', 'JUMP:__B', 'JUMP:A__B__C'],
    ...['CALL:', 'CALL:A__B', 'CALL:A:', 'CALL:A:B', 'CALL:A:B__C:D', 'RETURN:', 'RETURN ', 'HALT', 'HALT_AND_FLAG:x'],
    ...[
      'FORK:A',
      'FORK:A,',
      'FORK:A,B:C',
      'FORK:A,B__C',
      `FORK:${Array(17).fill('A').join(',')}`,
      `JUMP:${'a'.repeat(129)}`,
    ],
  ];
  for (const text of wrong) {
    verifies('W-20').test(`"${text.slice(0, 30)}" is none`, () => {
      expect(parseAction(text)).toEqual({ error: expect.any(String) });
    });
  }

  test('no text makes the parser throw', () => {
    fc.assert(fc.property(fc.string(), (text) => parseAction(text) !== undefined));
  });
});

describe('names', () => {
  const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,20}$/).filter((text) => !text.includes('__'));

  test('a block id is taken apart as it was put together', () => {
    fc.assert(
      fc.property(name, name, (node, block) => {
        expect(parseBlockId(blockIdOf(node, block))).toEqual({ node, name: block });
      }),
    );
  });

  verifies('W-18').test('signals, who may raise them, and which fall to the default', () => {
    const rows = [
      'SIGNAL:SUCCESS',
      'SIGNAL:FAIL_DEFAULT',
      'SIGNAL:NO_CHANGES',
      'SIGNAL:RETURNED',
      'SIGNAL:success',
      'X',
    ];
    expect(rows.map((text) => [isSignal(text), isWorkerSignal(text), fallsToDefault(text)])).toEqual([
      [true, true, true],
      [true, false, true],
      [true, false, true],
      [true, false, false],
      [false, false, true],
      [false, false, true],
    ]);
    expect([isSignal(`SIGNAL:${'A'.repeat(64)}`), isSignal(`SIGNAL:${'A'.repeat(65)}`)]).toEqual([true, false]);
  });

  verifies('W-16').test('segment types match their form', () => {
    const types = ['CODE_OUTPUT', 'A', 'A1_', 'a', '1A', '_A', '', 'A-B', 'A'.repeat(65)];
    expect(types.map(isSegmentType)).toEqual([true, true, true, false, false, false, false, false, false]);
    expect(['a', 'A_', '_A', 'a__b', ''].map(isName)).toEqual([true, true, false, false, false]);
  });

  verifies('W-06').test('workers are internal by name, or agents under either spelling', () => {
    expect(
      ['Internal:TestRunner', 'Internal:X', 'Agent:a', 'Worker:a', 'TestRunner', 'Agent:', 'Agent:a b'].map(
        parseWorker,
      ),
    ).toEqual([
      { kind: 'internal', name: 'TestRunner' },
      undefined,
      { kind: 'agent', name: 'a' },
      { kind: 'agent', name: 'a' },
      undefined,
      undefined,
      undefined,
    ]);
    const workers = { 'Worker:a': { readonly: true }, RunLinter: { timeout_s: 5 } };
    expect([
      rosterEntry(workers, { kind: 'agent', name: 'a' }),
      rosterEntry(workers, { kind: 'internal', name: 'RunLinter' }),
      rosterEntry(workers, { kind: 'agent', name: 'toString' }),
      canWrite({ kind: 'agent', name: 'a' }, workers),
      canWrite({ kind: 'agent', name: 'b' }, workers),
      canWrite({ kind: 'internal', name: 'FileSystemWriter' }, undefined),
      canWrite({ kind: 'internal', name: 'RunBuilder' }, undefined),
      gateOf({ kind: 'internal', name: 'RunBuilder' }),
      gateOf({ kind: 'agent', name: 'RunBuilder' }),
    ]).toEqual([{ readonly: true }, { timeout_s: 5 }, undefined, false, true, true, false, 'build', undefined]);
  });
});

verifies('W-15').test('strategies of either kind, and what is none', () => {
  const texts = ['MERGE:STATIC_MEMORY:a:b', 'FIRST:X', 'LATEST:X', 'ONLY:X,Y', 'DROP:X'];
  expect(texts.map(parseStrategy)).toEqual([
    { do: 'merge', key: 'a:b' },
    { do: 'first', type: 'X' },
    { do: 'latest', type: 'X' },
    { do: 'only', types: ['X', 'Y'] },
    { do: 'drop', type: 'X' },
  ]);
  const wrong = ['', 'X', 'MERGE:STATIC_MEMORY:', 'MERGE:X', 'FIRST:x', 'FIRST:X,Y', 'ONLY:X,', 'KEEP:X', 'first:X'];
  expect(wrong.filter((text) => !('error' in parseStrategy(text)))).toEqual([]);
});

describe('guards', () => {
  const newest: { [key: string]: Json } = {
    TEST_RESULT: { outcome: 'FAIL', content: 'two failed' },
    LINT_RESULT: { content: [{ errorCount: 3 }, { errorCount: 0 }] },
  };
  const scope: Scope = {
    last: (type) => newest[type] ?? null,
    here: (type) => (type === 'TEST_RESULT' ? (newest[type] ?? null) : null),
    count: (type) => (type === 'TEST_RESULT' ? 2 : 0),
    visits: 3,
    args: { name: 'x', 'a-b': true, list: [1, 'two'], zero: 0, empty: '' },
    returned: {},
  };
  const evaluate = (text: string) => {
    const parsed = parseGuard(text);
    return parsed.ok ? holds(parsed.value, scope) : parsed.error;
  };

  const table: [guard: string, answer: boolean][] = [
    ['true', true],
    ['false || true', true],
    ['true && false', false],
    ['false && false || true', true],
    ['false && (false || true)', false],
    ['!true', false],
    ['!(false || false)', true],
    ['!args.nothing', true],
    ['visits == 3', true],
    ['visits>2&&visits<=3', true],
    ['visits >= 4', false],
    ['visits != 3', false],
    ['count(TEST_RESULT) < 3', true],
    ['count( OTHER ) == 0', true],
    ['last(TEST_RESULT).outcome == "FAIL"', true],
    ['last(TEST_RESULT).content contains "failed"', true],
    ['last(LINT_RESULT).content[0].errorCount > 2.5', true],
    ['last(LINT_RESULT).content[7].errorCount == null', true],
    ['here(LINT_RESULT) != null', false],
    ['here(TEST_RESULT) != null', true],
    ['last(NOTHING).a.b[3].c == null', true],
    ['args.list contains "two"', true],
    ['args.list contains 2', false],
    ['args contains "name"', true],
    ['args.name contains 1', false],
    ['visits contains 3', false],
    ['args.a-b', true],
    ['args.zero || args.empty || null', false],
    ['args.name < 3', false],
    ['args.name > 3', false],
    ['"é\\u0041" == "éA"', true],
    ['-1e2 < -99.5', true],
    ['args.toString == null', true],
    ['args.list.length == null', true],
    ['last(TEST_RESULT) == last(TEST_RESULT)', true],
    ['returned == args', false],
  ];
  for (const [text, answer] of table)
    verifies('W-23').test(`${text} is ${answer}`, () => expect(evaluate(text)).toBe(answer));

  const wrong = [
    ...[
      '',
      '(',
      'true true',
      'visits ==',
      '&& true',
      'last',
      'last()',
      'last(x)',
      'last(X',
      'args.',
      'args[x]',
      'args[1',
    ],
    ...[
      '"open',
      '"\\x"',
      '1e999',
      '01',
      'foo',
      'eval("1")',
      '!!true',
      'true ||',
      '(true',
      'a = 1',
      'true\t',
      'process.exit()',
    ],
    ...[`"${'x'.repeat(1024)}"`],
  ];
  for (const text of wrong) {
    verifies('W-23').test(`"${text.slice(0, 20)}" is no guard`, () => {
      expect(parseGuard(text)).toEqual({ ok: false, error: expect.any(String), at: expect.any(Number) });
    });
  }

  const token = fc.constantFrom(
    ...[
      '(',
      ')',
      '!',
      '&&',
      '||',
      '==',
      '<',
      'contains',
      'true',
      'null',
      '1',
      '"a"',
      'visits',
      'args',
      '.x',
      '[0]',
      'last(A)',
      ' ',
    ],
  );
  verifies('W-23').test('every text is a guard with an answer or has a fault with a place', () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 30 }), (tokens) => {
        const text = tokens.join('');
        const parsed = parseGuard(text);
        if (parsed.ok) expect(typeof holds(parsed.value, scope)).toBe('boolean');
        else expect(parsed.at).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: 2_000 },
    );
  });

  verifies('W-24').test('the source of an argument is one value', () => {
    const read = (text: string) => {
      const parsed = parseValue(text);
      return parsed.ok ? valueIn(parsed.value, scope) : 'no value';
    };
    expect(['last(TEST_RESULT).content', '3', 'args.list', 'args.none', '1 == 1', ''].map(read)).toEqual([
      'two failed',
      3,
      [1, 'two'],
      null,
      'no value',
      'no value',
    ]);
  });
});
