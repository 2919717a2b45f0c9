import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import { parseScript } from './script.ts';

const scripts = fileURLToPath(new URL('../../../test/fixtures/scripts/', import.meta.url));

function problem(source: string): unknown {
  try {
    return parseScript(source);
  } catch (error) {
    return error instanceof ReefError ? [error.code, error.message] : error;
  }
}

test('a script is a list of steps, or says what follows a message and a resume', () => {
  expect([parseScript('- say: hi\n- deaf\n'), parseScript('steps: []\nonMessage: [withdraw]\n')]).toEqual([
    {
      steps: [
        { do: 'say', with: 'hi' },
        { do: 'deaf', with: null },
      ],
    },
    { steps: [], onMessage: [{ do: 'withdraw', with: null }] },
  ]);
});

test('a step may hold steps', () => {
  expect(
    parseScript('- repeat:\n    times: 2\n    steps:\n      - permit: { tool: t, steps: [{ exit: 0 }] }\n'),
  ).toEqual({
    steps: [
      {
        do: 'repeat',
        with: { times: 2, steps: [{ do: 'permit', with: { tool: 't', input: {}, steps: [{ do: 'exit', with: 0 }] } }] },
      },
    ],
  });
});

test.each(globSync('*.yaml', { cwd: scripts }))('the script %s is one', (file) => {
  expect(parseScript(readFileSync(scripts + file, 'utf8')).steps.length).toBeGreaterThan(0);
});

describe('what is no script', () => {
  const cases: [source: string, line: number, message: string][] = [
    ['- say: hi\n- dance: 1\n', 2, 'there is no step "dance"'],
    ['- say: hi\n- spawn: {}\n', 2, "spawn needs Reef's own tools, which a script cannot use yet"],
    ['- wait: x\n', 1, "wait needs Reef's own tools, which a script cannot use yet"],
    ['- say: hi\n  think: ho\n', 1, 'a step has one name'],
    ['- say: hi\n- edit:\n    path: a\n', 3, 'edit: Invalid input: expected string, received undefined'],
    ['- ask:\n    question: Who?\n    colour: red\n', 2, 'ask: Unrecognized key: "colour"'],
    [
      '- repeat:\n    times: 2\n    steps:\n      - say: hi\n      - sleep: -1\n',
      5,
      'repeat: sleep: Too small: expected number to be >=0',
    ],
    ['- constructor\n', 1, 'there is no step "constructor"'],
    ['- shell: []\n', 1, 'shell: Too small: expected array to have >=1 items'],
    ['steps:\n  - say: hi\nonTuesday: []\n', 1, 'Unrecognized key: "onTuesday"'],
    ['- say: "hi\n', 2, 'Missing closing "quote'],
    [
      `a: &a [x, x, x, x, x, x, x, x, x, x]\n${'bcdefghi'.replace(/./g, (n, at) => `${n}: &${n} [${'*'.concat('abcdefgh'[at] ?? '', ', ').repeat(10)}]\n`)}`,
      1,
      'Excessive alias count indicates a resource exhaustion attack',
    ],
    ['', 1, 'Invalid input: expected object, received null'],
  ];

  verifies('A-120').test('is refused with the line that is wrong', () => {
    expect(cases.map(([source]) => problem(source))).toEqual(
      cases.map(([, line, message]) => ['script_invalid', `line ${line}: ${message}`]),
    );
  });
});
