import type {
  InitializeRequest,
  LoadSessionRequest,
  NewSessionRequest,
  SetSessionConfigOptionRequest,
} from '@agentclientprotocol/sdk';
import { describe, expect, test } from 'vitest';
import { agent, chunk, initialized, machine, spec, Talk, written } from '../../../test/support/agents/acp-talk.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Effect } from '../adapter.ts';

describe('the hand-shake', () => {
  test('begins with what Reef offers', () => {
    const plan = agent.command(spec, machine);
    const params: InitializeRequest = {
      protocolVersion: 1,
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        elicitation: { form: {}, url: {} },
        session: { compaction: {} },
      },
      clientInfo: { name: 'reef', version: '1.2.3' },
    };
    expect({ ...plan, greeting: plan.greeting.map((line) => JSON.parse(line)) }).toEqual({
      file: '/bin/test-agent',
      args: ['acp'],
      env: {},
      stdin: 'fifo',
      greeting: [{ jsonrpc: '2.0', id: 1, method: 'initialize', params }],
    });
  });

  test('logs in when a method is named, then opens a session with our own server', () => {
    const mcp = { name: 'reef', command: '/bin/reef', args: ['mcp'], env: { REEF_JOB: 'j' } };
    const talk = new Talk({ mcp }, { auth: 'api-key' });
    const params: NewSessionRequest = {
      cwd: '/repo',
      mcpServers: [{ name: 'reef', command: '/bin/reef', args: ['mcp'], env: [{ name: 'REEF_JOB', value: 'j' }] }],
    };
    expect([written(talk.hear(initialized)), written(talk.hear({ id: 2, result: {} }))]).toEqual([
      [{ jsonrpc: '2.0', id: 2, method: 'authenticate', params: { methodId: 'api-key' } }],
      [{ jsonrpc: '2.0', id: 3, method: 'session/new', params }],
    ]);
  });

  test('loads the session on resume, and history that is replayed says nothing', () => {
    const talk = new Talk({ sessionId: 'old' });
    const params: LoadSessionRequest = { sessionId: 'old', cwd: '/repo', mcpServers: [] };
    expect([
      written(talk.hear(initialized)),
      talk.update(chunk),
      talk.update({ sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount: 1, currency: 'USD' } }),
      talk.hear({ id: 2, result: null }),
    ]).toEqual([
      [{ jsonrpc: '2.0', id: 2, method: 'session/load', params }],
      [],
      [],
      [{ do: 'session', sessionId: 'old' }],
    ]);
  });

  const failed = (code: string, message: string) => [{ do: 'turn', is: 'failed', code, message, retryable: false }];

  verifies('A-113').test('fails with resume_unsupported where sessions cannot be loaded', () => {
    const talk = new Talk({ sessionId: 'old' });
    const none = { id: 1, result: { protocolVersion: 1, agentCapabilities: {} } };
    expect([talk.hear(none), talk.message('m1')]).toEqual([
      failed('resume_unsupported', 'the agent cannot load a session'),
      [{ refuse: 'resume_unsupported', message: 'the agent cannot load a session' }],
    ]);
  });

  verifies('A-33').test('fails as not logged in, naming how to, whichever step says so', () => {
    const atLogin = new Talk({}, { auth: 'api-key' });
    atLogin.hear(initialized);
    const atSession = new Talk();
    atSession.hear(initialized);
    const message = (what: string) => `${what}. To log in: see the documentation of test-agent`;
    expect([
      atLogin.hear({ id: 2, error: { code: -32603, message: 'no key' } }),
      atSession.hear({ id: 2, error: { code: -32000, message: 'Authentication required' } }),
    ]).toEqual([
      failed('agent_not_logged_in', message('no key')),
      failed('agent_not_logged_in', message('Authentication required')),
    ]);
  });

  test('fails with an agent of another version, or of another protocol', () => {
    expect([
      new Talk().hear({ id: 1, result: { protocolVersion: 2 } }),
      new Talk().hear({ id: 1, result: 'hello' }),
    ]).toEqual([
      failed('agent_error', 'the agent does not speak version 1 of ACP'),
      failed('agent_error', 'the agent does not speak version 1 of ACP'),
    ]);
  });

  test('fails when no session comes of it', () => {
    const talk = new Talk();
    talk.hear(initialized);
    expect(talk.hear({ id: 2, result: {} })).toEqual(failed('agent_error', 'the agent opened no session'));
  });

  const opened = (result: object) => {
    const talk = new Talk({ model: 'big' });
    talk.hear(initialized);
    return { talk, effects: talk.hear({ id: 2, result: { sessionId: 's', ...result } }) };
  };

  test('chooses the model as the agent offers it, and only then takes messages', () => {
    const byOption = opened({ configOptions: [{ id: 'm', category: 'model', currentValue: 'small' }] });
    const byMethod = opened({ models: { currentModelId: 'small' } });
    const params: SetSessionConfigOptionRequest = { sessionId: 's', configId: 'm', value: 'big' };
    expect([written(byOption.effects), written(byMethod.effects)]).toEqual([
      [{ jsonrpc: '2.0', id: 3, method: 'session/set_config_option', params }],
      [{ jsonrpc: '2.0', id: 3, method: 'session/set_model', params: { sessionId: 's', modelId: 'big' } }],
    ]);
    const before = byOption.talk.message('m1');
    byOption.talk.hear({ id: 3, result: {} });
    expect([before, byOption.talk.message('m1')]).toMatchObject([[{ later: true }], [{ id: 4 }]]);
  });

  test('fails when the model cannot be had', () => {
    const { talk } = opened({ models: {} });
    const session: Effect = { do: 'session', sessionId: 's', model: 'big' };
    expect([talk.hear({ id: 3, error: { code: -32602, message: 'model not found' } }), opened({}).effects]).toEqual([
      failed('bad_request', 'model big: model not found'),
      [session, ...failed('bad_request', 'model big: this agent offers no choice of models')],
    ]);
  });
});
