import { expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import type { Turn } from './script.ts';
import { postJson, postStream, serveTurns } from './testing.ts';
import { asObject } from './wire.ts';

const turn: Turn = {
  thinking: 'Think.',
  text: 'I run a command.',
  tools: [{ shell: 'ls' }, { write: 'a.txt', content: 'one\ntwo\n' }],
  usage: { input: 7, output: 3, cached: 2 },
};

const request = {
  model: 'm',
  input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go' }] }],
  tools: [
    { type: 'function', name: 'exec_command' },
    { type: 'custom', name: 'apply_patch' },
  ],
};
const patch = '*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch\n';

const output = [
  {
    type: 'reasoning',
    id: expect.stringMatching(/^rs_/),
    summary: [{ type: 'summary_text', text: 'Think.' }],
    encrypted_content: null,
  },
  {
    type: 'message',
    id: expect.stringMatching(/^msg_/),
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'I run a command.', annotations: [] }],
  },
  {
    type: 'function_call',
    id: expect.stringMatching(/^fc_/),
    status: 'completed',
    call_id: expect.any(String),
    name: 'exec_command',
    arguments: JSON.stringify({ cmd: 'ls' }),
  },
  {
    type: 'custom_tool_call',
    id: expect.stringMatching(/^ctc_/),
    status: 'completed',
    call_id: expect.any(String),
    name: 'apply_patch',
    input: patch,
  },
];

const completed = {
  id: expect.stringMatching(/^resp_/),
  object: 'response',
  created_at: 0,
  model: 'm',
  error: null,
  status: 'completed',
  incomplete_details: null,
  output,
  usage: {
    input_tokens: 7,
    input_tokens_details: { cached_tokens: 2 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 10,
  },
};

verifies('A-130').test('responses, plain: reasoning, message, function call and custom call', async () => {
  const url = await serveTurns(turn);
  expect(await postJson(`${url}/v1/responses`, request)).toEqual(completed);
});

verifies('A-130').test(
  'responses, streaming: the items are announced, filled and closed, in numbered events',
  async () => {
    const url = await serveTurns(turn);
    const events = (await postStream(`${url}/v1/responses`, { ...request, stream: true })).map(asObject);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, n) => n));
    expect(events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)).toEqual(output);
    const filled = (type: string) =>
      events
        .filter((event) => event.type === type)
        .map(({ delta }) => delta)
        .join('');
    expect({
      first: events[0]?.type,
      thinking: filled('response.reasoning_summary_text.delta'),
      text: filled('response.output_text.delta'),
      arguments: filled('response.function_call_arguments.delta'),
      input: filled('response.custom_tool_call_input.delta'),
      last: events.at(-1),
    }).toEqual({
      first: 'response.created',
      thinking: 'Think.',
      text: 'I run a command.',
      arguments: JSON.stringify({ cmd: 'ls' }),
      input: patch,
      last: { type: 'response.completed', sequence_number: events.length - 1, response: completed },
    });
  },
);

verifies('A-130').test('responses counts tokens', async () => {
  const url = await serveTurns();
  const counted = await postJson(`${url}/v1/responses/input_tokens`, request);
  const input_tokens = Math.ceil(JSON.stringify(request).length / 4);
  expect(counted).toEqual({ object: 'response.input_tokens', input_tokens });
});

verifies('A-131').test("Codex's MCP tools are called in their namespace, listed or to be searched for", async () => {
  const action = { tool: 'mcp__reef__spawn', input: { task: 't' } };
  const listed = { type: 'namespace', name: 'mcp__reef', tools: [{ type: 'function', name: 'spawn' }] };
  const search = { type: 'tool_search', description: 'Sources:\n- Multi-agent tools: Spawn.\n- reef\nUse it.' };
  const call = { type: 'function_call', name: 'spawn', namespace: 'mcp__reef', arguments: '{"task":"t"}' };
  for (const tool of [listed, search]) {
    const url = await serveTurns({ tools: [action] });
    expect(await postJson(`${url}/v1/responses`, { ...request, tools: [tool] })).toMatchObject({ output: [call] });
  }
});
