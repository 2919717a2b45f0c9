import { expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import type { Turn } from './script.ts';
import { postJson, postStream, serveTurns } from './testing.ts';

const turn: Turn = {
  thinking: 'Think.',
  text: 'I run a command.',
  tools: [{ shell: 'ls' }],
  usage: { input: 7, output: 3, cached: 2 },
};

const request = { model: 'm', messages: [{ role: 'user', content: 'Go' }], tools: [{ name: 'Bash' }] };
const input = { command: 'ls', description: 'Run command' };

verifies('A-130').test('Anthropic, plain: one message with thinking, text and tool use', async () => {
  const url = await serveTurns(turn);
  expect(await postJson(`${url}/v1/messages`, request)).toEqual({
    id: expect.stringMatching(/^msg_/),
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [
      { type: 'thinking', thinking: 'Think.', signature: expect.any(String) },
      { type: 'text', text: 'I run a command.' },
      { type: 'tool_use', id: expect.any(String), name: 'Bash', input },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 7, cache_creation_input_tokens: 0, cache_read_input_tokens: 2, output_tokens: 3 },
  });
});

verifies('A-130').test('Anthropic, streaming: the same message in pieces', async () => {
  const url = await serveTurns(turn);
  const events = await postStream(`${url}/v1/messages?beta=true`, { ...request, stream: true });
  const delta = (index: number, fields: object) => ({ type: 'content_block_delta', index, delta: fields });
  const start = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block });
  expect(events).toEqual([
    { type: 'message_start', message: expect.objectContaining({ content: [], stop_reason: null, model: 'm' }) },
    start(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'Think.' }),
    delta(0, { type: 'signature_delta', signature: expect.any(String) }),
    { type: 'content_block_stop', index: 0 },
    start(1, { type: 'text', text: '' }),
    delta(1, { type: 'text_delta', text: 'I run a comm' }),
    delta(1, { type: 'text_delta', text: 'and.' }),
    { type: 'content_block_stop', index: 1 },
    start(2, { type: 'tool_use', id: expect.any(String), name: 'Bash', input: {} }),
    ...[...JSON.stringify(input).matchAll(/.{1,12}/g)].map(([json]) =>
      delta(2, { type: 'input_json_delta', partial_json: json }),
    ),
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ]);
});

verifies('A-130').test('Anthropic counts tokens without using a turn', async () => {
  const url = await serveTurns({ text: 'first' });
  const counted = await postJson(`${url}/v1/messages/count_tokens`, request);
  expect(counted).toEqual({ input_tokens: Math.ceil(JSON.stringify(request).length / 4) });
  expect(await postJson(`${url}/v1/messages`, request)).toMatchObject({ content: [{ text: 'first' }] });
});

verifies('A-131').test('a tool that Claude Code names in a message only can be called', async () => {
  const url = await serveTurns({ tools: [{ plan: 'A, then B' }, { tool: 'mcp__reef__spawn', input: { task: 't' } }] });
  const notice =
    'The following deferred tools are now available via ToolSearch:\nExitPlanMode\nmcp__reef__spawn\n\nMore.';
  const messages = [
    { role: 'user', content: 'Go' },
    { role: 'system', content: [{ type: 'text', text: notice }] },
  ];
  expect(await postJson(`${url}/v1/messages`, { ...request, messages })).toMatchObject({
    content: [
      { name: 'ExitPlanMode', input: { plan: 'A, then B' } },
      { name: 'mcp__reef__spawn', input: { task: 't' } },
    ],
  });
});
