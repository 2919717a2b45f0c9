import fc from 'fast-check';
import { expect } from 'vitest';
import { serve } from '../../../test/model-server/testing.ts';
import { openRegistry } from '../../../test/support/engine/registry.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { markForCache } from './cache-marks.ts';
import { type Message, userText } from './message.ts';
import type { SdkMessage, SdkOptions, SdkPrompt } from './sdk-types.ts';

const MARK: SdkOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };
const LOOK_BACK = 20;

const opening: SdkPrompt = [
  { role: 'system', content: 'You write code.' },
  { role: 'user', content: [{ type: 'text', text: 'The task.' }] },
];

/** A reply that thinks, speaks and calls, and the results: twice as many blocks as calls, and two. */
function exchange(calls: number, thinks: boolean): SdkMessage[] {
  const ids = Array.from({ length: calls }, (_, index) => `call-${index}`);
  return [
    {
      role: 'assistant',
      content: [
        ...(thinks ? [{ type: 'reasoning' as const, text: 'I see.' }] : []),
        { type: 'text', text: 'I look.' },
        ...ids.map((toolCallId) => ({ type: 'tool-call' as const, toolCallId, toolName: 'read', input: {} })),
      ],
    },
    {
      role: 'tool',
      content: ids.map((toolCallId) => ({
        type: 'tool-result' as const,
        toolCallId,
        toolName: 'read',
        output: { type: 'text' as const, value: 'text' },
      })),
    },
  ];
}

/** What the provider sees: the blocks in order, each with or without a mark. */
function marksOf(prompt: SdkPrompt): boolean[] {
  return prompt.flatMap((message) =>
    message.role === 'system'
      ? [message.providerOptions === MARK]
      : message.content.map((part) => part.providerOptions?.anthropic === MARK.anthropic),
  );
}

/** A provider that caches each marked prefix and finds one again at most 20 blocks before a mark. */
class Cache {
  readonly #prefixes = new Set<number>();

  /** How many blocks were read from it. */
  ask(prompt: SdkPrompt): number {
    const marks = marksOf(prompt).flatMap((marked, index) => (marked ? [index] : []));
    const found = [...this.#prefixes].filter((prefix) =>
      marks.some((mark) => prefix <= mark && mark - prefix <= LOOK_BACK),
    );
    for (const mark of marks) this.#prefixes.add(mark);
    return Math.max(-1, ...found) + 1;
  }
}

const turns = fc.array(fc.record({ calls: fc.integer({ min: 1, max: 22 }), thinks: fc.boolean() }), { maxLength: 8 });

verifies('S-35').test('each request finds the whole of the one before it, with at most four marks', () => {
  fc.assert(
    fc.property(turns, (added) => {
      const cache = new Cache();
      let prompt = opening;
      cache.ask(markForCache(prompt, MARK));
      for (const { calls, thinks } of added) {
        const before = marksOf(prompt).length;
        prompt = [...prompt, ...exchange(calls, thinks)];
        const marked = markForCache(prompt, MARK);
        expect(marksOf(marked).filter(Boolean).length).toBeLessThanOrEqual(4);
        expect(cache.ask(marked)).toBe(before);
      }
    }),
  );
});

verifies('S-35').test('marks of the tail are at most 18 blocks apart, and the task gives its mark up first', () => {
  const marked = (calls: number) =>
    marksOf(markForCache([...opening, ...exchange(calls, false)], MARK)).flatMap((mark, index) =>
      mark ? [index] : [],
    );
  expect(marked(2)).toEqual([0, 1, 6]);
  expect(marked(12)).toEqual([0, 1, 8, 26]);
  expect(marked(30)).toEqual([0, 26, 44, 62]);
  expect(marksOf(markForCache(opening.slice(1), MARK))).toEqual([true]);
});

verifies('S-35').test('Anthropic gets the marks where they were set, on single blocks of a message too', async () => {
  const server = await serve({ main: [{ text: 'Done.' }] });
  const { registry } = openRegistry([
    { type: 'claude', name: 'p', api_base: `${server.runUrl('main')}/v1`, api_key: 'k', models: [{ name: 'any' }] },
  ]);
  const ids = Array.from({ length: 30 }, (_, index) => `call-${index}`);
  const messages: Message[] = [
    { role: 'system', content: 'You write code.' },
    userText('The task.'),
    { role: 'assistant', content: ids.map((id) => ({ type: 'tool_call', id, name: 'read', arguments: {} })) },
    { role: 'tool', content: ids.map((id) => ({ type: 'tool_result', id, name: 'read', output: 'text' })) },
  ];
  const model = registry.find('p');
  await registry.client(model).chat({ model, messages, stream: false });
  const sent = server.requests[0]?.body as { messages: { content: { cache_control?: unknown }[] }[] };
  const marked = sent.messages.map(({ content }) => content.flatMap((block, at) => (block.cache_control ? [at] : [])));
  expect(marked).toEqual([[], [23], [11, 29]]);
});
