import { expect, test } from 'vitest';
import { baseHost, baseSpec } from '../../../test/support/agents/codex-replay.ts';
import { busy, opened, Talk, THREAD, TURN, turn } from '../../../test/support/agents/codex-talk.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Effect, Json } from '../adapter.ts';
import { codexAdapter } from './adapter.ts';

verifies('A-55').test('unknown notifications and items are counted, whatever they hold', () => {
  const talk = busy();
  const item = { type: 'hologram', id: 'h' };
  expect([
    ...talk.note('thread/dreamt', { of: 'sheep' }),
    ...talk.note('item/started', { threadId: THREAD, turnId: TURN, item }),
    ...talk.note('item/completed', { threadId: THREAD, turnId: TURN, item }),
  ]).toEqual([
    { do: 'unknown', name: 'thread/dreamt' },
    { do: 'unknown', name: 'item hologram' },
  ]);
});

verifies('A-54').test('what is no message is a bad line', () => {
  const told = [7, [], null, {}, { id: true }].map((json) => new Talk().hear(json)[0]);
  expect(
    told.map((effect) => effect?.do === 'emit' && effect.event.type === 'error' && effect.event.payload.code),
  ).toEqual(Array(5).fill('bad_line'));
});

test('a plan, news of a sub-agent and a summary of the conversation are told', () => {
  const talk = busy();
  const of = (item: Json) => talk.note('item/completed', { threadId: THREAD, turnId: TURN, item });
  expect(
    [
      ...talk.note('turn/plan/updated', { threadId: THREAD, turnId: TURN, plan: [{ step: 'one', status: 'pending' }] }),
      ...of({ type: 'subAgentActivity', id: 's', kind: 'started', agentThreadId: 'sub', agentPath: '/root/helper' }),
      ...of({ type: 'contextCompaction', id: 'c' }),
    ].map((effect) => (effect.do === 'emit' ? effect.event.payload : effect)),
  ).toEqual([
    { kind: 'plan', entries: [{ text: 'one', status: 'pending' }] },
    { kind: 'subagent', id: 'sub', state: 'started', text: '/root/helper' },
    { kind: 'warning', message: 'Codex summarised the conversation to make room' },
  ]);
});

verifies('A-173').test('that it leaves the settings of the project alone is no warning, other notes are', () => {
  const talk = busy();
  const summary = 'Project-local config, hooks, and exec policies are disabled in the following folders until …';
  expect([
    ...talk.note('configWarning', { summary, details: null }),
    ...talk.note('configWarning', { summary: 'unknown key', details: 'colour' }),
  ]).toEqual([
    { do: 'routine' },
    { do: 'emit', event: { type: 'progress', payload: { kind: 'warning', message: 'unknown key colour' } } },
  ]);
});

test('a tool that is only told when over is still called before its result', () => {
  const talk = busy();
  const item = { type: 'webSearch', id: 'w', query: 'reef', action: null };
  const effects = talk.note('item/completed', { threadId: THREAD, turnId: TURN, item });
  expect(effects.map((effect) => effect.do === 'emit' && effect.event)).toEqual([
    {
      type: 'tool_call',
      payload: { id: 'w', name: 'web_search', tool: 'search', title: 'reef', input: { query: 'reef' } },
    },
    { type: 'progress', payload: { kind: 'tool_result', id: 'w', ok: true, text: 'reef' } },
  ]);
});

verifies('A-104').test('the line of a broken sandbox is an error once, and only where Codex sandboxes', () => {
  const text = 'WARNING: proceeding, even though we could not create PATH aliases: Refusing to create helper binaries';
  const first = codexAdapter.parse(codexAdapter.initial(baseSpec, baseHost), { stream: 'err', text });
  const again = codexAdapter.parse(first.state, { stream: 'err', text });
  const free = codexAdapter.initial(baseSpec, { ...baseHost, agentSandbox: false });
  const exit = { code: 0, signal: null, stderrTail: '' };
  expect({
    first: first.effects.map(
      (effect) => effect.do === 'emit' && effect.event.type === 'error' && effect.event.payload.code,
    ),
    again: again.effects,
    free: codexAdapter.parse(free, { stream: 'err', text }).effects,
    end: codexAdapter.finish(first.state, exit)?.code,
    sound: codexAdapter.finish(free, exit),
  }).toEqual({ first: ['agent_sandbox_broken'], again: [], free: [], end: 'agent_sandbox_broken', sound: undefined });
});

const failures: [Json, Partial<Extract<Effect, { do: 'turn'; is: 'failed' }>> | { do: 'limit' }][] = [
  ['usageLimitExceeded', { do: 'limit' }],
  ['rateLimitExceeded', { do: 'limit' }],
  [{ responseTooManyFailedAttempts: { httpStatusCode: 429 } }, { do: 'limit' }],
  ['unauthorized', { code: 'agent_not_logged_in', retryable: false }],
  [{ httpConnectionFailed: { httpStatusCode: 401 } }, { code: 'agent_not_logged_in', retryable: false, status: 401 }],
  [{ httpConnectionFailed: { httpStatusCode: 502 } }, { code: 'agent_error', retryable: true, status: 502 }],
  ['serverOverloaded', { code: 'agent_error', retryable: true }],
  ['contextWindowExceeded', { code: 'agent_error', retryable: false }],
  ['sandboxError', { code: 'agent_sandbox_broken', retryable: false }],
  [null, { code: 'agent_error', retryable: false }],
];

for (const [codexErrorInfo, wanted] of failures) {
  verifies('A-33', 'A-78', 'A-103').test(
    `a turn that failed by ${JSON.stringify(codexErrorInfo)} is understood`,
    () => {
      const error = { message: 'no', codexErrorInfo, additionalDetails: null };
      expect(busy().note('turn/completed', turn(TURN, 'failed', { error }))).toEqual([expect.objectContaining(wanted)]);
    },
  );
}

test('notices of Codex are warnings, a server that started is none', () => {
  const talk = opened();
  const told = [
    ...talk.note('warning', { threadId: THREAD, message: 'careful' }),
    ...talk.note('configWarning', { summary: 'odd key', details: 'line 3' }),
    ...talk.note('model/rerouted', { threadId: THREAD, turnId: TURN, fromModel: 'a', toModel: 'b', reason: 'x' }),
    ...talk.note('mcpServer/startupStatus/updated', { name: 'tools', status: 'ready', error: null }),
    ...talk.note('mcpServer/startupStatus/updated', { name: 'tools', status: 'failed', error: 'not found' }),
    ...talk.note('mcpServer/startupStatus/updated', { name: 'more', status: 'failed', error: null }),
  ];
  expect(told.map((effect) => effect.do === 'emit' && effect.event.payload)).toEqual(
    [
      'careful',
      'odd key line 3',
      'Codex answers with b in place of a',
      'the MCP server tools did not start: not found',
      'the MCP server more did not start',
    ].map((message) => ({ kind: 'warning', message })),
  );
});

verifies('A-103').test('a retry that has no number is counted, and a provider is quoted by its own words', () => {
  const talk = busy();
  const error = { message: 'Reconnecting... waiting for network', codexErrorInfo: null, additionalDetails: null };
  const retry = talk.note('error', { threadId: THREAD, turnId: TURN, willRetry: true, error });
  const again = talk.note('error', { threadId: THREAD, turnId: TURN, willRetry: true, error });
  const raw = ['{"error":{"message":"too long"}}', '{"error":{}}', '{no json'];
  const told = raw.flatMap((message) =>
    talk.note('error', { threadId: THREAD, turnId: TURN, willRetry: false, error: { ...error, message } }),
  );
  const { message } = error;
  expect([...retry, ...again, ...told].map((effect) => effect.do === 'emit' && effect.event.payload)).toEqual([
    { kind: 'retry', attempt: 1, message },
    { kind: 'retry', attempt: 2, message },
    { kind: 'warning', message: 'too long' },
    { kind: 'warning', message: '{"error":{}}' },
    { kind: 'warning', message: '{no json' },
  ]);
});

test('a turn that failed without a reason, and one that ended in a new way, are told as such', () => {
  const message = 'the turn failed and Codex gave no reason';
  expect([
    ...busy().note('turn/completed', turn(TURN, 'failed', { error: null })),
    ...busy().note('turn/completed', turn(TURN, 'suspended')),
  ]).toEqual([
    { do: 'turn', is: 'failed', code: 'agent_error', message, retryable: false },
    { do: 'turn', is: 'over', outcome: 'ended', result: '', stopReason: 'suspended' },
  ]);
});

verifies('A-54').test('answers of Codex that cannot be read are bad lines', () => {
  const sent = opened();
  sent.send('m', 'hi');
  const greeted = new Talk();
  greeted.hear({ id: 1, result: { userAgent: 'reef' } });
  const told = [
    ...new Talk().hear({ id: 1, result: {} }),
    ...greeted.hear({ id: 2, result: { thread: {} } }),
    ...sent.hear({ id: 3, result: {} }),
    ...busy().note('item/completed', { threadId: THREAD, turnId: TURN, item: { type: 'reasoning', id: 1 } }),
    ...busy().note('item/completed', { threadId: THREAD, turnId: TURN, item: { type: 'agentMessage', id: 1 } }),
    ...busy().note('item/completed', { threadId: THREAD, turnId: TURN, item: { type: 'subAgentActivity' } }),
    ...busy().note('turn/completed', { threadId: THREAD }),
  ];
  const codes = told.map(
    (effect) => effect.do === 'emit' && effect.event.type === 'error' && effect.event.payload.code,
  );
  expect(codes).toEqual(Array(7).fill('bad_line'));
});

verifies('A-78').test('a limit says when it resets, if that is a time at all', () => {
  const failed = turn(TURN, 'failed', { error: { message: 'no', codexErrorInfo: 'usageLimitExceeded' } });
  const window = (usedPercent: number, resetsAt: number | null) => ({ usedPercent, resetsAt, windowDurationMins: 300 });
  const limits = [
    { primary: window(100, 1_794_730_000), secondary: window(99, 1_794_999_999) },
    { primary: window(100, 1e300), secondary: null },
    { primary: window(100, null), secondary: null },
  ].map((rateLimits) => {
    const talk = busy();
    talk.note('account/rateLimits/updated', { rateLimits });
    return talk.note('turn/completed', failed)[0];
  });
  expect(limits).toEqual([
    { do: 'limit', message: 'no', resumeAt: '2026-11-15T08:06:40.000Z' },
    { do: 'limit', message: 'no' },
    { do: 'limit', message: 'no' },
  ]);
});
