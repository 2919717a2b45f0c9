import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openRegistry } from '../../../test/support/engine/registry.ts';
import { bench, commands, folder } from '../../../test/support/engine/workbench.ts';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { deadline } from '../../../test/support/scale.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Message } from '../models/message.ts';
import { userText } from '../models/message.ts';
import { createPermissionGate } from '../permissions/gate.ts';
import { createToolCallTracker } from '../permissions/loop-guard.ts';
import { executingTools } from '../tools/builtin/execute.ts';
import { readingTools } from '../tools/builtin/fs-read.ts';
import { writingTools } from '../tools/builtin/fs-write.ts';
import { createLocations } from '../tools/builtin/location.ts';
import { userTools } from '../tools/builtin/user.ts';
import { createOutputCap } from '../tools/output.ts';
import { type Answer, createFunctions } from '../tools/tool.ts';
import type { EngineEvent } from './emitter.ts';
import type { TurnDeps, TurnResult } from './turn-deps.ts';
import { runTurn } from './turn-loop.ts';

interface Scene {
  parts: TurnDeps;
  events: EngineEvent[];
  dir: string;
  abort: AbortController;
  prompts: (readonly Message[])[];
}

/** A scripted model with real tools in a real folder. */
async function scene(script: string, more: Partial<TurnDeps> = {}, ...answers: Answer[]): Promise<Scene> {
  const dir = folder({ 'a.txt': 'alpha\n', 'b.txt': 'beta\n' });
  const config = folder({ 's.yaml': script });
  const { registry } = openRegistry(
    [{ type: 'scripted', models: [{ name: 'm', script: 's.yaml', input_price: 1, output_price: 1 }] }],
    { configDir: config },
  );
  const places = createLocations();
  const tools = [
    ...readingTools(places),
    ...writingTools(places),
    ...executingTools({ run: await commands(), shell: '/bin/sh' }),
    ...userTools(),
  ];
  const { context } = bench(tools, dir, ...answers);
  const events: EngineEvent[] = [];
  const prompts: (readonly Message[])[] = [];
  const abort = new AbortController();
  const model = registry.find('scripted:m');
  const parts: TurnDeps = {
    client: registry.client(model),
    model,
    settings: { temperature: null, top_p: null, max_output_tokens: null, stream: true },
    prompt: {
      build: (turn) => {
        prompts.push([...turn]);
        return [{ role: 'system', content: 'Be brief.' }, ...turn];
      },
    },
    functions: createFunctions(tools),
    tracker: createToolCallTracker({ max_repeats: 5, window: 10 }),
    gate: createPermissionGate({ rules: [], confirmAll: true }),
    outputs: createOutputCap(join(config, 'outputs'), () => 'id'),
    ask: context.ask,
    cwd: dir,
    signal: abort.signal,
    emit: (event) => events.push(event),
    ...more,
  };
  return { parts, events, dir, abort, prompts };
}

const play = ({ parts }: Scene) => runTurn(parts, [userText('go')]);
const call = (name: string, args: unknown) => `{name: ${name}, arguments: ${JSON.stringify(args)}}`;
const usage = '{input: 10, output: 5}';

/** What every provider demands: each call is answered, once, in the next message. */
function isValid({ messages }: TurnResult): boolean {
  return messages.every((message, at) => {
    if (message.role !== 'assistant') return true;
    const calls = message.content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []));
    if (calls.length === 0) return true;
    const next = messages[at + 1];
    return next?.role === 'tool' && JSON.stringify(next.content.map(({ id }) => id)) === JSON.stringify(calls);
  });
}

describe('a turn', () => {
  verifies('R-72', 'R-81').test('goes on with the results of tools until the model answers', async () => {
    const stage = await scene(`
- reply: {text: Reading., tool_calls: [${call('fs_cat', { path: 'a.txt' })}], usage: ${usage}}
- when: {last_tool: fs_cat}
  reply: {text: It says alpha., usage: ${usage}}
`);
    const result = await play(stage);
    expect(result).toEqual({
      messages: [
        userText('go'),
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Reading.' },
            { type: 'tool_call', id: 'call_1', name: 'fs_cat', arguments: { path: 'a.txt' } },
          ],
        },
        { role: 'tool', content: [{ type: 'tool_result', id: 'call_1', name: 'fs_cat', output: 'alpha\n' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'It says alpha.' }] },
      ],
      text: 'It says alpha.',
      usage: { input: 20, output: 10, cached: 0, reasoning: 0 },
      cost: 30 / 1_000_000,
      tool_call_count: 1,
      steps: 2,
    });
    const usageOf = { input: 10, output: 5, cached: 0, reasoning: 0 };
    expect(stage.events).toEqual([
      { type: 'assistant_delta', kind: 'text', text: 'Reading.' },
      { type: 'assistant_message_end', text: 'Reading.', usage: usageOf, cost: 15 / 1_000_000 },
      { type: 'tool_call', id: 'call_1', name: 'fs_cat', arguments: { path: 'a.txt' } },
      { type: 'tool_result', id: 'call_1', name: 'fs_cat', output: 'alpha\n', is_error: false },
      { type: 'assistant_delta', kind: 'text', text: 'It says alph' },
      { type: 'assistant_delta', kind: 'text', text: 'a.' },
      { type: 'assistant_message_end', text: 'It says alpha.', usage: usageOf, cost: 15 / 1_000_000 },
    ]);
  });

  verifies('R-90').test('gives the model what went wrong, and goes on', async () => {
    const stage = await scene(`
- reply: {tool_calls: [${call('fs_cat', { path: 'none' })}, ${call('nonsense', {})}, ${call('fs_cat', { wrong: 1 })}, ${call('execute_command', { command: 'exit 3' })}]}
- reply: {text: I see.}
`);
    const result = await play(stage);
    const outputs = result.messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
    expect(outputs.map(({ isError, output }) => [isError, JSON.parse(output).tool_call_error.split(':')[0]])).toEqual([
      [true, 'none does not exist'],
      [true, 'There is no tool "nonsense"; there are'],
      [true, 'The arguments of fs_cat do not fit'],
      [true, 'Exit code 3'],
    ]);
    expect([result.text, result.error]).toEqual(['I see.', undefined]);
  });

  verifies('R-71').test('has a limit of steps', async () => {
    const stage = await scene(`- {times: always, reply: {tool_calls: [${call('fs_ls', { path: '.' })}]}}`, {
      tracker: { reset() {}, nextStep() {}, record: () => 'ok' },
    });
    const result = await play(stage);
    expect([result.error?.code, result.steps, isValid(result)]).toEqual(['turn_step_limit', 100, true]);
  });

  verifies('R-94').test('warns of a loop and ends it when the warning is not heard', async () => {
    const stage = await scene(`- {times: always, reply: {tool_calls: [${call('fs_cat', { path: 'a.txt' })}]}}`);
    const result = await play(stage);
    const outputs = result.messages.flatMap((message) =>
      message.role === 'tool' ? message.content.map(({ output }) => output) : [],
    );
    expect(outputs.map((output) => (output.includes('tool_call_loop_alert') ? 'alert' : output))).toEqual([
      ...Array.from({ length: 5 }, () => 'alpha\n'),
      'alert',
      'alpha\n',
    ]);
    expect([result.error?.code, isValid(result)]).toEqual(['tool_loop', true]);
  });

  verifies('R-94').test('never takes work that gets ahead for a loop', async () => {
    const stage = await scene(`
- {times: 8, reply: {tool_calls: [${call('execute_command', { command: 'echo x >> log; wc -l < log' })}]}}
- reply: {text: done}
`);
    const result = await play(stage);
    expect([result.error, result.text, result.tool_call_count]).toEqual([undefined, 'done', 8]);
  });

  test('does not run half a call', async () => {
    const stage = await scene(`
- reply: {finish: length, tool_calls: [${call('fs_write', { path: 'x', contents: 'half' })}]}
- reply: {text: Shorter then.}
`);
    const result = await play(stage);
    expect([existsSync(join(stage.dir, 'x')), isValid(result), result.text]).toEqual([false, true, 'Shorter then.']);
    expect(JSON.stringify(result.messages[2])).toContain('cut by its output limit');
  });

  test('runs writing calls in order, one after the other', async () => {
    const lines = ['one', 'two', 'three'].map((word) =>
      call('execute_command', { command: `sleep 0.05; echo ${word} >> log` }),
    );
    const stage = await scene(`- reply: {tool_calls: [${lines.join(', ')}]}\n- reply: {text: ok}`);
    await play(stage);
    expect(readFileSync(join(stage.dir, 'log'), 'utf8')).toBe('one\ntwo\nthree\n');
  });

  test('ends with a call that is final', async () => {
    const stage = await scene(`- reply: {text: Bye., tool_calls: [${call('fs_ls', { path: '.' })}]}`, {
      isFinal: ({ name }) => name === 'fs_ls',
    });
    const result = await play(stage);
    expect([result.error, result.steps, result.text]).toEqual([undefined, 1, 'Bye.']);
  });

  test('is stopped between steps by whoever counts, with its work kept', async () => {
    const seen: unknown[] = [];
    const stage = await scene(
      `- {times: always, reply: {text: more, tool_calls: [${call('fs_ls', { path: '.' })}], usage: ${usage}}}`,
      {
        beforeStep: ({ steps, usage: used, tool_call_count }) => {
          seen.push([steps, used.input, tool_call_count]);
          if (used.input >= 20) throw new ReefError('budget_exhausted', 'enough');
        },
      },
    );
    const result = await play(stage);
    expect([seen, result.error?.code, result.messages.length, isValid(result)]).toEqual([
      [
        [0, 0, 0],
        [1, 10, 1],
        [2, 20, 2],
      ],
      'budget_exhausted',
      5,
      true,
    ]);
  });

  verifies('R-161').test('shows no tools to a model that is not said to call them', async () => {
    const stage = await scene('- {reply: {text: ok}, times: always}');
    const { supports_function_calling: _, ...data } = stage.parts.model.data;
    const asked: unknown[] = [];
    const client = {
      ...stage.parts.client,
      chat: (request: Parameters<typeof stage.parts.client.chat>[0]) => {
        asked.push(request.tools);
        return stage.parts.client.chat({ ...request, model: stage.parts.model });
      },
    };
    const models = [data, { ...data, supports_function_calling: false }, { ...data, supports_function_calling: true }];
    for (const each of models) {
      await runTurn({ ...stage.parts, model: { ...stage.parts.model, data: each }, client }, [userText('go')]);
    }
    expect(asked).toEqual([undefined, undefined, expect.arrayContaining([])]);
  });
});

describe('a turn that is cancelled', () => {
  verifies('R-73').test('keeps what the model had said, marked', async () => {
    const stage = await scene(
      '- reply: {text: a long story that is not heard to its end, chunk: 6, chunk_delay_ms: 50}',
    );
    stage.parts.emit = (event) => {
      stage.events.push(event);
      if (stage.events.length === 2) stage.abort.abort();
    };
    const result = await play(stage);
    expect(result).toMatchObject({
      messages: [
        userText('go'),
        { role: 'assistant', content: [{ type: 'text', text: 'a long story' }], interrupted: true },
      ],
      text: 'a long story',
      error: { code: 'cancelled' },
    });
    expect(stage.events.at(-1)).toMatchObject({
      type: 'assistant_message_end',
      text: 'a long story',
      interrupted: true,
    });
  });

  verifies('R-73').test('kills the tools that run and answers every open call', async () => {
    const calls = [
      call('execute_command', { command: 'echo begun > begun; sleep 600' }),
      call('execute_command', { command: 'echo never > never' }),
      call('fs_ls', { path: '.' }),
    ];
    const stage = await scene(`- reply: {text: Working., tool_calls: [${calls.join(', ')}]}`);
    const turn = play(stage);
    await expect.poll(() => existsSync(join(stage.dir, 'begun'))).toBe(true);
    const startedAt = performance.now();
    stage.abort.abort();
    const result = await turn;
    expect([
      result.error?.code,
      isValid(result),
      performance.now() - startedAt < deadline(2_000),
      existsSync(join(stage.dir, 'never')),
    ]).toEqual(['cancelled', true, true, false]);
    const outputs = result.messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
    expect(outputs.map(({ output, isError }) => [output, isError])).toEqual(
      Array.from({ length: 3 }, () => ['{"cancelled":true}', true]),
    );
  });

  verifies('R-73').test('does not wait for a tool or a person that does not hear', async () => {
    const stage = await scene(`- reply: {tool_calls: [${call('user__confirm', { question: 'Sure?' })}]}`);
    let asked = false;
    stage.parts.ask = () => {
      asked = true;
      return new Promise(() => {});
    };
    const turn = play(stage);
    await expect.poll(() => asked).toBe(true);
    const startedAt = performance.now();
    stage.abort.abort();
    const result = await turn;
    expect([result.error?.code, isValid(result), performance.now() - startedAt < deadline(2_000)]).toEqual([
      'cancelled',
      true,
      true,
    ]);
  });

  verifies('R-73').test('before it began asks nobody', async () => {
    const stage = await scene('- reply: {text: never}');
    stage.abort.abort();
    expect([await play(stage), stage.prompts]).toMatchObject([
      { messages: [userText('go')], error: { code: 'cancelled' } },
      [],
    ]);
  });
});

describe('a turn whose provider fails', () => {
  verifies('R-82').test('keeps the words that came before the stream broke, and does not ask again', async () => {
    const stage = await scene('- reply: {text: half an answer, chunk: 4, break_after: 8}\n- reply: {text: again}', {
      onOutage: async () => true,
    });
    const result = await play(stage);
    expect(result).toMatchObject({
      messages: [
        userText('go'),
        { role: 'assistant', content: [{ type: 'text', text: 'half an ' }], interrupted: true },
      ],
      error: { code: 'provider_stream_broken' },
    });
  });

  test('waits as it is told and goes on at the same step', async () => {
    const clock = manualClock();
    const config = folder({
      's.yaml': '- error: {status: 503}\n- error: {status: 529, retry_after: 5}\n- reply: {text: back}',
    });
    const { registry } = openRegistry([{ type: 'scripted', models: [{ name: 'm', script: 's.yaml' }] }], {
      configDir: config,
      clock,
    });
    const model = registry.find('scripted:m');
    const waits: unknown[] = [];
    const stage = await scene('[]', {
      client: registry.client(model),
      model,
      onOutage: async (error, attempt) => {
        waits.push([error.code, attempt, error.details?.retry_at]);
        await clock.advance(10_000);
        return true;
      },
    });
    expect((await play(stage)).text).toBe('back');
    expect(waits).toEqual([
      ['keys_exhausted', 1, '2026-01-01T00:00:01.000Z'],
      ['keys_exhausted', 2, '2026-01-01T00:00:15.000Z'],
    ]);
  });

  test('ends with the failure when nobody wants to wait', async () => {
    const stage = await scene('- error: {status: 400, message: bad}');
    expect(await play(stage)).toMatchObject({ messages: [userText('go')], error: { code: 'provider_rejected' } });
  });
});

describe('a turn that needs a person', () => {
  test('who answers goes on with the answer', async () => {
    const stage = await scene(
      `- reply: {tool_calls: [${call('user__confirm', { question: 'Sure?' })}]}\n- reply: {text: Good.}`,
      {},
      { kind: 'confirm', confirmed: true },
    );
    const result = await play(stage);
    expect([JSON.stringify(result.messages[2]).includes('confirmed'), result.text]).toEqual([true, 'Good.']);
  });

  test('where nobody is ends and says so, with a history that can be continued', async () => {
    const stage = await scene(
      `- reply: {tool_calls: [${call('user__confirm', { question: 'Sure?' })}, ${call('fs_ls', { path: '.' })}]}`,
    );
    const result = await play(stage);
    expect([result.error?.code, result.error?.details, isValid(result)]).toEqual([
      'needs_human',
      { needs_human: true, action: 'confirm', question: 'Sure?' },
      true,
    ]);
  });

  verifies('R-93').test('is asked before a command runs, and hears a no', async () => {
    const stage = await scene(
      `- reply: {tool_calls: [${call('execute_command', { command: 'touch made' })}]}\n- reply: {text: Then not.}`,
      { gate: createPermissionGate({ rules: [] }) },
      { kind: 'permission', decision: 'deny' },
    );
    const result = await play(stage);
    expect([existsSync(join(stage.dir, 'made')), result.text]).toEqual([false, 'Then not.']);
    expect(JSON.stringify(result.messages[2])).toContain('permission_denied');
  });
});
