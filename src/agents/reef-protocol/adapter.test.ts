import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { eventBodySchema } from '../../protocol/events.ts';
import type { Answer, Effect, Json, LaunchRequest, MachineFacts, Outgoing } from '../adapter.ts';
import { reefProtocolAdapter } from './adapter.ts';

const adapter = reefProtocolAdapter('scripted:x.yaml');
const spec: LaunchRequest = { jobId: 'j', cwd: '/repo', freshSessionId: 'fresh', prompt: '', clientVersion: '1' };
const machine: MachineFacts = {
  command: ['/bin/node', 'scripted-agent.ts', 'x.yaml'],
  agentSandbox: true,
  settings: {},
};

const hear = (json: Json): Effect[] => adapter.parse(null, { stream: 'out', json, skeleton: false }).effects;
const send = (outgoing: Outgoing): unknown => {
  const encoded = adapter.encode(null, outgoing);
  return 'lines' in encoded ? encoded.lines.map((line) => JSON.parse(line)) : encoded;
};
const badLine = (message: string): Effect[] => [
  {
    do: 'emit',
    event: { type: 'error', payload: { code: 'bad_line', scope: 'line', fatal: false, retryable: false, message } },
  },
];

describe('a launch', () => {
  test('names the session to begin or to go on with, and the model', () => {
    const plan = (more: Partial<LaunchRequest>) => adapter.command({ ...spec, ...more }, machine).args;
    expect([plan({}), plan({ sessionId: 'old', model: 'm' })]).toEqual([
      ['scripted-agent.ts', 'x.yaml', '--session', 'fresh'],
      ['scripted-agent.ts', 'x.yaml', '--resume', 'old', '--model', 'm'],
    ]);
  });

  test('that ends because of its script says so', () => {
    const exit = (code: number) =>
      adapter.finish(null, { code, signal: null, stderrTail: 'x\nscript_invalid: line 3: no\n' });
    expect([exit(2), exit(1)]).toEqual([{ code: 'script_invalid', message: 'line 3: no' }, undefined]);
  });
});

verifies('A-120', 'A-44').test('what Reef sends has a name, and the acknowledgement gives it back', () => {
  const answers: Answer[] = [{ kind: 'text', text: 'yes' }];
  expect([
    send({ kind: 'message', messageId: 'm1', text: 'do it' }),
    send({ kind: 'interrupt', messageId: 'i1' }),
    send({ kind: 'answer', requestId: '0', requestLine: '', answers }),
    hear({ ack: 'm1' }),
    hear({ ack: 'answer:"0"' }),
  ]).toEqual([
    [{ id: 'm1', text: 'do it' }],
    [{ id: 'i1', interrupt: true }],
    [{ id: 'answer:0', requestId: 0, answers }],
    [{ do: 'ack', messageId: 'm1' }],
    [{ do: 'ack', requestId: '"0"' }],
  ]);
});

describe('a line of the program', () => {
  const tokens = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: 0, scope: 'more' };
  const news: [Json, Effect][] = [
    [
      { do: 'ask', requestId: 0, questions: [{ kind: 'text', question: 'Who?', freeText: true }], new_field: 1 },
      { do: 'ask', requestId: '0', questions: [{ kind: 'text', question: 'Who?', freeText: true }] },
    ],
    [
      { do: 'withdraw', requestId: '0', by: 'agent' },
      { do: 'withdraw', requestId: '"0"', by: 'agent' },
    ],
    [
      { do: 'turn', is: 'failed', code: 'of_the_future', message: 'no', retryable: true },
      { do: 'turn', is: 'failed', code: 'agent_error', message: 'no', retryable: true },
    ],
  ];
  const same: Json[] = [
    { do: 'text', kind: 'text', id: 'm', text: 'hi', final: true },
    { do: 'session', sessionId: 's', cwd: '/repo' },
    { do: 'usage', report: { tokens, cost: { usd: 0.1, scope: 'session' }, partial: false } },
    { do: 'answer' },
    { do: 'turn', is: 'begun' },
    { do: 'turn', is: 'over', outcome: 'done', result: 'hi' },
    { do: 'limit', message: 'enough', resumeAt: '2026-01-01T00:00:00Z' },
  ];

  verifies('A-120').test('is an effect of the same words', () => {
    expect([...news.map(([line]) => hear(line)), ...same.map(hear)]).toEqual([
      ...news.map(([, effect]) => [effect]),
      ...same.map((line) => [line]),
    ]);
  });

  verifies('A-120').test('is an event as it is stored, unless it is Reef that tells it', () => {
    const event = (type: string, payload: Json): Json => ({ type, payload });
    const warning = event('progress', { kind: 'warning', message: 'careful' });
    const fatal = { code: 'agent_error', message: 'no', fatal: true, scope: 'process', retryable: false };
    expect(
      [warning, event('progress', { kind: 'budget', what: 'turns', used: 1, limit: 1 }), event('error', fatal)].map(
        hear,
      ),
    ).toEqual([
      [{ do: 'emit', event: warning }],
      badLine(": progress is Reef's to tell"),
      badLine(": error is Reef's to tell"),
    ]);
  });

  verifies('A-54', 'A-55').test('that cannot be read is an error of the line, an unknown one is counted', () => {
    expect([
      hear('hi'),
      hear({}),
      hear({ do: 'answer_me' }),
      hear({ type: 'mood', payload: {} }),
      hear({ ack: 1 }),
    ]).toEqual([
      badLine('not an object'),
      badLine('neither ack, do nor type'),
      [{ do: 'unknown', name: 'answer_me' }],
      [{ do: 'unknown', name: 'mood' }],
      badLine('ack: Invalid input: expected string, received number'),
    ]);
  });
});

verifies('Q-64').test('no line, however strange, throws, and what it says is an event of the contract', () => {
  const word = fc.constantFrom(
    'do',
    'type',
    'ack',
    'payload',
    'requestId',
    'questions',
    'is',
    'report',
    'kind',
    'text',
  );
  const value = fc.constantFrom<Json>(
    'ask',
    'turn',
    'usage',
    'progress',
    'error',
    'over',
    'text',
    0,
    null,
    [],
    {},
    '__proto__',
  );
  const line = fc.oneof(fc.jsonValue(), fc.dictionary(word, fc.oneof(value, fc.dictionary(word, value))));
  const property = fc.property(line, (json) => {
    const events = hear(json as Json).flatMap((effect) => (effect.do === 'emit' ? [effect.event] : []));
    return events.every((event) => eventBodySchema.safeParse(event).success);
  });
  fc.assert(property, { seed: 20_261_115, numRuns: 2000 });
});
