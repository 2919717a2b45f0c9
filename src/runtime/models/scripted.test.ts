import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { openRegistry } from '../../../test/support/engine/registry.ts';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Clock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { ChatRequest } from './client.ts';
import { type Message, userText } from './message.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

function open(script: string, more: { clock?: Clock; api_key?: string[] } = {}) {
  writeFileSync(join(dir, 's.yaml'), script);
  const { clock, ...client } = more;
  const models = [{ name: 'demo', script: 's.yaml', input_price: 1, output_price: 1 }];
  const { registry } = openRegistry([{ type: 'scripted', models, ...client }], {
    configDir: dir,
    ...(clock && { clock }),
  });
  const model = registry.find('scripted:demo');
  return (more: Partial<ChatRequest> = {}, sink: string[] = []) =>
    registry
      .client(model)
      .chat({ model, messages: [userText('fix the test')], stream: true, ...more }, ({ text }) => sink.push(text))
      .catch((error: unknown) => {
        if (error instanceof ReefError) return { code: error.code, ...error.details };
        throw error;
      });
}

const afterTool = (name: string): Message[] => [
  userText('fix the test'),
  { role: 'assistant', content: [{ type: 'tool_call', id: 'call_1', name, arguments: {} }] },
  { role: 'tool', content: [{ type: 'tool_result', id: 'call_1', name, output: 'x' }] },
];

const EXAMPLE = `
- when: {agent: coder, last_user: "fix.*test"}
  reply: {text: Reading., tool_calls: [{name: fs_read, arguments: {path: a.ts}}]}
- error: {status: 429, retry_after: 1}
- when: {last_tool: fs_read}
  reply: {text: Done., usage: {input: 900, output: 40}}
`;

describe('the scripted client', () => {
  verifies('R-83').test('replays the example of the design, again and again the same', async () => {
    const run = async () => {
      const chat = open(EXAMPLE, { api_key: ['one', 'two'], clock: manualClock() });
      const sink: string[] = [];
      return {
        first: await chat({ agent: 'coder' }, sink),
        sink,
        second: await chat({ agent: 'coder', messages: afterTool('fs_read') }),
        third: await chat({ agent: 'coder' }),
      };
    };
    const once = await run();
    expect(once).toEqual({
      first: {
        content: [
          { type: 'text', text: 'Reading.' },
          { type: 'tool_call', id: 'call_1', name: 'fs_read', arguments: { path: 'a.ts' } },
        ],
        finish: 'tool_calls',
        usage: { input: 17, output: 29, cached: 0, reasoning: 0 },
        cost: 46 / 1_000_000,
      },
      sink: ['Reading.'],
      // The 429 costs the second key; the first answers.
      second: {
        content: [{ type: 'text', text: 'Done.' }],
        finish: 'stop',
        usage: { input: 900, output: 40, cached: 0, reasoning: 0 },
        cost: 940 / 1_000_000,
      },
      third: {
        code: 'script_exhausted',
        model: 'scripted:demo',
        agent: 'coder',
        last_user: 'fix the test',
        last_tool: '',
        entries: 3,
      },
    });
    expect(await run()).toEqual(once);
  });

  verifies('R-83').test('an entry may ask for words that any user message of the request holds', async () => {
    const chat = open(
      '- {when: {any_user: "block B"}, reply: {text: of B}}\n- {when: {any_user: "^block A$"}, reply: {text: of A}}\n',
    );
    const asked = (first: string) => chat({ messages: [userText(first), ...afterTool('fs_read')] });
    expect([await asked('block A'), await asked('in block B.'), await asked('block A')]).toMatchObject([
      { content: [{ text: 'of A' }] },
      { content: [{ text: 'of B' }] },
      { code: 'script_exhausted' },
    ]);
  });

  verifies('R-83').test('an entry may ask for what the last tool answered', async () => {
    const chat = open(
      '- {when: {last_tool: fs_read, last_result: "^y"}, reply: {text: y}}\n- {when: {last_result: "x$"}, reply: {text: x}}\n',
    );
    const seen = [await chat({ messages: afterTool('fs_read') }), await chat({ messages: afterTool('fs_read') })];
    expect(seen).toMatchObject([{ content: [{ text: 'x' }] }, { code: 'script_exhausted', last_tool: 'fs_read' }]);
  });

  verifies('R-83').test('speaks in pieces, with pauses', async () => {
    const clock = manualClock();
    const chat = open('- reply: {text: abcdefgh, chunk: 3, delay_ms: 100, chunk_delay_ms: 50}', { clock });
    const sink: string[] = [];
    const reply = chat({}, sink);
    const heard: string[][] = [];
    for (const ms of [99, 1, 50, 50, 50]) {
      await expect.poll(() => clock.sleeping()).toBe(1);
      await clock.advance(ms);
      heard.push([...sink]);
    }
    expect(heard).toEqual([[], ['abc'], ['abc', 'def'], ['abc', 'def', 'gh'], ['abc', 'def', 'gh']]);
    expect(await reply).toMatchObject({ content: [{ type: 'text', text: 'abcdefgh' }] });
  });

  verifies('R-83', 'R-82').test('breaks off where it is told to, and keys do not help', async () => {
    const chat = open('- reply: {text: abcdefgh, chunk: 2, break_after: 5}', { api_key: ['one', 'two'] });
    const sink: string[] = [];
    expect(await chat({}, sink)).toEqual({
      code: 'provider_stream_broken',
      model: 'scripted:demo',
      key_id: 'scripted#1',
    });
    expect(sink).toEqual(['ab', 'cd', 'e']);
  });

  verifies('R-83').test('is cancelled in the midst of a pause', async () => {
    const chat = open('- reply: {text: never, delay_ms: 600000}');
    const abort = new AbortController();
    const reply = chat({ signal: abort.signal });
    abort.abort();
    expect(await reply).toMatchObject({ code: 'cancelled' });
  });

  verifies('R-83').test('answers as often as an entry says', async () => {
    const chat = open('- {reply: {text: twice}, times: 2}\n- {reply: {text: ever}, times: always}');
    const texts = [];
    for (let n = 0; n < 4; n++) texts.push(await chat());
    expect(texts.map((reply) => ('content' in reply ? reply.content : reply))).toEqual(
      ['twice', 'twice', 'ever', 'ever'].map((text) => [{ type: 'text', text }]),
    );
  });

  verifies('R-83').test('names the line of what is wrong in a script', async () => {
    const scripts = [
      '- reply: {text: a}\n- {}',
      '- reply: {txt: a}',
      '- when: {last_user: "("}\n  reply: {text: a}',
      '- [',
      'a: 1',
    ];
    const errors = await Promise.all(
      scripts.map((script, n) => {
        writeFileSync(join(dir, `${n}.yaml`), script);
        const { registry } = openRegistry([{ type: 'scripted', models: [{ name: 'm', script: `${n}.yaml` }] }], {
          configDir: dir,
        });
        const model = registry.find('scripted:m');
        return registry
          .client(model)
          .chat({ model, messages: [], stream: true })
          .catch((error: Error) => error.message);
      }),
    );
    expect(errors.map((message) => String(message).replaceAll(dir, ''))).toEqual([
      '/0.yaml:2: 1: expected either reply or error, found keys with values',
      '/1.yaml:1: 0.reply.txt is not known here: did you mean 0.reply.text?',
      '/2.yaml:1: 0.when.last_user: expected a regular expression, found "("',
      expect.stringMatching(/^\/3\.yaml:1: expected YAML, found Flow sequence/),
      '/4.yaml: expected array, found keys with values',
    ]);
  });

  verifies('R-83').test('has a demo that needs no file, and that nobody gets by accident', async () => {
    const { registry } = openRegistry([]);
    const model = registry.find('scripted:demo');
    const reply = await registry.client(model).chat({ model, messages: [userText('hello')], stream: false });
    expect(reply.content).toEqual([
      { type: 'text', text: "Hello! I am Reef's scripted model: no key, no network, always the same words." },
    ]);
    expect([registry.first(), registry.list()]).toEqual([undefined, []]);
  });

  test('has neither vectors nor ranks', async () => {
    const { registry } = openRegistry([]);
    const model = registry.find('scripted:demo');
    const client = registry.client(model);
    await expect(client.embed({ model, texts: ['a'] })).rejects.toMatchObject({ code: 'client_unsupported' });
    await expect(client.rerank({ model, query: 'a', documents: ['a'], top_n: 1 })).rejects.toMatchObject({
      code: 'client_unsupported',
    });
  });
});
