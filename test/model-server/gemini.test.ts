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
  contents: [{ role: 'user', parts: [{ text: 'Go' }] }],
  tools: [{ functionDeclarations: [{ name: 'run_shell_command' }] }],
};
const functionCall = {
  id: expect.any(String),
  name: 'run_shell_command',
  args: { command: 'ls', description: 'Run command' },
};
const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10, cachedContentTokenCount: 2 };

verifies('A-130').test('Gemini, plain: one candidate with thought, text and function call', async () => {
  const url = await serveTurns(turn);
  expect(await postJson(`${url}/v1beta/models/m:generateContent`, request)).toEqual({
    candidates: [
      {
        content: {
          role: 'model',
          parts: [{ text: 'Think.', thought: true }, { text: 'I run a command.' }, { functionCall }],
        },
        index: 0,
        finishReason: 'STOP',
      },
    ],
    modelVersion: 'm',
    responseId: expect.any(String),
    usageMetadata,
  });
});

verifies('A-130').test('Gemini, streaming: the same parts one after the other', async () => {
  const url = await serveTurns(turn);
  const events = await postStream(`${url}/v1beta/models/m:streamGenerateContent?alt=sse`, request);
  const chunk = (part: object, last: object = {}) =>
    expect.objectContaining({ candidates: [{ content: { role: 'model', parts: [part] }, index: 0, ...last }] });
  expect(events).toEqual([
    chunk({ text: 'Think.', thought: true }),
    chunk({ text: 'I run a comm' }),
    chunk({ text: 'and.' }),
    chunk({ functionCall }),
    chunk({ text: '' }, { finishReason: 'STOP' }),
  ]);
  expect(events.at(-1)).toMatchObject({ usageMetadata });
});

verifies('A-130').test('Gemini counts tokens', async () => {
  const url = await serveTurns();
  const counted = await postJson(`${url}/v1beta/models/m:countTokens`, request);
  expect(counted).toEqual({ totalTokens: Math.ceil(JSON.stringify(request).length / 4) });
});
