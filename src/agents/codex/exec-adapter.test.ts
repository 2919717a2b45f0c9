import { expect, test } from 'vitest';
import { baseHost, baseSpec, recordings, replay } from '../../../test/support/agents/codex-replay.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Json } from '../adapter.ts';
import { codexExecAdapter } from './exec-adapter.ts';

verifies('A-105', 'A-85').test('the prompt is a file on stdin and never an argument', () => {
  const plan = codexExecAdapter.command({ ...baseSpec, prompt: 'do it' }, baseHost);
  expect(plan).toEqual({
    file: '/opt/codex',
    args: ['exec', '-s', 'workspace-write', '-C', '/repo', '--skip-git-repo-check', '--json', '-'],
    env: {},
    stdin: 'file',
    greeting: [],
  });
});

verifies('A-105').test('a resumed thread may write again: sandbox and folder stand before `resume`', () => {
  const mcp = { name: 'reef', command: '/opt/reef', args: ['mcp', 'a "b"'], env: { REEF_TOKEN: 'secret' } };
  const plan = codexExecAdapter.command(
    { ...baseSpec, sessionId: 'thread-1', model: 'gpt-x', mcp },
    { ...baseHost, agentSandbox: false },
  );
  expect([plan.args, plan.env]).toEqual([
    [
      'exec',
      ...['-s', 'danger-full-access', '-C', '/repo', '--skip-git-repo-check'],
      'resume',
      ...['--json', '-m', 'gpt-x'],
      ...['-c', 'mcp_servers.reef.command="/opt/reef"'],
      ...['-c', 'mcp_servers.reef.args=["mcp","a \\"b\\""]'],
      ...['-c', 'mcp_servers.reef.env_vars=["REEF_TOKEN"]'],
      ...['-c', 'mcp_servers.reef.default_tools_approval_mode="approve"'],
      'thread-1',
      '-',
    ],
    { REEF_TOKEN: 'secret' },
  ]);
});

verifies('A-105').test('it says that it asks nothing, and takes no word while it runs', () => {
  const { asks, busyMessage } = codexExecAdapter.describe();
  const state = codexExecAdapter.initial(baseSpec, baseHost);
  const refusals = [
    codexExecAdapter.encode(state, { kind: 'message', messageId: 'm', text: 'x' }),
    codexExecAdapter.encode(state, { kind: 'interrupt', messageId: 'i' }),
    codexExecAdapter.encode(state, { kind: 'answer', requestId: '0', requestLine: '{}', answers: [] }),
  ].map((encoded) => 'refuse' in encoded && encoded.refuse);
  expect({ asks, busyMessage, refusals }).toEqual({
    asks: [],
    busyMessage: 'refused',
    refusals: ['send_unsupported', 'send_unsupported', 'question_not_found'],
  });
});

verifies('A-76').test('answers of the model are counted one by one, though exec does not tell them apart', () => {
  const counted = recordings('exec').flatMap((recording) => {
    const { effects } = replay(codexExecAdapter, recording);
    const tokens = effects.flatMap((effect) => (effect.do === 'usage' ? [effect.report.tokens] : []));
    const output = tokens.findLast((told) => told?.scope === 'session')?.output;
    // Every scripted answer made 20 output tokens; exec shows nothing of an answer whose only tool was
    // refused or could not start.
    const isScripted =
      output !== undefined && output % 20 === 0 && !/resume|readonly|missing-write/.test(recording.name);
    const answers = effects.filter((effect) => effect.do === 'answer').length;
    return isScripted ? [{ name: recording.name, answers, expected: (output ?? 0) / 20 }] : [];
  });
  expect(counted.length).toBeGreaterThan(10);
  expect(counted.map(({ name, answers }) => ({ name, answers }))).toEqual(
    counted.map(({ name, expected }) => ({ name, answers: expected })),
  );
});

verifies('A-77').test('the usage of a resumed thread is the total of the thread', () => {
  const totals = ['resume-1', 'resume-2', 'resume-3-last'].map((name) => {
    const recording = recordings('exec').find((candidate) => candidate.name === name);
    const effects = recording ? replay(codexExecAdapter, recording).effects : [];
    return effects.flatMap((effect) => (effect.do === 'usage' ? [effect.report.tokens] : [])).at(-1);
  });
  expect(totals.map((tokens) => [tokens?.input, tokens?.scope])).toEqual([
    [100, 'session'],
    [300, 'session'],
    [400, 'session'],
  ]);
});

verifies('A-104').test('a run whose sandbox was broken failed, though it exits with 0', () => {
  const state = { ...codexExecAdapter.initial(baseSpec, baseHost), isSandboxBroken: true };
  expect(codexExecAdapter.finish(state, { code: 0, signal: null, stderrTail: '' })?.code).toBe('agent_sandbox_broken');
});

test('a thread it does not know is told from its last words', () => {
  const state = codexExecAdapter.initial(baseSpec, baseHost);
  const stderrTail = 'Error: thread/resume: thread/resume failed: no rollout found for thread id 9 (code -32600)\n';
  expect(codexExecAdapter.finish(state, { code: 1, signal: null, stderrTail })).toEqual({
    code: 'no_session',
    message: 'Codex does not know this conversation: no rollout found for thread id 9',
  });
});

test('a list of things to do is a plan, an error item a warning, an unknown item is counted', () => {
  const state = codexExecAdapter.initial(baseSpec, baseHost);
  const lines: Json[] = [
    { type: 'item.started', item: { id: '1', type: 'todo_list', items: [{ text: 'a', completed: false }] } },
    { type: 'item.updated', item: { id: '1', type: 'todo_list', items: [{ text: 'a', completed: true }] } },
    { type: 'item.completed', item: { id: '2', type: 'error', message: 'careful' } },
    { type: 'item.completed', item: { id: '3', type: 'hologram' } },
    { type: 'turn.dreamt' },
    { type: 'turn.failed' },
    'words',
  ];
  const effects = lines.flatMap(
    (json) => codexExecAdapter.parse(state, { stream: 'out', json, skeleton: false }).effects,
  );
  expect(effects.map((effect) => (effect.do === 'emit' ? effect.event.payload : effect))).toEqual([
    { kind: 'plan', entries: [{ text: 'a', status: 'pending' }] },
    { kind: 'plan', entries: [{ text: 'a', status: 'completed' }] },
    { kind: 'warning', message: 'careful' },
    { do: 'unknown', name: 'item hologram' },
    { do: 'unknown', name: 'turn.dreamt' },
    expect.objectContaining({ code: 'bad_line' }),
    expect.objectContaining({ code: 'bad_line' }),
  ]);
});
