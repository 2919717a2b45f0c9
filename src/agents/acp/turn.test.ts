import type { PromptRequest } from '@agentclientprotocol/sdk';
import { describe, expect, test } from 'vitest';
import { chunk, initialized, Talk } from '../../../test/support/agents/acp-talk.ts';
import { verifies } from '../../../test/support/verifies.ts';

describe('a message', () => {
  verifies('A-48').test('waits for the session, and for the end of a turn', () => {
    const talk = new Talk();
    const early = talk.message('m1');
    talk.hear(initialized);
    talk.hear({ id: 2, result: { sessionId: 's' } });
    const params: PromptRequest = { sessionId: 's', prompt: [{ type: 'text', text: 'do it' }] };
    const first = talk.message('m1');
    const busy = talk.message('m2');
    talk.hear({ id: 3, result: { stopReason: 'end_turn' } });
    expect([early, first, busy, talk.message('m2')]).toEqual([
      [{ later: true }],
      [{ jsonrpc: '2.0', id: 3, method: 'session/prompt', params }],
      [{ later: true }],
      [{ jsonrpc: '2.0', id: 4, method: 'session/prompt', params }],
    ]);
  });

  test('that is sent again before the agent took it is the same line', () => {
    const talk = Talk.ready();
    const first = talk.message('m1');
    const second = talk.message('m1');
    talk.update(chunk);
    expect([second, talk.message('m1')]).toEqual([first, [{ later: true }]]);
  });

  verifies('A-44').test('is taken at the first news of the turn, not at news of the session', () => {
    const talk = Talk.working();
    expect([
      talk.update({ sessionUpdate: 'available_commands_update', availableCommands: [] }),
      talk.update(chunk),
    ]).toEqual([
      [],
      [
        { do: 'ack', messageId: 'm1' },
        { do: 'turn', is: 'begun' },
        { do: 'answer' },
        expect.objectContaining({ do: 'usage' }),
        { do: 'text', kind: 'text', id: 'm1', text: 'hi', final: false },
      ],
    ]);
  });
});

verifies('A-173').test('a history that is made shorter is told once, with how it ended', () => {
  const talk = Talk.working();
  talk.update(chunk);
  const compaction = (status: string, more = {}) =>
    talk.update({ sessionUpdate: 'compaction_update', compactionId: 'c', status, ...more });
  const told = (message: string) => ({
    do: 'emit',
    event: { type: 'progress', payload: { kind: 'warning', message } },
  });
  expect([
    compaction('in_progress'),
    compaction('in_progress', { summary: [] }),
    compaction('completed'),
    compaction('failed', { error: 'too long' }),
  ]).toEqual([
    [],
    [],
    [told(`${talk.state.agent.name} summarised the conversation to make room`)],
    [told(`${talk.state.agent.name} could not summarise the conversation: too long`)],
  ]);
});

describe('the end of a turn', () => {
  const end = (result: object, name = 'other') => {
    const talk = new Talk();
    talk.hear({ id: 1, result: { ...initialized.result, agentInfo: { name } } });
    talk.hear({ id: 2, result: { sessionId: 's' } });
    talk.message('m1');
    return talk.hear({ id: 3, ...result }).slice(2);
  };
  const outcome = (stopReason: string) => end({ result: { stopReason } }).at(-1);

  verifies('A-112').test('is done, interrupted, or ended with its reason', () => {
    const over = (kind: string, stopReason: string) => ({
      do: 'turn',
      is: 'over',
      outcome: kind,
      result: '',
      stopReason,
    });
    expect(['end_turn', 'cancelled', 'max_tokens', 'refusal', 'constructor'].map(outcome)).toEqual([
      over('done', 'end_turn'),
      over('interrupted', 'cancelled'),
      over('ended', 'max_tokens'),
      over('ended', 'refusal'),
      over('ended', 'constructor'),
    ]);
  });

  verifies('A-77').test('tells tokens of the turn, and says where they are not all', () => {
    const usage = { inputTokens: 7, outputTokens: 3, cachedReadTokens: 2, cachedWriteTokens: 1, thoughtTokens: 4 };
    const tokens = { input: 7, output: 3, cacheRead: 2, cacheWrite: 1, reasoning: 4, scope: 'more' };
    const quota = { quota: { token_count: { input_tokens: 7, output_tokens: 3 } } };
    const few = { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, reasoning: 0, scope: 'more' };
    const report = (name: string, more: object) => end({ result: { stopReason: 'end_turn', ...more } }, name)[0];
    expect([
      report('@agentclientprotocol/claude-agent-acp', { usage, _meta: quota }),
      report('OpenCode', { usage }),
      report('gemini-cli', { _meta: quota }),
      report('codex-acp', {}),
    ]).toEqual([
      { do: 'usage', report: { tokens, partial: false } },
      { do: 'usage', report: { tokens, partial: true } },
      { do: 'usage', report: { tokens: few, partial: false } },
      { do: 'usage', report: { partial: true } },
    ]);
  });

  test('at a limit is no failure', () => {
    expect(end({ error: { code: 429, message: '{"error":{"message":"quota exceeded"}}' } })).toEqual([
      { do: 'limit', message: 'quota exceeded' },
    ]);
  });

  test('with an error of the provider can be tried again', () => {
    expect(end({ error: { code: 503, message: 'overloaded' } })).toEqual([
      { do: 'turn', is: 'failed', code: 'agent_error', message: 'overloaded', status: 503, retryable: true },
    ]);
  });

  test('without a reason is a failure, with no words its number', () => {
    const failed = { do: 'turn', is: 'failed', retryable: false };
    expect([end({ result: {} }), end({ error: { code: -32603, message: 'Internal error' } })]).toEqual([
      [{ ...failed, code: 'bad_line', message: 'the response to session/prompt has no stopReason' }],
      [{ ...failed, code: 'agent_error', message: 'error -32603' }],
    ]);
  });
});
