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

const request = {
  model: 'm',
  messages: [{ role: 'user', content: 'Go' }],
  tools: [{ type: 'function', function: { name: 'bash' } }],
};
const args = JSON.stringify({ command: 'ls', description: 'Run command' });
const usage = {
  prompt_tokens: 7,
  completion_tokens: 3,
  total_tokens: 10,
  prompt_tokens_details: { cached_tokens: 2 },
};

verifies('A-130').test('chat completions, plain: one message with reasoning, text and tool call', async () => {
  const url = await serveTurns(turn);
  expect(await postJson(`${url}/v1/chat/completions`, request)).toEqual({
    id: expect.stringMatching(/^chatcmpl-/),
    object: 'chat.completion',
    created: 0,
    model: 'm',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'I run a command.',
          reasoning_content: 'Think.',
          tool_calls: [
            { index: 0, id: expect.any(String), type: 'function', function: { name: 'bash', arguments: args } },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage,
  });
});

verifies('A-130').test('chat completions, streaming: the same message in pieces', async () => {
  const url = await serveTurns(turn);
  const events = await postStream(`${url}/v1/chat/completions`, { ...request, stream: true });
  const chunk = (delta: object, finish_reason: string | null = null) =>
    expect.objectContaining({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] });
  const call = { index: 0, id: expect.any(String), type: 'function', function: { name: 'bash', arguments: '' } };
  expect(events).toEqual([
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning_content: 'Think.' }),
    chunk({ content: 'I run a comm' }),
    chunk({ content: 'and.' }),
    chunk({ tool_calls: [call] }),
    ...[...args.matchAll(/.{1,12}/g)].map(([text]) =>
      chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
    ),
    chunk({}, 'tool_calls'),
    expect.objectContaining({ choices: [], usage }),
    '[DONE]',
  ]);
});
