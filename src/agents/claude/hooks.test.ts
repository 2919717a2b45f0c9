import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { Json } from '../adapter.ts';
import { terminalTalk } from './hooks.ts';

const ID = 'b3a0c1de-0000-4000-8000-0123456789ab';
const OTHER = 'b3a0c1de-0000-4000-8000-0123456789ac';
const bash = (command: string) => ({ tool_name: 'Bash', tool_input: { command } });
const asks = (id: string, wish: object) => ({ ask: id, hook: { hook_event_name: 'PermissionRequest', ...wish } });

/** The lines of one terminal, in their order. */
function hear(...lines: Json[]) {
  let state = terminalTalk.initial();
  const heard = lines.map((json) => {
    const step = terminalTalk.parse(state, { stream: 'out', json, skeleton: false });
    state = step.state;
    return step.effects;
  });
  return { state, heard, last: heard.at(-1) };
}

const isOver = (id: string) => [
  { do: 'withdraw', requestId: id, by: 'agent' },
  { do: 'write', line: JSON.stringify({ to: id, say: null }) },
];

verifies('A-178').test('a tool that has run was allowed at the terminal, and only its own question is over', () => {
  const both = [asks(ID, bash('make one')), asks(OTHER, bash('make two'))];
  const ran = (event: string, more: object) => hear(...both, { hook_event_name: event, ...more });
  expect([
    ran('PostToolUse', { ...bash('make two'), tool_response: { stdout: '' } }).last,
    ran('PostToolUseFailure', bash('make one')).last,
    ran('PostToolUse', bash('make three')).last,
    ran('PostToolUse', {}).last,
  ]).toEqual([isOver(OTHER), isOver(ID), [], []]);
});

verifies('A-178').test('a choice comes back with what was chosen, and is over all the same', () => {
  const questions = [{ question: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }];
  const choice = { tool_name: 'AskUserQuestion', tool_input: { questions } };
  const chosen = { ...choice, tool_input: { questions, answers: { 'Which?': 'a' } } };
  const { heard } = hear(asks(ID, choice), { hook_event_name: 'PostToolUse', ...chosen });
  expect(heard).toEqual([
    [{ do: 'ask', requestId: ID, questions: [expect.objectContaining({ kind: 'choice', question: 'Which?' })] }],
    isOver(ID),
  ]);
});

verifies('A-178', 'A-121').test('a prompt begins a turn, Stop ends it, and neither leaves a question open', () => {
  const open = asks(ID, bash('make'));
  expect([
    hear(open, { hook_event_name: 'UserPromptSubmit', prompt: 'Go on' }).last,
    hear(open, { hook_event_name: 'Stop', last_assistant_message: 'Done.' }).last,
    hear(open, { hook_event_name: 'Notification', notification_type: 'idle_prompt' }).last,
    hear(open, { hook_event_name: 'Notification', notification_type: 'permission_prompt' }).last,
  ]).toEqual([
    [...isOver(ID), { do: 'turn', is: 'begun' }, { do: 'answer' }],
    [...isOver(ID), { do: 'turn', is: 'over', outcome: 'done', result: 'Done.' }],
    isOver(ID),
    [],
  ]);
});

verifies('A-178').test('an answer is what the hook that waits prints, and a line of no hook is told as bad', () => {
  const wish = asks(ID, bash('make'));
  const { state } = hear(wish);
  const answer = { kind: 'answer', requestId: ID, requestLine: JSON.stringify(wish) } as const;
  const says = (answers: Parameters<typeof terminalTalk.encode>[1] & { kind: 'answer' }) => {
    const encoded = terminalTalk.encode(state, answers);
    return 'lines' in encoded ? encoded.lines.map((line) => JSON.parse(line)) : encoded;
  };
  const decision = (decided: object) => [
    { to: ID, say: { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: decided } } },
  ];
  const permission = (kind: 'allow_once' | 'deny', reason?: string) => [
    { kind: 'permission' as const, decision: kind, ...(reason !== undefined && { reason }) },
  ];
  expect([
    says({ ...answer, answers: permission('allow_once') }),
    says({ ...answer, answers: permission('deny', 'Not now') }),
    says({ ...answer, requestLine: '{', answers: permission('deny') }),
  ]).toEqual([
    decision({ behavior: 'allow', updatedInput: { command: 'make' } }),
    decision({ behavior: 'deny', message: 'Not now' }),
    { refuse: 'bad_line', message: expect.stringContaining(ID) },
  ]);
  expect([hear({ ask: '../x', hook: bash('x') }).last, hear({ a: 1 }).last]).toEqual([
    [expect.objectContaining({ do: 'emit' })],
    [expect.objectContaining({ do: 'emit' })],
  ]);
});
