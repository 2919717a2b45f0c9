import { expect, test } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { NoSuchTool, toToolCall } from './actions.ts';
import type { Action } from './script.ts';
import type { OfferedTool } from './wire.ts';

const functions = (...names: string[]): OfferedTool[] => names.map((name) => ({ name, kind: 'function' }));

const agents = {
  claude: functions('AskUserQuestion', 'Bash', 'Edit', 'ExitPlanMode', 'Read', 'Write', 'mcp__reef__spawn'),
  codex: [
    ...functions('exec_command', 'request_user_input'),
    { name: 'apply_patch', kind: 'custom' as const },
    { name: 'spawn', kind: 'function' as const, namespace: 'mcp__reef' },
  ],
  gemini: functions('read_file', 'replace', 'write_file', 'run_shell_command', 'mcp_reef_spawn'),
  opencode: functions('bash', 'edit', 'read', 'write', 'reef_spawn'),
};

type Agent = keyof typeof agents;

const options = [
  { label: 'A', description: 'Choose A' },
  { label: 'B', description: 'Choose B' },
];
const question = { question: 'Which?', header: 'Question', options };
const change = { old_string: 'x', new_string: 'y' };
const command = { command: 'ls', description: 'Run command' };

/** Per action: the tool and its input for each agent that has one. */
const table: [Action, Partial<Record<Agent, [string, unknown]>>][] = [
  [
    { write: 'a.txt', content: 'x\n' },
    {
      claude: ['Write', { file_path: '/repo/a.txt', content: 'x\n' }],
      codex: ['apply_patch', '*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n'],
      gemini: ['write_file', { file_path: '/repo/a.txt', content: 'x\n' }],
      opencode: ['write', { filePath: '/repo/a.txt', content: 'x\n' }],
    },
  ],
  [
    { edit: 'a.txt', old: 'x', new: 'y' },
    {
      claude: ['Edit', { file_path: '/repo/a.txt', ...change }],
      codex: ['apply_patch', '*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n*** End Patch\n'],
      gemini: ['replace', { file_path: '/repo/a.txt', ...change, instruction: 'Change the text' }],
      opencode: ['edit', { filePath: '/repo/a.txt', oldString: 'x', newString: 'y' }],
    },
  ],
  [
    { read: '/etc/hosts' },
    {
      claude: ['Read', { file_path: '/etc/hosts' }],
      codex: ['exec_command', { cmd: "cat '/etc/hosts'" }],
      gemini: ['read_file', { file_path: '/etc/hosts' }],
      opencode: ['read', { filePath: '/etc/hosts' }],
    },
  ],
  [
    { shell: 'ls', escalate: 'May I?' },
    {
      claude: ['Bash', command],
      codex: ['exec_command', { cmd: 'ls', sandbox_permissions: 'require_escalated', justification: 'May I?' }],
      gemini: ['run_shell_command', command],
      opencode: ['bash', command],
    },
  ],
  [
    { ask: [{ question: 'Which?', options: ['A', 'B'], multi: true }] },
    {
      claude: ['AskUserQuestion', { questions: [{ ...question, multiSelect: true }] }],
      codex: ['request_user_input', { questions: [{ id: 'q1', ...question }] }],
    },
  ],
  [{ plan: 'A, then B' }, { claude: ['ExitPlanMode', { plan: 'A, then B' }] }],
  [
    { tool: 'mcp__reef__spawn', input: { task: 't' } },
    {
      claude: ['mcp__reef__spawn', { task: 't' }],
      codex: ['spawn', { task: 't' }],
      gemini: ['mcp_reef_spawn', { task: 't' }],
      opencode: ['reef_spawn', { task: 't' }],
    },
  ],
];

function called(action: Action, agent: Agent): [string, unknown] | undefined {
  try {
    const { name, input } = toToolCall(action, { tools: agents[agent], cwd: '/repo' });
    return [name, input];
  } catch (error) {
    if (error instanceof NoSuchTool) return undefined;
    throw error;
  }
}

verifies('A-131').test('an action becomes the tool that the agent offers, or none', () => {
  const found = table.map(([action]) => {
    const calls = (Object.keys(agents) as Agent[]).map((agent) => [agent, called(action, agent)] as const);
    return [action, Object.fromEntries(calls.filter(([, call]) => call !== undefined))];
  });
  expect(found).toEqual(table);
});

test('a patch goes as an argument where the patch tool is a function', () => {
  const call = toToolCall({ write: 'a', content: 'x' }, { tools: functions('apply_patch') });
  expect(call.input).toEqual({ input: '*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n' });
});

test('the complaint about a missing tool names what is offered', () => {
  const missing = () => toToolCall({ plan: 'A' }, { tools: agents.codex });
  expect(missing).toThrow(
    '{"plan":"A"}; the request offers: exec_command, request_user_input, apply_patch, mcp__reef__spawn',
  );
});
