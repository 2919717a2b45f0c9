import { expect, test } from 'vitest';
import { baseHost, baseSpec } from '../../../test/support/agents/codex-replay.ts';
import { busy, input, opened, Talk, THREAD, TURN, turn } from '../../../test/support/agents/codex-talk.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { codexAdapter } from './adapter.ts';

test('it is started as an app-server that hears who Reef is', () => {
  const plan = codexAdapter.command(baseSpec, { ...baseHost, command: ['/opt/codex', '-c', 'x=1'] });
  expect({ ...plan, greeting: plan.greeting.map((line) => JSON.parse(line)) }).toEqual({
    file: '/opt/codex',
    args: ['-c', 'x=1', 'app-server'],
    env: {},
    stdin: 'fifo',
    greeting: [
      {
        id: 1,
        method: 'initialize',
        params: {
          clientInfo: { name: 'reef', title: 'Reef', version: '0.0.1' },
          capabilities: { experimentalApi: true },
        },
      },
    ],
  });
});

test('the native binary is looked for beside, below and inside the package of the launcher', () => {
  const { behindLauncher } = codexAdapter.describe();
  expect(behindLauncher?.('/lib/node_modules/@openai/codex/bin/codex.js').slice(0, 3)).toEqual([
    '/lib/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex',
    '/lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex',
    '/lib/node_modules/@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex',
  ]);
});

verifies('A-101', 'A-104').test(
  'a thread may ask, keeps the model, and is unsandboxed only where its sandbox cannot work',
  () => {
    const spec = { ...baseSpec, model: 'gpt-x', sessionId: THREAD };
    const talk = new Talk(codexAdapter.initial(spec, { ...baseHost, agentSandbox: false }));
    const writes = talk.hear({ id: 1, result: { userAgent: 'reef/0.166.0' } });
    expect(writes.map((effect) => (effect.do === 'write' ? JSON.parse(effect.line) : effect))).toEqual([
      { method: 'initialized' },
      {
        id: 2,
        method: 'thread/resume',
        params: {
          threadId: THREAD,
          excludeTurns: true,
          cwd: '/repo',
          approvalPolicy: 'on-request',
          sandbox: 'danger-full-access',
          model: 'gpt-x',
          config: { 'features.default_mode_request_user_input': true, suppress_unstable_features_warning: true },
        },
      },
    ]);
  },
);

test('nothing is sent before the conversation is open, nor while another message begins a turn', () => {
  const talk = new Talk();
  const before = talk.send('m', 'hi');
  const interrupt = talk.say({ kind: 'interrupt', messageId: 'i' });
  const open = opened();
  open.send('m', 'hi');
  expect([before, interrupt, open.send('n', 'more'), open.say({ kind: 'interrupt', messageId: 'i' })]).toEqual([
    { later: true },
    { later: true },
    { later: true },
    { later: true },
  ]);
});

verifies('A-102', 'A-48').test('a message to a busy Codex steers its turn', () => {
  expect(busy().send('m-2', 'also')).toEqual({
    id: 4,
    method: 'turn/steer',
    params: { threadId: THREAD, clientUserMessageId: 'm-2', expectedTurnId: TURN, input: input('also') },
  });
});

verifies('A-102').test('words that come too late for a turn begin the next one', () => {
  const talk = busy();
  talk.send('m-2', 'also');
  const [over] = talk.note('turn/completed', turn(TURN, 'completed'));
  const again = talk.hear({ id: 4, error: { code: -32600, message: 'no active turn to steer' } });
  const line = JSON.stringify({
    id: 4,
    method: 'turn/start',
    params: { threadId: THREAD, clientUserMessageId: 'm-2', input: input('also') },
  });
  expect([over, again]).toEqual([{ do: 'turn', is: 'over', outcome: 'done', result: '' }, [{ do: 'write', line }]]);
});

test('a message accepted into a turn that is over already does not block the next one', () => {
  const talk = busy();
  talk.send('m-2', 'also');
  talk.note('turn/completed', turn(TURN, 'interrupted'));
  const told = talk.hear({ id: 4, result: { turnId: TURN } });
  const next = talk.send('m-3', 'next') as { method: string };
  const message = 'a message was still waiting when its turn ended, and Codex dropped it';
  expect([told, next.method]).toEqual([
    [{ do: 'emit', event: { type: 'progress', payload: { kind: 'warning', message } } }],
    'turn/start',
  ]);
});

verifies('A-103').test('a full queue is tried again five times, then told', () => {
  const talk = opened();
  talk.send('m', 'hi');
  const full = { id: 3, error: { code: -32001, message: 'Server overloaded; retry later.' } };
  const told = Array.from({ length: 5 }, () => talk.hear(full)).map(([effect]) => effect?.do);
  expect(told).toEqual(['write', 'write', 'write', 'write', 'turn']);
});

verifies('A-103').test('a full queue at the opening is tried again as well', () => {
  const talk = new Talk();
  const [, opening] = talk.hear({ id: 1, result: { userAgent: 'reef/0.166.0' } });
  expect(talk.hear({ id: 2, error: { code: -32001, message: 'Server overloaded; retry later.' } })).toEqual([opening]);
});

verifies('A-51').test('a message too long to be kept joins a busy turn by a request that is never too late', () => {
  const talk = busy();
  const line = talk.send('long', 'x'.repeat(100_000)) as { method: string };
  expect([line.method, JSON.stringify(talk.state).length < 2000]).toEqual(['turn/start', true]);
});

test('a message sent again after a restart replaces its first copy', () => {
  const talk = opened();
  talk.send('m', 'hi');
  talk.send('m', 'hi');
  expect(talk.state.calls).toEqual([
    { id: 4, for: 'message', messageId: 'm', text: 'hi', isSteer: false, tries: 1, turnId: null },
  ]);
});

test('a turn has taken the message that began it, even if it never showed it', () => {
  const talk = opened();
  talk.send('m', 'hi');
  talk.hear({ id: 3, result: { turn: { id: TURN } } });
  talk.note('turn/started', turn(TURN, 'inProgress'));
  expect(talk.note('turn/completed', turn(TURN, 'completed'))).toEqual([
    { do: 'ack', messageId: 'm' },
    { do: 'turn', is: 'over', outcome: 'done', result: '' },
  ]);
});

verifies('A-65').test('to interrupt an idle Codex is done at once', () => {
  const talk = opened();
  expect(talk.say({ kind: 'interrupt', messageId: 'i' })).toEqual({ state: talk.state, lines: [], delivered: true });
});

verifies('A-102').test('an interrupt that came too late is acknowledged and cleans nothing', () => {
  const talk = busy();
  talk.say({ kind: 'interrupt', messageId: 'i' });
  const late = { id: 4, error: { code: -32600, message: 'no active turn to interrupt' } };
  expect(talk.hear(late)).toEqual([{ do: 'ack', messageId: 'i' }]);
});

test('a message refused for good fails the turn it should have begun, and is only told during another', () => {
  const error = { code: -32600, message: 'no' };
  const idle = opened();
  idle.send('m', 'hi');
  const talk = busy();
  talk.send('long', 'x'.repeat(100_000));
  const message = 'Codex refused a message: no';
  expect([...idle.hear({ id: 3, error }), ...talk.hear({ id: 4, error })]).toEqual([
    { do: 'turn', is: 'failed', code: 'agent_error', message, retryable: false },
    { do: 'emit', event: { type: 'progress', payload: { kind: 'warning', message } } },
  ]);
});

test('a handshake that is refused ends the job with its reason', () => {
  const [failed] = new Talk().hear({ id: 1, error: { code: -32600, message: 'Not supported' } });
  const message = 'Codex did not open the conversation: Not supported';
  expect(failed).toEqual({ do: 'turn', is: 'failed', code: 'agent_error', message, retryable: false });
});
