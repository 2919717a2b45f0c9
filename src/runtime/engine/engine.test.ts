import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CollectingEmitter } from '../../../test/support/engine/collecting-emitter.ts';
import { openWorld, type World } from '../../../test/support/engine/world.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { textOf } from '../models/message.ts';
import type { EngineEvent } from './emitter.ts';
import { nullEmitter, plainAnswer, safeSink, terminalEmitter } from './emitter.ts';
import { type EnginePort, extractCode, PRESETS, run } from './engine.ts';

const CONFIG = `
model: scripted:m
enabled_tools: all
clients:
  - {type: scripted, models: [{name: m, script: s.yaml, max_input_tokens: 100000}]}
`;
const open = (script: string, files: Record<string, string> = {}) =>
  openWorld({ 'config.yaml': CONFIG, 's.yaml': script, ...files });

const usage = '{input: 10, output: 5}';
const kinds = (events: readonly EngineEvent[]) => events.map(({ type }) => type);
const lastSent = ({ sent }: World) => sent.at(-1)?.messages.map((message) => [message.role, textOf(message)]);

describe('a run', () => {
  verifies('R-70', 'R-72').test('tells its story from started to finished', async () => {
    const world = await open(`- reply: {text: Hello., usage: ${usage}}`);
    const { outcome, events } = await world.ask('hi');
    expect(outcome).toEqual({
      request_id: 'r1',
      final_message: 'Hello.',
      tool_call_count: 0,
      turns: 1,
      compressed: false,
      autonamed: false,
      auto_continued: 0,
      usage: { input: 10, output: 5, cached: 0, reasoning: 0 },
      cost: null,
    });
    expect([kinds(events), events[0], events.at(-1)]).toEqual([
      ['started', 'assistant_delta', 'assistant_message_end', 'finished'],
      { type: 'started', request_id: 'r1', model: 'scripted:m' },
      { type: 'finished', outcome },
    ]);
  });

  verifies('R-70').test('offers the tools of the scope, ours and the user’s', async () => {
    const world = await open('- {times: always, reply: {text: ok}}', {
      'functions/tools/mine.sh': '# @describe Mine\necho mine\n',
      'functions/tools/fs_ls.sh': '# @describe My own ls\necho mine\n',
      'functions/tools/broken.sh': 'echo\n',
    });
    await world.ask('hi');
    const user = ['user__ask', 'user__checkbox', 'user__confirm', 'user__input'];
    expect(world.sent[0]?.tools).toEqual(['fs_ls', 'mine', 'fs_cat', 'fs_read', ...user]);
    expect(world.warnings).toEqual(['this tool is left out: it has no "# @describe" line']);
    await world.ctx.update('enabled_tools fs_cat,nothing');
    await world.ask('again');
    expect([world.sent[1]?.tools, world.warnings.at(-1)]).toEqual([['fs_cat', ...user], 'there is no tool nothing']);
    await world.ctx.update('function_calling_support false');
    await world.ctx.bootstrapTools();
    await world.ask('once more');
    expect(world.sent[2]?.tools).toEqual([]);
  });

  verifies('R-91').test('sees of all tools only those that are visible', async () => {
    const world = await openWorld({
      'config.yaml': `${CONFIG}visible_tools: [fs_cat.sh, mine.sh]\n`,
      's.yaml': '- reply: {text: ok}',
      'functions/tools/mine.sh': '# @describe Mine\n',
      'functions/tools/other.sh': '# @describe Other\n',
    });
    await world.ask('hi');
    expect(world.sent[0]?.tools.filter((name) => !name.startsWith('user__'))).toEqual(['mine', 'fs_cat']);
  });

  verifies('R-73').test('that is cancelled tells so, and keeps what was said', async () => {
    const world = await open('- reply: {text: a long story, chunk: 4, chunk_delay_ms: 600000}\n- reply: {text: ok}');
    await world.ctx.useSession('s');
    const abort = new AbortController();
    const impatient = {
      emit({ type }: EngineEvent) {
        if (type === 'assistant_delta') abort.abort();
      },
    };
    const { error, events } = await world.ask('tell', { signal: abort.signal }, impatient);
    expect(error).toMatchObject({ code: 'cancelled' });
    expect(kinds(events).slice(-3)).toEqual(['assistant_message_end', 'error', 'finished']);
    const [question, answer] = world.ctx.session?.messages ?? [];
    expect([question && textOf(question), answer]).toMatchObject(['tell', { role: 'assistant', interrupted: true }]);
    expect((await world.ask('and now?')).outcome?.final_message).toBe('ok');
  });

  test('of a question nobody answered leaves the session as it was', async () => {
    const world = await open('- error: {status: 400, message: no}');
    await world.ctx.useSession('s');
    const { error, events } = await world.ask('hi');
    expect([error, world.ctx.session?.messages, kinds(events)]).toMatchObject([
      { code: 'provider_rejected' },
      [],
      ['started', 'error', 'finished'],
    ]);
  });

  test('in a session knows what was said before', async () => {
    const world = await open('- reply: {text: one}\n- reply: {text: two}');
    await world.ctx.useSession('s');
    await world.ask('first');
    await world.ask('second');
    expect(lastSent(world)).toEqual([
      ['user', 'first'],
      ['assistant', 'one'],
      ['user', 'second'],
    ]);
  });

  test('without a session stands alone', async () => {
    const world = await open('- {times: 2, reply: {text: one}}');
    await world.ask('first');
    await world.ask('second');
    expect(lastSent(world)).toEqual([['user', 'second']]);
  });

  test('that is dry shows what would be sent, and asks nobody', async () => {
    const world = await open('[]');
    await world.ctx.usePrompt('You are a pirate.');
    world.ctx.overrides.dry_run = true;
    const { outcome } = await world.ask('hi');
    expect([outcome?.final_message, outcome?.turns, world.sent]).toEqual(['You are a pirate.\n\nhi', 0, []]);
  });

  test('that wants code gets it without the words around it', async () => {
    const world = await open('- reply: {text: "Here:\\n```js\\nlet a = 1;\\n```\\nDone."}');
    const { outcome, events } = await world.ask('code', { extract_code: true });
    expect([outcome?.final_message, kinds(events).includes('assistant_delta')]).toEqual(['let a = 1;', false]);
  });

  verifies('R-70').test('compresses and names its session afterwards, when it is time', async () => {
    const world = await openWorld({
      'config.yaml': `${CONFIG}save_session: true\ncompression_threshold: 100\n`,
      's.yaml': `
- when: {last_user: "(?s)Summarise"}
  times: always
  reply: {text: a summary}
- {times: always, reply: {text: a rather long answer of many words}}
`.replace('(?s)', ''),
    });
    await world.ctx.useSession();
    const first = await world.ask(`a first question ${'of many words '.repeat(40)}`);
    const second = await world.ask(`a second question ${'of many words '.repeat(40)}`);
    expect([first.outcome?.autonamed, kinds(first.events).includes('session_autonamed')]).toEqual([true, true]);
    expect([second.outcome?.compressed, kinds(second.events).filter((kind) => kind.startsWith('session_'))]).toEqual([
      true,
      ['session_compressing', 'session_compressed'],
    ]);
  });

  test('goes on when its session cannot be compressed, and says so', async () => {
    const world = await openWorld({
      'config.yaml': `${CONFIG}compression_threshold: 100\n`,
      's.yaml':
        '- when: {last_user: Summarise}\n  error: {status: 400, message: no summary today}\n- {times: always, reply: {text: ok}}',
    });
    await world.ctx.useSession('s');
    const long = `a question ${'of many words '.repeat(40)}`;
    await world.ask(long);
    const { outcome, events } = await world.ask(long);
    const warning = events.find(({ type }) => type === 'warning');
    expect([outcome?.final_message, outcome?.compressed, JSON.stringify(warning)]).toEqual([
      'ok',
      false,
      expect.stringContaining('no summary today'),
    ]);
    expect(world.ctx.session?.messages.length).toBe(4);
  });

  test('makes room between two steps when the window of the model fills up', async () => {
    const world = await openWorld({
      'config.yaml': CONFIG.replace('max_input_tokens: 100000', 'max_input_tokens: 900'),
      's.yaml': `
- when: {last_user: Summarise}
  reply: {text: a short summary}
- reply: {text: first answer}
- reply: {tool_calls: [{name: fs_cat, arguments: {path: a.txt}}]}
- reply: {text: second answer}
`,
    });
    await world.ctx.useSession('s');
    await world.ask(`a long question ${'of many words '.repeat(250)}`);
    const { outcome, events } = await world.ask('and now?');
    const story = kinds(events).filter((kind) => kind !== 'assistant_delta');
    expect([outcome?.final_message, story]).toEqual([
      'second answer',
      [
        'started',
        'assistant_message_end',
        'tool_call',
        'tool_result',
        'session_compressing',
        'session_compressed',
        'assistant_message_end',
        'finished',
      ],
    ]);
    expect(JSON.stringify(world.sent.at(-1)?.messages)).toContain('a short summary');
    expect(JSON.stringify(world.sent.at(-1)?.messages).length).toBeLessThan(2_500);
  });

  test('asks the RAG first, and says what it found', async () => {
    const world = await open('- reply: {text: ok}');
    mkdirSync(join(world.dir, 'rags'), { recursive: true });
    const document = join(world.cwd, 'keys.md');
    writeFileSync(document, '# Keys\nKeys are rotated every full moon by the janitor.\n');
    writeFileSync(join(world.dir, 'rags', 'docs.yaml'), `document_paths: [${JSON.stringify(document)}]\n`);
    await world.ctx.useRag('docs');
    await world.ask('how are keys rotated?');
    const [[, prompt] = []] = lastSent(world) ?? [];
    expect([
      prompt?.includes('every full moon by the janitor'),
      prompt?.includes('how are keys rotated?'),
      prompt?.includes(document),
    ]).toEqual([true, true, true]);
  });
});

const AGENT = {
  'agents/doer/config.yaml': 'name: doer\nauto_continue: true\nmax_auto_continues: 3\ninstructions: Do it.\n',
};
const todo = (name: string, args: unknown) => `{name: ${name}, arguments: ${JSON.stringify(args)}}`;

describe('an agent that continues by itself', () => {
  verifies('R-108').test('is told what is open until nothing is, and remembers what it did', async () => {
    const world = await open(
      `
- reply: {text: planned, tool_calls: [${todo('todo__init', { goal: 'ship' })}, ${todo('todo__add', { task: 'a' })}, ${todo('todo__add', { task: 'b' })}]}
- reply: {text: first}
- reply: {tool_calls: [${todo('todo__done', { id: 1 })}]}
- reply: {text: second}
- reply: {tool_calls: [${todo('todo__done', { id: 2 })}]}
- reply: {text: all done}
`,
      AGENT,
    );
    await world.ctx.useAgent({ name: 'doer' });
    const { outcome, events } = await world.ask('go');
    expect(outcome).toMatchObject({ final_message: 'all done', auto_continued: 2, turns: 3, tool_call_count: 5 });
    expect(events.filter(({ type }) => type === 'auto_continue_triggered')).toEqual([
      { type: 'auto_continue_triggered', count: 1, max: 3 },
      { type: 'auto_continue_triggered', count: 2, max: 3 },
    ]);
    const prompt = lastSent(world)?.map(([role, text]) => `${role}: ${text}`) ?? [];
    expect(prompt.filter((line) => line.startsWith('user')).map((line) => line.split('\n\n').at(-1))).toEqual([
      'user: go',
      'Goal: ship\nProgress: 0/2 completed\n○ 1. a\n○ 2. b',
      'Goal: ship\nProgress: 1/2 completed\n✓ 1. a\n○ 2. b',
    ]);
  });

  verifies('R-108').test('stops at its limit, and a line of the user counts anew', async () => {
    const world = await open(
      `
- reply: {tool_calls: [${todo('todo__init', { goal: 'g' })}, ${todo('todo__add', { task: 'a' })}]}
${Array.from({ length: 9 }, (_, n) => `- reply: {text: answer ${n}}`).join('\n')}
`,
      AGENT,
    );
    await world.ctx.useAgent({ name: 'doer' });
    const first = await world.ask('go');
    const second = await world.ask('go on');
    expect([first.outcome?.auto_continued, first.outcome?.final_message, second.outcome?.auto_continued]).toEqual([
      3,
      'answer 3',
      3,
    ]);
  });

  verifies('D8', 'R-108').test('stops when it says the same twice', async () => {
    const world = await open(
      `
- reply: {tool_calls: [${todo('todo__init', { goal: 'g' })}, ${todo('todo__add', { task: 'a' })}]}
- {times: always, reply: {text: I am stuck.}}
`,
      AGENT,
    );
    await world.ctx.useAgent({ name: 'doer' });
    const { outcome } = await world.ask('go');
    expect([outcome?.auto_continued, outcome?.turns]).toEqual([1, 2]);
  });

  verifies('R-91').test('has its own tools and the instructions they give', async () => {
    const world = await open(`- reply: {tool_calls: [{name: greet, arguments: {who: you}}]}\n- reply: {text: ok}`, {
      'config.yaml': `${CONFIG}reef: {permissions: [{tool: greet, action: allow}]}\n`,
      'agents/kind/config.yaml': 'name: kind\ndynamic_instructions: true\n',
      'agents/kind/tools.sh': `# @cmd Greets
# @option --who!
greet() { echo "hello $argc_who"; }
# @cmd Instructions
_instructions() { echo "Be kind."; }
eval "$(argc --argc-eval "$0" "$@")"
`,
    });
    await world.ctx.useAgent({ name: 'kind' });
    await world.ask('hi');
    expect([world.sent[0]?.tools[0], world.sent[0]?.tools.includes('_instructions')]).toEqual(['greet', false]);
    const last = world.sent.at(-1)?.messages;
    expect([last?.[0] && textOf(last[0]).startsWith('Be kind.'), last?.at(-1)]).toMatchObject([
      true,
      { role: 'tool', content: [{ output: 'hello you\n' }] },
    ]);
  });
});

describe('emitters', () => {
  const host = (text: string): EnginePort => ({
    sessionId: () => undefined,
    modelId: () => 'm',
    prepare: async (input) => input,
    turn: () => Promise.reject(new Error('not asked')),
    dryRun: async () => text,
    keep: async () => {},
  });
  const request = { requestId: 'r', input: { role: 'user' as const, content: [] }, options: PRESETS.cli };

  verifies('R-72').test('that throw are left alone; the others hear everything and the run ends well', async () => {
    const good = new CollectingEmitter();
    let heard = 0;
    const bad = {
      emit: () => {
        heard += 1;
        throw new Error('broken pipe');
      },
    };
    const late = { emit: () => Promise.reject(new Error('later')) };
    const outcome = await run(host('dry'), request, bad, good, late, nullEmitter);
    expect([outcome.final_message, heard, kinds(good.events)]).toEqual([
      'dry',
      1,
      ['started', 'assistant_message_end', 'finished'],
    ]);
  });

  verifies('R-72').test('hear one event after the other, however slow they are', async () => {
    const heard: string[] = [];
    const slow = {
      async emit({ type }: EngineEvent) {
        await new Promise((resolve) => setImmediate(resolve));
        heard.push(type);
      },
    };
    const sink = safeSink([slow]);
    for (const message of ['a', 'b']) sink.emit({ type: 'info', message });
    sink.emit({ type: 'session_compressing' });
    await sink.flush();
    expect(heard).toEqual(['info', 'info', 'session_compressing']);
  });

  verifies('R-72').test('write JSON, server-sent events, or text for a person', async () => {
    const events: EngineEvent[] = [
      { type: 'assistant_delta', kind: 'reasoning', text: 'hm' },
      { type: 'assistant_delta', kind: 'text', text: 'Hi\u001b[2J' },
      {
        type: 'assistant_message_end',
        text: 'Hi',
        usage: { input: 0, output: 0, cached: 0, reasoning: 0 },
        cost: null,
      },
      { type: 'tool_call', id: '1', name: 'fs_ls', arguments: { path: '.' } },
      {
        type: 'assistant_message_end',
        text: 'whole',
        usage: { input: 0, output: 0, cached: 0, reasoning: 0 },
        cost: null,
      },
      { type: 'warning', message: 'careful' },
      { type: 'session_autonamed', name: 'x' },
      { type: 'auto_continue_triggered', count: 1, max: 2 },
      { type: 'error', error: { code: 'c', message: 'bad', hint: 'Do.', retryable: false } },
    ];
    const out = { answer: '', notes: '' };
    const into = (name: keyof typeof out) => (text: string) => {
      out[name] += text;
    };
    const emitter = terminalEmitter({ answer: plainAnswer(into('answer')), notes: into('notes') });
    for (const event of events) await emitter.emit(event);
    expect([out.answer, out.notes]).toEqual([
      'Hi␛[2J\nwhole\n',
      'fs_ls {"path":"."}\nwarning: careful\nthe session is now called x\ngoes on by itself (1 of 2)\nerror: bad. Do.\n',
    ]);
  });

  verifies('R-70').test('a command comes before the prelude, the prelude before the question', async () => {
    const order: string[] = [];
    const noted = <T>(name: string, value: T) => {
      order.push(name);
      return Promise.resolve(value);
    };
    const commanded: EnginePort<string> = {
      ...host('dry'),
      command: (name) => noted(name, name === '.file' ? request.input : undefined),
      applyPrelude: () => noted('prelude', undefined),
      prepare: (input) => noted('input', input),
      beginTurn: () => noted('turn', () => undefined),
    };
    await run(commanded, { requestId: 'r', command: '.file', options: PRESETS.cli }, nullEmitter);
    await run(commanded, { requestId: 'r', command: '.info', options: PRESETS.cli }, nullEmitter);
    await run(commanded, { ...request, options: PRESETS.api_session }, nullEmitter);
    expect(order).toEqual(['.file', 'prelude', 'input', '.info', 'input']);
  });

  verifies('R-71').test('a thousand continuations do not grow the stack', async () => {
    let turns = 0;
    const endless: EnginePort = {
      ...host(''),
      dryRun: async () => undefined,
      turn: async (_question, io) => ({
        client: {
          chat: async () => {
            turns += 1;
            return {
              content: [{ type: 'text', text: `answer ${turns}, depth ${new Error().stack?.split('\n').length}` }],
              finish: 'stop',
              usage: { input: 1, output: 1, cached: 0, reasoning: 0 },
              cost: 0,
            };
          },
          embed: () => Promise.reject(new Error('no')),
          rerank: () => Promise.reject(new Error('no')),
        },
        model: { id: 'm:m', client: 'm', name: 'm', kind: 'chat', data: { name: 'm', type: 'chat' } },
        settings: { temperature: null, top_p: null, max_output_tokens: null, stream: false },
        prompt: { build: (turn) => turn },
        functions: { tools: [], find: () => undefined, declarations: () => [] },
        tracker: { reset() {}, nextStep() {}, record: () => 'ok' },
        gate: { pass: async () => {} },
        outputs: { cap: async (output) => output },
        ask: async () => ({ kind: 'needs_human' }),
        cwd: '/',
        signal: io.signal,
        emit: io.emit,
      }),
      followUp: () => (turns < 1_000 ? { text: 'go on', count: turns, max: 1_000 } : undefined),
    };
    const outcome = await run(endless, request, nullEmitter);
    const depth = (text: string | undefined) => text?.split('depth ')[1];
    expect([outcome.turns, outcome.auto_continued, outcome.usage.input]).toEqual([1_000, 999, 1_000]);
    expect(Number(depth(outcome.final_message))).toBeLessThan(12);
  });
});

test('code is found in an answer whatever fences it', () => {
  expect(
    ['plain', '```\na\n```', 'x\n~~~py\nb\n~~~\ny\n```\nc\n```', '````md\n```\nin\n```\n````', '```\nopen'].map(
      extractCode,
    ),
  ).toEqual(['plain', 'a', 'b\n\nc', '```\nin\n```', 'open']);
});
