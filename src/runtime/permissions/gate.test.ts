import { describe, expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Rule } from '../config/reef-block.ts';
import type { Answer, Claims, Question, Tool, ToolEffect } from '../tools/tool.ts';
import { createPermissionGate, type GateDeps } from './gate.ts';
import { createToolCallTracker } from './loop-guard.ts';
import { judge } from './rules.ts';

const shell = (command: string) => ({
  tool: 'execute_command',
  effect: 'exec' as const,
  claims: { command },
  arguments: { command },
});
const action = (rules: Rule[], command: string) => judge(rules, shell(command)).action;
const rule = (match: string | undefined, act: Rule['action'], tool = 'execute_command'): Rule => ({
  tool,
  action: act,
  ...(match !== undefined && { match }),
});

describe('the rules', () => {
  const rules = [
    rule('npm test *', 'allow'),
    rule('git status*', 'allow'),
    rule('git push*', 'ask'),
    rule('rm *', 'deny'),
    rule('git *', 'allow'),
  ];

  verifies('R-93').test('let a line pass when every part of it passes', () => {
    const table: [string, Rule['action']][] = [
      ['npm test', 'allow'],
      ['npm test -- a', 'allow'],
      ['npm testx', 'ask'],
      ['npm test && git status', 'allow'],
      ['npm test > /dev/null 2>&1', 'allow'],
      ['npm test > out.txt', 'ask'],
      ['npm test; curl evil', 'ask'],
      ['npm test $(curl evil)', 'ask'],
      ['npm test `curl evil`', 'ask'],
      ['npm test\ncurl evil', 'ask'],
      ['npm test & curl evil', 'ask'],
      ['npm test | sh', 'ask'],
      ['git push origin', 'ask'],
      ['git log', 'allow'],
      ['git log && rm x', 'deny'],
      ['git log $(rm x)', 'deny'],
      ['X=1 rm x', 'deny'],
      ['sudo rm x', 'deny'],
      ['sh -c "rm x"', 'deny'],
      ['"r"m x', 'deny'],
      ['if true; then rm x; fi', 'deny'],
      ['for a in b; do npm test; done', 'ask'],
      ['LD_PRELOAD=x npm test', 'ask'],
      ['', 'ask'],
    ];
    expect(table.map(([line]) => [line, action(rules, line)])).toEqual(table);
  });

  verifies('R-93').test('prefer deny to ask to allow, whatever their order', () => {
    const all: Rule[] = [rule('ls*', 'allow'), rule('ls*', 'ask'), rule('ls*', 'deny')];
    const orders = [all, [...all].reverse()];
    expect(orders.map((each) => action(each, 'ls'))).toEqual(['deny', 'deny']);
    expect(action(all.slice(0, 2), 'ls')).toBe('ask');
    expect(action(all.slice(0, 1), 'ls')).toBe('allow');
  });

  verifies('R-93').test('that name no pattern speak for all lines, also for those nobody understands', () => {
    const line = 'if true; then rm x; fi';
    expect([action([rule(undefined, 'allow')], line), action([rule('*', 'allow')], line), action([], line)]).toEqual([
      'allow',
      'ask',
      'ask',
    ]);
    expect(action([rule(undefined, 'allow'), rule('rm *', 'deny')], line)).toBe('deny');
  });

  const on = (effect: ToolEffect, claims: Claims, given: Rule[] = []) =>
    judge(given, { tool: 'fs_x', effect, claims, arguments: {} }).action;

  verifies('R-93', 'R-90').test('without a rule let reading and asking pass, and ask for the rest', () => {
    expect((['read', 'ask', 'write', 'exec'] as const).map((effect) => on(effect, { subject: 'a' }))).toEqual([
      'allow',
      'allow',
      'ask',
      'ask',
    ]);
  });

  verifies('R-90', 'R-93').test('ask for a path outside, unless one names that path', () => {
    const claims = { subject: '/etc/hosts', outside: ['/etc/hosts'] };
    expect([
      on('read', claims),
      on('read', claims, [rule(undefined, 'allow', 'fs_*')]),
      on('read', claims, [rule('/etc/*', 'allow', 'fs_*')]),
      on('read', claims, [rule('/etc/*', 'deny', 'fs_x')]),
      on('read', claims, [rule('/etc/*', 'deny', 'other')]),
    ]).toEqual(['ask', 'ask', 'allow', 'deny', 'ask']);
  });
});

describe('the gate', () => {
  function open(parts: Partial<GateDeps>, ...answers: Answer[]) {
    const asked: Question[] = [];
    const gate = createPermissionGate({ rules: [], ...parts });
    const tool: Tool = {
      name: 'execute_command',
      description: '',
      parameters: {},
      effect: 'exec',
      claims: (args) => ({ command: (args as { command: string }).command }),
      run: async () => null,
    };
    const ask = async (question: Question): Promise<Answer> => {
      asked.push(question);
      return answers.shift() ?? { kind: 'permission', decision: 'deny' };
    };
    const pass = (command: string, cwd = '/w') =>
      gate.pass(tool, { command }, { cwd, signal: new AbortController().signal, ask }).then(
        () => 'passed',
        (error: unknown) => (error instanceof ReefError ? error.code : error),
      );
    return { pass, asked };
  }
  const say = (decision: 'allow_once' | 'allow_session' | 'allow_always' | 'deny'): Answer => ({
    kind: 'permission',
    decision,
  });

  verifies('R-93').test('asks once, for the session, or for good; for exactly that call', async () => {
    const kept = new Map<string, unknown>();
    const grants = {
      has: (print: string) => kept.has(print),
      add: (grant: { fingerprint: string }) => void kept.set(grant.fingerprint, grant),
    };
    const first = open(
      { grants },
      say('allow_once'),
      say('allow_session'),
      say('allow_always'),
      say('deny'),
      say('deny'),
    );
    const answers = [];
    for (const line of ['a', 'a', 'a', 'b', 'b', 'c']) answers.push(await first.pass(line));
    answers.push(await first.pass('a', '/elsewhere'));
    expect([answers, first.asked.length]).toEqual([
      ['passed', 'passed', 'passed', 'passed', 'passed', 'permission_denied', 'permission_denied'],
      5,
    ]);
    const next = open({ grants });
    expect([await next.pass('b'), await next.pass('a'), next.asked.length]).toEqual(['passed', 'permission_denied', 1]);
  });

  verifies('R-93').test('turns asking into yes when told to, but never a denial', async () => {
    const { pass, asked } = open({ confirmAll: true, rules: [{ tool: '*', match: 'rm *', action: 'deny' }] });
    expect([await pass('make'), await pass('make && rm x'), asked]).toEqual(['passed', 'permission_denied', []]);
  });

  verifies('R-93').test('takes any other answer for no, and says so when nobody is there', async () => {
    const odd = { kind: 'permission', decision: 'denied' } as unknown as Answer;
    const answers: Answer[] = [
      odd,
      { kind: 'input', text: 'yes' },
      { kind: 'confirm', confirmed: true },
      { kind: 'timeout', waitedMs: 1 },
      { kind: 'needs_human' },
    ];
    const { pass } = open({}, ...answers);
    const got = [];
    for (const _ of answers) got.push(await pass('x'));
    expect(got).toEqual([
      'permission_denied',
      'permission_denied',
      'permission_denied',
      'permission_denied',
      'needs_human',
    ]);
  });

  verifies('R-93').test('shows the whole command, where it would run, and why it asks', async () => {
    const { pass, asked } = open({});
    await pass('make all > log');
    expect(asked).toEqual([
      {
        kind: 'permission',
        question: 'May execute_command be used? it would run: > log; it would run: make all',
        tool: 'execute_command',
        arguments: { command: 'make all > log' },
        cwd: '/w',
        reasons: ['it would run: > log', 'it would run: make all'],
      },
    ]);
  });
});

describe('the loop guard', () => {
  const call = { name: 'fs_read', arguments: { path: 'a', limit: 1 }, output: 'x' };

  verifies('R-94').test('warns of the sixth equal result in ten steps, and stops at the next', () => {
    const tracker = createToolCallTracker({ max_repeats: 5, window: 10 });
    const verdicts = Array.from({ length: 7 }, () => {
      tracker.nextStep();
      return tracker.record(call);
    });
    expect(verdicts).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'alert', 'stop']);
  });

  verifies('R-94').test('takes arguments in another order for the same', () => {
    const tracker = createToolCallTracker({ max_repeats: 1, window: 10 });
    expect([tracker.record(call), tracker.record({ ...call, arguments: { limit: 1, path: 'a' } })]).toEqual([
      'ok',
      'alert',
    ]);
  });

  verifies('R-94').test('is never tripped by output that changes, by other input, or by what lies long back', () => {
    const tracker = createToolCallTracker({ max_repeats: 5, window: 10 });
    const polling = Array.from({ length: 100 }, (_, n) => {
      tracker.nextStep();
      return tracker.record({ ...call, output: String(n) });
    });
    const reading = Array.from({ length: 100 }, (_, n) => {
      tracker.nextStep();
      return tracker.record({ ...call, arguments: { path: String(n) } });
    });
    const rare = Array.from({ length: 30 }, () => {
      for (let n = 0; n < 3; n++) tracker.nextStep();
      return tracker.record(call);
    });
    expect(new Set([...polling, ...reading, ...rare])).toEqual(new Set(['ok']));
  });

  verifies('R-94').test('forgets at the next message of a person', () => {
    const tracker = createToolCallTracker({ max_repeats: 1, window: 10 });
    tracker.record(call);
    tracker.record(call);
    tracker.reset();
    expect([tracker.record(call), tracker.record(call), tracker.record(call)]).toEqual(['ok', 'alert', 'stop']);
  });
});
