import { expect, test } from 'vitest';
import { NOW } from '../../../test/support/surfaces/samples.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import { renderFindings } from '../doctor/report.ts';
import { renderError } from './error.ts';
import { createStyle } from './style.ts';

const style = createStyle({ colour: false, width: 80, now: NOW });

verifies('U-03').test('an error names its code, what happened, what belongs to it, and what to do next', () => {
  const error = new ReefError('which_question', '2 questions are open', {
    details: {
      questions: ['--question abc  Allow?', '--question def  Which?'],
      log: 'one\ntwo\n',
      count: 2,
      fields: ['x'],
      options: ['the message lists them'],
    },
  });
  expect(renderError(error.toBody(), style)).toBe(
    [
      'which_question: 2 questions are open',
      '  questions:',
      '    --question abc  Allow?',
      '    --question def  Which?',
      '  log:',
      '    one',
      '    two',
      '  count: 2',
      'Say which question you answer with --question ID. `reef inbox` shows each one and what to type.',
    ].join('\n'),
  );
});

verifies('X-51').test('an error cannot act on the terminal', () => {
  const error = new ReefError('agent_error', 'bad \u001b]0;title\u0007', { details: { 'a\u001b': '\u009b31m' } });
  expect(renderError(error.toBody(), style)).not.toMatch(/(?!\n)\p{Cc}/u);
});

test('findings that are well take a line; others say where to look and what mends them', () => {
  expect(
    renderFindings(
      [
        { check: 'git', severity: 'ok', what: '2.39.5', evidence: 'git version 2.39.5' },
        {
          check: 'home',
          severity: 'warn',
          what: '3 entries are open',
          evidence: '/h/a',
          fix: { does: 'close them', safe: true },
        },
        {
          check: 'disk',
          severity: 'error',
          what: '5 MiB free',
          evidence: '/',
          fix: { does: 'free some', safe: false },
        },
      ],
      style,
    ),
  ).toBe(
    [
      'ok    git   2.39.5',
      '',
      'warn  home  3 entries are open',
      '            /h/a',
      '            fix (safe): close them',
      'error disk  5 MiB free',
      '            /',
      '            fix: free some',
      '',
      'Problems found: 2. `reef doctor --fix` fixes 1 of them.',
    ].join('\n'),
  );
});
