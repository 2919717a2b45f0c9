import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { afterEach, expect } from 'vitest';
import {
  JOB_ID,
  NOW,
  sampleChoice,
  sampleEvent,
  sampleJob,
  sampleQuestion,
} from '../../../test/support/surfaces/samples.ts';
import { smallCore } from '../../../test/support/surfaces/small-core.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { codeQueries } from '../../protocol/code-operations.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { JobView } from '../../protocol/job-operations.ts';
import type { Core, OperationName } from '../../protocol/operations.ts';
import { parseInput } from '../parse-input.ts';
import { createMcpServer, toolsFor } from './server.ts';
import { resultSchema } from './slim.ts';
import { asTools, textOf } from './text.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

type Era = 'legacy' | 'modern';

/** A client of either era, and our server from its one definition, over memory: no program, no daemon. */
async function connect(era: Era | 'job', job?: JobView, changes?: Partial<Core>) {
  const { core, calls } = smallCore(job, changes);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const call = async (name: OperationName, input: unknown, options: { signal?: AbortSignal } = {}) =>
    core[name](parseInput(name, input) as never, { by: 'test', surface: 'mcp' }, options.signal ?? AbortSignal.any([]));
  opened.push(
    serveStdio(
      () => createMcpServer({ call: call as never }, { user: era === 'job' ? 'job' : 'client', folder: '/work' }),
      { transport: ours },
    ),
  );
  const mode = era !== 'legacy' ? { pin: '2026-07-28' } : ('legacy' as const);
  const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode } });
  await client.connect(theirs);
  opened.push(client);
  return { client, calls };
}

/** One good call of each tool. */
const GOOD: Partial<Record<OperationName, Record<string, unknown>>> = {
  spawn: { agent: 'claude', task: 'fix it' },
  status: {},
  send: { id: '@last', text: 'hello' },
  output: { id: '@last' },
  kill: { id: '@last' },
  wait: {},
  interrupt: { id: '@last' },
  resume: { id: '@last' },
  inbox: {},
  usage: { by: 'day' },
  run: { task: 'fix it' },
  run_status: { id: '@last' },
  run_control: { id: '@last', verb: 'retry' },
  block_result: { signal: 'SIGNAL:SUCCESS', summary: 'done' },
  worktrees: {},
  diff: { id: '@last' },
  accept: { id: '@last' },
  worktree_gates: { id: '@last' },
  conflicts: { plan: ['src/**'] },
  get_file_outline: { file_path: 'src/tax.ts' },
  get_directory_outline: { directory_path: 'src' },
  get_symbol: { name: 'tax' },
  get_symbol_references: { name: 'tax' },
  get_callers: { name: 'tax' },
  get_callees: { name: 'tax' },
  get_impact: { name: 'tax' },
  get_tests: { name: 'tax' },
  find_symbols: { query: 'ta' },
  code_search: { query: 'tax' },
  explore_code: { question: 'where is tax rounded?' },
  repo_state: {},
  artifact_read: { id: 't1' },
};

const textIn = (result: { content: unknown }) => (result.content as { text: string }[])[0]?.text ?? '';

for (const era of ['legacy', 'modern'] as const) {
  verifies('A-142', 'U-10', 'U-11', 'U-12').test(
    `each tool answers a ${era} client with structure and words`,
    async () => {
      const { client, calls } = await connect(
        era,
        sampleJob({ status: 'awaiting_input', questions: [sampleQuestion()] }),
      );
      for (const name of toolsFor('client')) {
        calls.length = 0;
        const result = await client.callTool({ name, arguments: GOOD[name] ?? {} });
        expect([name, result.isError ?? false, calls.map(({ operation }) => operation)]).toEqual([name, false, [name]]);
        expect(resultSchema(name).safeParse(result.structuredContent).success).toBe(true);
        expect(textIn(result)).not.toBe('');
      }
    },
  );

  verifies('U-15').test(`bad arguments of a ${era} client are tool errors that name the field`, async () => {
    const { client, calls } = await connect(era);
    const cases: [string, Record<string, unknown>, RegExp][] = [
      ['spawn', { agent: 'claude' }, /^bad_request: spawn: task: .+\nCorrect what is named/s],
      ['output', { id: '@last', limit: 0 }, /output: limit: /],
      ['wait', { timeoutMs: 46_000 }, /wait: timeoutMs: /],
      ['send', { id: '@last', text: 'x', approved: true }, /"approved"/],
      ['kill', {}, /kill: id: /],
    ];
    for (const [name, args, words] of cases) {
      const result = await client.callTool({ name, arguments: args });
      expect([result.isError, textIn(result)]).toEqual([true, expect.stringMatching(words)]);
    }
    expect(calls).toEqual([]);
    const refused = await client.callTool({ name: 'kill', arguments: { id: 'nobody' } });
    expect([refused.isError, textIn(refused).split('\n')[0]]).toEqual([true, 'job_not_found: no job nobody']);
    await expect(client.callTool({ name: 'frobnicate', arguments: {} })).rejects.toThrow(/frobnicate/);
    expect((await client.callTool({ name: 'inbox', arguments: {} })).isError ?? false).toBe(false);
  });
}

verifies('A-151', 'U-11', 'X-60').test('the tools are those of the table, described within their caps', async () => {
  const { client } = await connect('modern');
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(toolsFor('client'));
  const inJob = await (await connect('job')).client.listTools();
  expect(inJob.tools.map(({ name }) => name)).toEqual(toolsFor('job'));
  expect(toolsFor('job')).not.toContain('accept');
  for (const tool of tools) {
    expect(tool.name).toMatch(/^[A-Za-z0-9_.-]{1,128}$/);
    expect(Buffer.byteLength(tool.description ?? '')).toBeLessThanOrEqual(4_096);
    expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(tool.outputSchema).toMatchObject({ type: 'object' });
  }
  const destructive = tools.filter(({ annotations }) => annotations?.destructiveHint).map(({ name }) => name);
  const readOnly = tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name);
  expect([destructive, readOnly]).toEqual([
    ['kill'],
    [
      'status',
      'output',
      'wait',
      'inbox',
      'usage',
      'run_status',
      'worktrees',
      'diff',
      'conflicts',
      ...codeQueries,
      'repo_state',
      'artifact_read',
    ],
  ]);
});

verifies('X-09').test('no tool takes a command line', async () => {
  const { client } = await connect('modern');
  const { tools } = await client.listTools();
  const fields = tools.flatMap(({ inputSchema }) => Object.keys(inputSchema.properties ?? {}));
  expect(fields.filter((field) => /command|shell|exec|argv|args|env|script/i.test(field))).toEqual([]);
});

verifies('U-14').test('an open question is data, with all that an answer needs', async () => {
  const job = sampleJob({
    status: 'awaiting_input',
    questions: [sampleQuestion(), sampleChoice({ questionId: '1#0' })],
  });
  const { client } = await connect('legacy', job);
  for (const name of ['status', 'wait', 'inbox']) {
    const result = await client.callTool({ name, arguments: {} });
    expect(JSON.stringify(result.structuredContent)).toContain(sampleQuestion().fingerprint);
    const text = textIn(result);
    expect(text).toContain('│ rm -rf build');
    expect(text).toContain(`send {"id":"${JOB_ID}","questionId":"0#0","fingerprint":"${sampleQuestion().fingerprint}"`);
    expect(text).toContain(`send {"id":"${JOB_ID}","questionId":"1#0","option":[1]}`);
  }
});

verifies('U-12').test(
  'a page that is too much for a model is shortened, and the cursor reads on behind it',
  async () => {
    const events = Array.from({ length: 100 }, (_, index) =>
      sampleEvent('progress', { kind: 'text', text: 'ä'.repeat(2_000) }, { seq: index + 1 }),
    );
    const { client } = await connect('modern', undefined, {
      output: async ({ since, limit }) => {
        const rest = events.slice(Number(since ?? 0));
        const page = rest.slice(0, limit);
        return {
          agentId: JOB_ID,
          status: 'completed',
          events: page,
          nextCursor: String(page.at(-1)?.seq ?? since),
          truncated: rest.length > limit,
        };
      },
    });
    const seen: number[] = [];
    for (let since: string | undefined; seen.length < 100; ) {
      const result = await client.callTool({ name: 'output', arguments: { id: '@last', ...(since ? { since } : {}) } });
      const page = result.structuredContent as { events: { seq: number }[]; nextCursor: string; truncated: boolean };
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(40_000);
      expect(Buffer.byteLength(textIn(result))).toBeLessThanOrEqual(20_000);
      seen.push(...page.events.map(({ seq }) => seq));
      expect(page.truncated).toBe(seen.length < 100);
      since = page.nextCursor;
    }
    expect(seen).toEqual(events.map(({ seq }) => seq));
  },
);

verifies('U-12', 'J-26').test(
  'an event that is too long says where the rest is, and a question stays whole',
  async () => {
    const huge = sampleEvent('progress', { kind: 'text', text: 'x'.repeat(60_000) });
    const question = sampleEvent('needs_input', { ...sampleQuestion(), input: { command: 'y'.repeat(5_000) } });
    const { client } = await connect('modern', undefined, {
      output: async () => ({
        agentId: JOB_ID,
        status: 'running',
        events: [huge, question],
        nextCursor: '2',
        truncated: false,
      }),
    });
    const result = await client.callTool({ name: 'output', arguments: { id: '@last' } });
    const { events } = result.structuredContent as { events: { payload: { text: string } }[] };
    expect(events[0]?.payload.text).toMatch(/^x+…\[cut \d+ bytes; the rest: reef output\]$/);
    expect(events[1]?.payload).toEqual(question.payload);
  },
);

verifies('J-26').test('the status of many jobs is small, and hints name tools', async () => {
  const many = Array.from({ length: 17 }, (_, n) =>
    sampleJob({
      id: `${JOB_ID.slice(0, -2)}${n + 10}`,
      task: 'Mend what is broken. '.repeat(50),
      lastOutput: 'z'.repeat(9_000),
    }),
  );
  const { client } = await connect('modern', undefined, { status: async () => ({ jobs: many }) });
  const { structuredContent } = await client.callTool({ name: 'status', arguments: {} });
  expect(Buffer.byteLength(JSON.stringify(structuredContent))).toBeLessThan(4_000);
  expect(asTools('`reef run show 01J --follow`, `reef run retry 01J`, `reef inbox`, `reef doctor`')).toBe(
    '`run_status {"id":"01J"}`, `run_control {"id":"01J","verb":"retry"}`, `inbox`, `reef doctor`',
  );
});

verifies('J-26').test("a relative folder is the client's, and worktree: true a new one", async () => {
  const { client, calls } = await connect('modern');
  await client.callTool({ name: 'spawn', arguments: { agent: 'claude', task: 't', cwd: 'lib', worktree: true } });
  expect(calls).toMatchObject([{ operation: 'spawn', input: { cwd: '/work/lib', worktree: '' } }]);
});

verifies('X-51').test('the words of a tool carry no control character of an agent', () => {
  const killed = { agentId: JOB_ID, status: 'killed' as const, finalOutput: 'bye\u001b]52;c;AAAA\u0007' };
  const text = textOf('kill', killed, { now: NOW, rest: 'elsewhere' });
  expect(text).toBe(`Job ${JOB_ID} is killed.\nbye␛]52;c;AAAA␇`);
});

verifies('J-04').test('a wait that is of no use any more says why, and not to call it again', () => {
  const because = `Job ${JOB_ID} has ended (completed).`;
  const about = { now: NOW, rest: 'elsewhere' };
  expect(textOf('wait', { met: false, because, jobs: [] }, about)).toContain(
    `${because} What you wait for cannot happen unless somebody acts.`,
  );
  expect(textOf('wait', { met: false, because, jobs: [] }, about)).not.toContain('call wait again');
  expect(textOf('wait', { met: false, jobs: [] }, about)).toContain('call wait again');
});

verifies('U-15').test('a core that fails does not end the server', async () => {
  const { client } = await connect('modern', undefined, {
    status: async () => {
      throw new TypeError('a defect');
    },
    wait: async () => {
      throw new ReefError('storage_unavailable', 'the disk is full');
    },
    inbox: async () => ({ questions: 'not a list' }) as never,
  });
  const results = [];
  for (const name of ['status', 'wait', 'inbox', 'kill'] as const) {
    const result = await client.callTool({ name, arguments: GOOD[name] ?? {} });
    results.push([result.isError ?? false, textIn(result).split(':')[0]]);
  }
  expect(results.slice(0, 2)).toEqual([
    [true, 'internal'],
    [true, 'storage_unavailable'],
  ]);
  expect(results.slice(2).map(([failed]) => failed)).toEqual([true, false]);
});

verifies('U-13').test('a cancelled call ends the one behind it', async () => {
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { client } = await connect('legacy', undefined, {
    wait: (_input, _caller, signal) =>
      new Promise((_, reject) => {
        begun.resolve();
        signal.addEventListener('abort', () => {
          ended.resolve();
          reject(new Error('ended'));
        });
      }),
  });
  const controller = new AbortController();
  const call = client.callTool({ name: 'wait', arguments: {} }, { signal: controller.signal });
  await begun.promise;
  controller.abort();
  await expect(call).rejects.toThrow();
  await ended.promise;
});
