import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { Answer, Effect, Json, LaunchRequest, MachineFacts, Outgoing } from '../adapter.ts';
import { claudeAdapter } from './adapter.ts';
import type { ClaudeState } from './state.ts';

const request: LaunchRequest = {
  jobId: '01K',
  cwd: '/repo',
  freshSessionId: '11111111-2222-4333-8444-555555555555',
  prompt: 'secret task',
  clientVersion: '1.0.0',
};

function hostOf(version?: string): MachineFacts {
  const found = version === undefined ? {} : { version };
  return { command: ['/opt/claude', '--leading'], agentSandbox: true, settings: {}, ...found };
}

function stateOf(version = '2.1.325'): ClaudeState {
  return claudeAdapter.initial(request, hostOf(version));
}

function read(state: ClaudeState, ...lines: Json[]): { state: ClaudeState; effects: Effect[] } {
  let current = state;
  const effects = lines.flatMap((json) => {
    const parsed = claudeAdapter.parse(current, { stream: 'out', json, skeleton: false });
    current = parsed.state;
    return parsed.effects;
  });
  return { state: current, effects };
}

function send(state: ClaudeState, outgoing: Outgoing): { state: ClaudeState; line: Json } {
  const encoded = claudeAdapter.encode(state, outgoing);
  if (!('lines' in encoded)) throw new Error(JSON.stringify(encoded));
  return { state: encoded.state, line: JSON.parse(encoded.lines.join('')) };
}

const say = (told: string): Json => ({ type: 'system', subtype: 'session_state_changed', state: told });
const init: Json = { type: 'system', subtype: 'init', session_id: 's', claude_code_version: '2.1.325' };
const result = (more: { [key: string]: Json } = {}): Json => ({
  type: 'result',
  is_error: false,
  terminal_reason: 'completed',
  result: 'said',
  ...more,
});
const tasks = (...ids: string[]): Json => ({
  type: 'system',
  subtype: 'background_tasks_changed',
  tasks: ids.map((task_id) => ({ task_id })),
});
const ended = (status: string): Json => ({ type: 'system', subtype: 'task_notification', task_id: 't', status });
const ask = (id: Json, more: { [key: string]: Json } = {}): { [key: string]: Json } => ({
  type: 'control_request',
  request_id: id,
  request: { subtype: 'can_use_tool', tool_name: 'Bash', input: { command: 'ls' }, tool_use_id: 'toolu_1', ...more },
});
const over = (
  outcome: 'done' | 'ended' | 'interrupted',
  more: { result?: string; stopReason?: string } = {},
): Effect => ({
  do: 'turn',
  is: 'over',
  outcome,
  result: 'said',
  ...more,
});
const begun: Effect = { do: 'turn', is: 'begun' };

verifies('A-30').test('a turn is over when Claude is idle, with what its last result said', () => {
  const failed = result({ is_error: true, terminal_reason: 'api_error', result: 'no' });
  const { effects } = read(stateOf(), say('running'), failed, result(), say('idle'), say('idle'));
  expect(effects).toEqual([begun, over('done')]);
});

verifies('A-30').test('an idle Claude with a background task goes on, and its turn with it', () => {
  const waiting = read(stateOf(), say('running'), tasks('t'), result(), say('idle'));
  expect(waiting.effects).toEqual([begun]);
  const woken = read(waiting.state, ended('completed'), tasks(), say('running'), result({ result: 'more' }));
  expect(woken.effects.filter((effect) => effect.do === 'turn')).toEqual([]);
  expect(read(woken.state, say('idle')).effects).toEqual([over('done', { result: 'more' })]);
});

verifies('A-30').test('a background task that is stopped wakes nobody, so the turn is over with it', () => {
  const waiting = read(stateOf(), say('running'), tasks('t'), result(), say('idle'));
  const { effects } = read(waiting.state, ended('stopped'), tasks());
  expect(effects.filter((effect) => effect.do === 'turn')).toEqual([over('done')]);
});

verifies('A-30').test('a version that only tells starts and ends of tasks is followed by these', () => {
  const start: Json = { type: 'system', subtype: 'task_started', task_id: 't', description: 'd' };
  const waiting = read(stateOf('2.1.197'), init, start, result());
  expect(waiting.effects.filter((effect) => effect.do === 'turn')).toEqual([begun]);
  const killed: Json = { type: 'system', subtype: 'task_updated', task_id: 't', patch: { status: 'killed' } };
  expect(read(waiting.state, killed).effects).toEqual([over('done')]);
});

test('a command that Claude waits for is told as a tool call alone; one in the background is told when it ends, too', () => {
  const start = (is_backgrounded: boolean): Json => ({
    ...{ type: 'system', subtype: 'task_started', task_id: 't', description: 'Run command' },
    ...{ task_type: 'local_bash', is_backgrounded },
  });
  const told = (isBackgrounded: boolean) => {
    const lines = [say('running'), start(isBackgrounded), ended('completed')];
    const { state, effects } = read(stateOf(), ...lines);
    return [effects.filter((effect) => effect.do !== 'turn').length, state.commands ?? []];
  };
  expect([told(false), told(true)]).toEqual([
    [0, []],
    [2, []],
  ]);
});

verifies('A-30').test('watchers and work on other machines hold no turn open', () => {
  const ambient: Json = {
    type: 'system',
    subtype: 'background_tasks_changed',
    tasks: [
      { task_id: 'a', ambient: true },
      { task_id: 'b', off_host: true },
    ],
  };
  expect(read(stateOf(), say('running'), ambient, result(), say('idle')).effects).toEqual([begun, over('done')]);
});

verifies('A-30').test('without session states a result ends the turn, and idleness without a result does too', () => {
  expect(read(stateOf(), result()).effects).toEqual([begun, over('done')]);
  expect(read(stateOf(), say('running'), say('idle')).effects).toEqual([begun, over('ended', { result: '' })]);
});

verifies('A-91', 'A-65').test('a failed or interrupted turn waits for no background task', () => {
  const failed = result({ is_error: true, terminal_reason: 'prompt_too_long', result: 'long', api_error_status: 400 });
  const aborted = result({ is_error: true, terminal_reason: 'aborted_tools', subtype: 'error_during_execution' });
  expect(read(stateOf(), say('running'), tasks('t'), failed, say('idle')).effects.at(-1)).toEqual({
    ...{ do: 'turn', is: 'failed', code: 'agent_error', message: 'long', retryable: false, status: 400 },
  });
  expect(read(stateOf(), say('running'), tasks('t'), aborted).effects.at(-1)).toEqual(
    over('interrupted', { stopReason: 'aborted_tools' }),
  );
});

test('a turn that a hook or a limit of turns ended is neither done nor failed', () => {
  const { effects } = read(stateOf(), result({ terminal_reason: 'hook_stopped', stop_reason: 'tool_use' }));
  expect(effects.at(-1)).toEqual(over('ended', { stopReason: 'hook_stopped' }));
});

verifies('A-65').test('an interrupt that Claude refuses is told', () => {
  const { state } = send(stateOf(), { kind: 'interrupt', messageId: 'i1' });
  const response = { subtype: 'error', request_id: 'i1', error: 'busy' };
  const message = 'Claude did not take the interrupt: busy';
  expect(read(state, { type: 'control_response', response }).effects).toEqual([
    { do: 'ack', messageId: 'i1' },
    { do: 'emit', event: { type: 'progress', payload: { kind: 'warning', message } } },
  ]);
});

verifies('A-78').test('a refused request is the limit, with the time it is lifted if that was told', () => {
  const refused: Json = { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: 1_794_800_000 } };
  const allowed: Json = { type: 'rate_limit_event', rate_limit_info: { status: 'allowed', resetsAt: 1_794_800_000 } };
  const failed = result({ is_error: true, terminal_reason: 'api_error', api_error_status: 429, result: 'limit hit' });
  const limit = { do: 'limit', message: 'limit hit' };
  expect(read(stateOf(), refused, failed).effects).toEqual([begun, { ...limit, resumeAt: '2026-11-16T03:33:20.000Z' }]);
  expect(read(stateOf(), refused, allowed, failed).effects).toEqual([begun, limit]);
  expect(read(stateOf(), refused, result()).effects).toEqual([begun, over('done')]);
});

verifies('A-77').test('tokens of sub-agents count where they are told, else the sum is marked partial', () => {
  const usage = { input_tokens: 10, output_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 4 };
  const line = { type: 'assistant', parent_tool_use_id: 'toolu_0', message: { id: 'm', content: [] } };
  const model = { inputTokens: 5, outputTokens: 1, thinkingTokens: 1 };
  const reports = (more: { [key: string]: Json }, ...before: Json[]) =>
    read(stateOf(), ...before, result(more)).effects.filter((effect) => effect.do === 'usage');
  const tokens = { input: 10, output: 2, cacheRead: 3, cacheWrite: 4, reasoning: 0, scope: 'more' };
  expect(reports({ usage })).toEqual([{ do: 'usage', report: { tokens, partial: false } }]);
  expect(reports({ usage }, line)).toEqual([{ do: 'usage', report: { tokens, partial: true } }]);
  expect(reports({ usage, total_cost_usd: 0.5, model_usage_since_last_result: { a: model, b: model } }, line)).toEqual([
    {
      do: 'usage',
      report: {
        tokens: { input: 10, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: 2, scope: 'more' },
        cost: { usd: 0.5, scope: 'session' },
        partial: false,
      },
    },
  ]);
});

verifies('A-77').test('a total of nothing is no report: it would look like a new session', () => {
  const { effects } = read(stateOf(), result({ total_cost_usd: 0, usage: { input_tokens: 0 } }));
  expect(effects.filter((effect) => effect.do === 'usage')).toEqual([]);
});

verifies('A-76').test('each answer of the model counts once, one that Claude made up does not', () => {
  const line = (id: string, model: string): Json => ({ type: 'assistant', message: { id, model, content: [] } });
  const { effects } = read(stateOf(), line('a', 'm'), line('b', 'm'), line('a', 'm'), line('c', '<synthetic>'));
  expect(effects.filter((effect) => effect.do === 'answer')).toHaveLength(2);
});

verifies('A-55').test('a request that Reef does not serve is refused at once', () => {
  const { effects } = read(stateOf(), {
    type: 'control_request',
    request_id: 0,
    request: { subtype: 'hook_callback' },
  });
  const response = { subtype: 'error', request_id: 0, error: 'Unsupported control request subtype: hook_callback' };
  expect(effects).toEqual([
    { do: 'unknown', name: 'control_request/hook_callback' },
    { do: 'write', line: JSON.stringify({ type: 'control_response', response }) },
  ]);
});

verifies('A-54', 'A-55').test('a permission request that can not be read is told, and refused', () => {
  const { effects } = read(stateOf(), ask('r', { input: 'no object' }));
  expect(effects.map((effect) => effect.do)).toEqual(['emit', 'write']);
});

verifies('A-41', 'A-43').test('ids may be 0, and a withdrawn question is withdrawn by its JSON text', () => {
  const { state, effects } = read(stateOf(), ask(0), ask('0'), { type: 'control_cancel_request', request_id: 0 });
  expect(effects.map((effect) => ('requestId' in effect ? [effect.do, effect.requestId] : effect.do))).toEqual([
    ['ask', '0'],
    ['ask', '"0"'],
    ['withdraw', '0'],
  ]);
  expect(state.asked.map(({ requestId }) => requestId)).toEqual(['"0"']);
});

verifies('A-43').test('a tool that ran or was refused without our answer withdraws its question', () => {
  const ran = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }] };
  const { effects } = read(stateOf(), ask('r'), { type: 'user', message: ran });
  expect(effects[1]).toEqual({ do: 'withdraw', requestId: '"r"', by: 'agent' });
});

verifies('A-44').test('an answer is taken when Claude runs again, or its turn is over', () => {
  const answers: Answer[] = [{ kind: 'permission', decision: 'allow_once' }];
  const asked = read(stateOf(), say('running'), ask('r'));
  const outgoing: Outgoing = { kind: 'answer', requestId: '"r"', requestLine: JSON.stringify(ask('r')), answers };
  const { state } = send(asked.state, outgoing);
  const ack: Effect = { do: 'ack', requestId: '"r"' };
  expect(read(state, say('requires_action')).effects).toEqual([]);
  expect(read(state, say('running')).effects).toEqual([ack]);
  expect(read(state, result(), say('idle')).effects).toEqual([ack, over('done')]);
  expect(read(asked.state, say('running')).effects).toEqual([]);
});

verifies('A-44').test('a message is taken when Claude names it, or says hello without naming any', () => {
  const { state } = send(stateOf(), { kind: 'message', messageId: 'm1', text: 'hi' });
  const named = (name: string): Json => ({ type: 'command_lifecycle', command_uuid: 'm1', state: name });
  const ack: Effect = { do: 'ack', messageId: 'm1' };
  const acks = (...lines: Json[]) => read(state, ...lines).effects.filter((effect) => effect.do === 'ack');
  expect(acks(named('queued'), named('started'), init)).toEqual([ack]);
  expect(acks(init, init)).toEqual([ack]);
  expect(acks(named('refused'), init)).toEqual([]);
  expect(acks({ type: 'user', uuid: 'm1', isReplay: true, message: { content: 'hi' } })).toEqual([ack]);
});

verifies('A-45').test('a message that the resumed session knows already is taken, and its turn is over', () => {
  const { state } = send(stateOf(), { kind: 'message', messageId: 'm1', text: 'hi' });
  const known: Json = { type: 'command_lifecycle', command_uuid: 'm1', state: 'completed' };
  expect(read(state, known, say('idle')).effects).toEqual([
    { do: 'ack', messageId: 'm1' },
    begun,
    over('ended', { result: '', stopReason: 'repeated' }),
  ]);
});

function replyTo(asked: { [key: string]: Json }, answers: Answer[], version?: string): Json {
  const state = claudeAdapter.initial(request, hostOf(version));
  const outgoing: Outgoing = { kind: 'answer', requestId: '"r"', requestLine: JSON.stringify(asked), answers };
  const { line } = send(state, outgoing);
  const { response } = line as { response: { response: Json } };
  return response.response;
}

verifies('A-49', 'A-90').test('every allowance is a plain single allow, and a denial always says something', () => {
  const permission = (decision: 'allow_session' | 'allow_always' | 'deny', reason?: string): Answer[] => [
    { kind: 'permission', decision, ...(reason === undefined ? {} : { reason }) },
  ];
  expect(replyTo(ask('r'), permission('allow_session'), '2.1.400')).toEqual({ behavior: 'allow' });
  expect(replyTo(ask('r'), permission('allow_always'))).toEqual({ behavior: 'allow', updatedInput: { command: 'ls' } });
  expect(replyTo(ask('r'), permission('deny', 'no'))).toEqual({ behavior: 'deny', message: 'no' });
  expect(replyTo(ask('r'), permission('deny', ''))).toEqual({
    behavior: 'deny',
    message: 'The user does not allow this.',
  });
});

verifies('A-42', 'A-90').test('questions are answered by their text, with labels and words joined', () => {
  const questions = ['one?', 'two?', 'three?'].map((question) => ({
    question,
    options: [{ label: 'A' }, { label: 'B' }],
  }));
  const asked = ask('r', { tool_name: 'AskUserQuestion', input: { questions, kept: 1 } });
  const answers: Answer[] = [
    { kind: 'choice', labels: ['A', 'B'], ids: ['A', 'B'], text: 'and C' },
    { kind: 'choice', labels: [], ids: [], text: 'none of these' },
    { kind: 'text', text: 'words' },
  ];
  expect(replyTo(asked, answers, '2.1.325')).toEqual({
    behavior: 'allow',
    updatedInput: {
      questions,
      kept: 1,
      answers: { 'one?': 'A, B, and C', 'two?': 'none of these', 'three?': 'words' },
    },
  });
});

verifies('A-53').test('an answer is made from the whole request, though only its skeleton was read', () => {
  const content = 'x'.repeat(2 * 1024 * 1024);
  const whole = ask('r', { tool_name: 'Write', input: { file_path: '/repo/big', content } });
  const cut = ask('r', {
    tool_name: 'Write',
    input: { file_path: '/repo/big', content: `${content.slice(0, 4096)}…` },
  });
  const parsed = claudeAdapter.parse(stateOf('2.1.197'), { stream: 'out', json: cut, skeleton: true });
  expect(parsed.effects[0]).toMatchObject({ questions: [{ question: 'Claude wants to write the file /repo/big' }] });
  expect(replyTo(whole, [{ kind: 'permission', decision: 'allow_once' }], '2.1.197')).toEqual({
    behavior: 'allow',
    updatedInput: { file_path: '/repo/big', content },
  });
});

test('a request that can not be read again is refused, not answered', () => {
  const outgoing: Outgoing = { kind: 'answer', requestId: '"r"', requestLine: '{"type":', answers: [] };
  expect(claudeAdapter.encode(stateOf(), outgoing)).toMatchObject({ refuse: 'bad_line' });
});

verifies('A-40').test('a permission shows the whole of what it is about', () => {
  const command = `${'a'.repeat(5000)}\nrm -rf /`;
  const questions = (more: { [key: string]: Json }) => {
    const [effect] = read(stateOf(), ask('r', more)).effects;
    return effect?.do === 'ask' ? effect.questions.map(({ question, diff }) => ({ question, diff })) : [];
  };
  const edit = { file_path: '/repo/a', old_string: 'one\ntwo\n', new_string: 'three' };
  expect([
    ...questions({ input: { command }, decision_reason: 'Dangerous rm' }),
    ...questions({ tool_name: 'Edit', input: edit, agent_id: 'a1' }),
    ...questions({ tool_name: 'Read', input: { file_path: '/etc/passwd' } }),
    ...questions({ tool_name: 'Grep', input: { pattern: 'key', path: '/' } }),
    ...questions({ tool_name: 'WebFetch', input: { url: 'http://x/', prompt: 'p' } }),
    ...questions({ tool_name: 'Task', input: { description: 'look', prompt: 'p' } }),
    ...questions({ tool_name: 'mcp__reef__spawn', input: { command: 'x' } }),
    ...questions({ tool_name: 'AskUserQuestion', input: { questions: [] } }),
  ]).toEqual([
    { question: `Claude wants to run a command: ${command}\nReason: Dangerous rm` },
    { question: 'A sub-agent of Claude wants to change the file /repo/a', diff: '-one\n-two\n+three' },
    { question: 'Claude wants to read /etc/passwd' },
    { question: 'Claude wants to search for key' },
    { question: 'Claude wants to fetch http://x/' },
    { question: 'Claude wants to start a sub-agent: look' },
    { question: 'Claude wants to use the tool mcp__reef__spawn' },
    { question: 'Claude wants to use the tool AskUserQuestion' },
  ]);
});

test('the title of a tool call is one short line', () => {
  const call = (input: Json): Json => ({
    type: 'assistant',
    message: { id: 'm', content: [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input }] },
  });
  const titles = [{ command: 'one\ntwo' }, { command: 'x'.repeat(300) }, {}, null].map((input) => {
    const effect = read(stateOf(), call(input)).effects.at(-1);
    return effect?.do === 'emit' && effect.event.type === 'tool_call' ? effect.event.payload.title : undefined;
  });
  expect(titles).toEqual(['Bash: one…', `Bash: ${'x'.repeat(200)}…`, 'Bash', 'Bash']);
});

verifies('A-92').test('the diff of an edit is at most 16 KiB', () => {
  const content = 'line of text\n'.repeat(10_000);
  const line = {
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [] }] },
    tool_use_result: { type: 'create', filePath: '/repo/a', content, structuredPatch: [] },
  };
  const [effect] = read(stateOf(), line).effects;
  const diff = effect?.do === 'emit' && effect.event.type === 'file_edit' ? effect.event.payload.diff : undefined;
  expect(Buffer.byteLength(diff ?? '')).toBeLessThanOrEqual(16 * 1024);
  expect(diff?.startsWith('@@ -0,0 +1,10000 @@\n+line of text\n')).toBe(true);
});

verifies('A-51').test('neither long texts nor many of them make the state larger than 64 KiB', () => {
  const long = '"\u0001\n'.repeat(30_000);
  const id = (index: number) => `${index}`.padStart(128, 'i');
  const call = (index: number, name: string, input: Json): Json => ({
    type: 'assistant',
    message: { id: id(index), model: 'm', content: [{ type: 'tool_use', id: id(index), name, input }] },
  });
  let { state } = read(stateOf(), say('running'), result({ result: long }), call(0, 'ExitPlanMode', { plan: long }));
  for (let index = 0; index < 200; index++) {
    const started = { type: 'system', subtype: 'task_started', task_id: id(index) };
    const write = call(index, 'Write', { file_path: '/é'.repeat(128) });
    state = read(state, write, started, ask(id(index), { tool_use_id: id(index) })).state;
    state = send(state, { kind: 'message', messageId: `${index}-2222-4333-8444-555555555555`, text: 'x' }).state;
  }
  expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThanOrEqual(64 * 1024);
});

verifies('A-55').test('what is not known is named, and the rest of its message still counts', () => {
  const content = [
    { type: 'hologram' },
    { type: 'text', text: 5 },
    { type: 'text', text: 'read' },
    { type: 'redacted_thinking', data: '' },
    { type: 'thinking', thinking: '' },
  ];
  const { effects } = read(
    stateOf(),
    { type: 'assistant', uuid: 'u', message: { id: 'm', model: '<synthetic>', content } },
    { type: 'system', subtype: 'brand_new' },
    { type: 'brand_new' },
    say('dancing'),
    { type: 'keep_alive' },
    { type: 'system', subtype: 'hook_started' },
  );
  expect(effects.filter((effect) => effect.do !== 'emit')).toEqual([
    begun,
    { do: 'unknown', name: 'assistant/hologram' },
    { do: 'text', kind: 'text', id: 'u#2', text: 'read', final: true },
    { do: 'unknown', name: 'system/brand_new' },
    { do: 'unknown', name: 'brand_new' },
    { do: 'unknown', name: 'system/session_state_changed/dancing' },
  ]);
  expect(effects.filter((effect) => effect.do === 'emit')).toHaveLength(1);
});

verifies('A-54').test('a line that is no message of Claude is a bad line and changes nothing', () => {
  const state = stateOf();
  for (const json of [null, 1, 'x', [], {}, { type: 1 }, { type: 'result' }, { type: 'assistant', message: {} }]) {
    const parsed = read(state, json);
    expect(parsed.state).toEqual(state);
    expect(parsed.effects).toMatchObject([
      { do: 'emit', event: { type: 'error', payload: { code: 'bad_line', scope: 'line', fatal: false } } },
    ]);
  }
});

verifies('A-54').test('the order of keys does not matter', () => {
  const reversed = Object.fromEntries(Object.entries(ask('r')).reverse());
  expect(read(stateOf(), reversed)).toEqual(read(stateOf(), ask('r')));
});

test('notices of Claude are warnings', () => {
  const line = { type: 'system', subtype: 'informational', level: 'warning', content: 'stopped by a hook' };
  const payload = { kind: 'warning', message: 'stopped by a hook' };
  expect(read(stateOf(), line).effects).toEqual([{ do: 'emit', event: { type: 'progress', payload } }]);
});

verifies('A-33', 'A-94').test(
  'why Claude did not start is read from its stderr, a plain exit is left to the general rule',
  () => {
    const finish = (stderrTail: string, code: number | null = 1, signal: string | null = null) =>
      claudeAdapter.finish(stateOf(), { code, signal, stderrTail })?.code;
    expect([
      finish('warning\nError: Session ID 1-2 is already in use.\n'),
      finish('No conversation found with session ID: 1-2\n'),
      finish('Invalid API key · Please run /login\n'),
      finish("error: unknown option '--x'\n"),
      finish('Not logged in\n', 0),
      finish('Not logged in\n', null, 'SIGTERM'),
    ]).toEqual(['session_in_use', 'no_session', 'agent_not_logged_in', undefined, undefined, undefined]);
  },
);

verifies('A-32').test('a failure that was told before the process ended is its reason', () => {
  const failed = result({ is_error: true, terminal_reason: 'model_error', result: 'gone' });
  const exit = { code: 1, signal: null, stderrTail: '' };
  const { state } = read(stateOf(), say('running'), failed);
  expect(claudeAdapter.finish(state, exit)).toEqual({ code: 'agent_error', message: 'gone' });
  const limited = read(stateOf(), say('running'), result({ is_error: true, api_error_status: 429, result: 'slow' }));
  expect(claudeAdapter.finish(limited.state, exit)).toEqual({ code: 'rate_limit', message: 'slow' });
  expect(claudeAdapter.finish(read(stateOf(), say('running'), result()).state, exit)).toBeUndefined();
});
