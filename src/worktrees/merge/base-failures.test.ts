import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { failuresIn } from './base-failures.ts';

verifies('J-10').test(
  'what test runners, compilers and linters name as failed is read without times and folders',
  () => {
    const log = [
      '✖ adds two numbers (1.360891ms)',
      '✖ failing tests:',
      'not ok 3 - subtracts',
      '\u001b[31m FAIL \u001b[39m /x/scratch-w1/src/a.test.ts > sums',
      '   × sums 12ms',
      '  ● money › rounds',
      'FAILED tests/test_a.py::test_b - assert 1 == 2',
      'FAIL: test_c (tests.C.test_c)',
      '--- FAIL: TestParse (0.01s)',
      'test parser::empty ... FAILED',
      "src/a.ts(12,5): error TS2322: Type 'x'",
      '/x/w1/src/b.c:3:9: error: expected ;',
      '  4:2  error  Unexpected console  no-console',
      '✔ passes (1ms)',
      'ok 1 - passes',
    ].join('\n');
    expect(failuresIn(log, 'w1')).toEqual([
      'adds two numbers',
      'subtracts',
      'src/a.test.ts > sums',
      'sums',
      'money › rounds',
      'tests/test_a.py::test_b - assert 1 == 2',
      'test_c (tests.C.test_c)',
      'TestParse',
      'parser::empty',
      "src/a.ts error TS2322: Type 'x'",
      'src/b.c error: expected ;',
      'error  Unexpected console  no-console',
    ]);
  },
);

verifies('J-10').test('tests that break before the first of them are named by what broke', () => {
  const broken = [
    '> uvu -r esm test',
    '/x/w1/test/a.js:5',
    'SyntaxError: Cannot use import statement',
    '    at Module._load',
  ];
  expect(failuresIn(broken.join('\n'), 'w1')).toEqual(['SyntaxError: Cannot use import statement']);
  expect(failuresIn([...broken, '✖ adds'].join('\n'), 'w1')).toEqual(['adds']);
});

verifies('X-139').test('a log made to be slow to read takes no longer than any other of its size', () => {
  const MIB = 1024 * 1024;
  const logs = ['x', '/', ' ', '1', '1:1', '✖ 1', '✖ a\n'].map((part) => `✖ a${part.repeat(MIB / part.length)}x`);
  expect(logs.map((log) => failuresIn(log, 'w1').length > 0)).toEqual(logs.map(() => true));
  const breaks = ['E', 'Error', 'Error\n', 'Error [a', 'A.'].map((part) => part.repeat(MIB / part.length));
  expect(breaks.map((log) => failuresIn(log, 'w1'))).toEqual(breaks.map(() => []));
});
