import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, beforeEach, expect } from 'vitest';
import { JOB_ID } from '../../../test/support/surfaces/samples.ts';
import { smallCore } from '../../../test/support/surfaces/small-core.ts';
import { openSocket, type TestSocket } from '../../../test/support/surfaces/socket.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { main } from '../../programs/reef.ts';

/** The real program, `reef mcp`, over its real standard input and output. */
const REEF = fileURLToPath(new URL('../../../bin/reef.cjs', import.meta.url));

const CLIENTS = 50;

let dir: string;
let socket: TestSocket | undefined;
let child: ChildProcessWithoutNullStreams | undefined;
beforeEach(() => {
  dir = temporaryFolder();
});
afterEach(async () => {
  if (child && child.exitCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  child = undefined;
  await socket?.close();
  socket = undefined;
});

function start(env: Record<string, string>, cwd = dir) {
  const started = spawn(process.execPath, [REEF, 'mcp'], { env: { ...process.env, HOME: dir, ...env }, cwd });
  child = started;
  const lines = createInterface({ input: started.stdout })[Symbol.asyncIterator]();
  return {
    write: (text: string) => started.stdin.write(`${text}\n`),
    end: () => started.stdin.end(),
    exited: once(started, 'exit'),
    /** Every line of stdout must be a message. */
    next: async (): Promise<Record<string, unknown>> => JSON.parse((await lines.next()).value),
  };
}

const hello = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '0' } },
});

verifies('U-10').test('starting the server touches nothing and starts nobody', async () => {
  const home = join(dir, 'home');
  const server = start({ REEF_HOME: home });
  server.write(hello);
  expect(await server.next()).toMatchObject({ id: 0, result: { serverInfo: { name: 'reef' } } });
  server.write('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  server.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
  expect(await server.next()).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
  server.end();
  expect((await server.exited)[0]).toBe(0);
  expect((await readdir(dir)).filter((name) => name !== '.cache')).toEqual([]);
});

verifies('U-15').test('what is no message is answered with the error of the protocol and ends nothing', async () => {
  socket = await openSocket(smallCore().core);
  const server = start(socket.env);
  server.write(hello);
  await server.next();
  const cases: [string, object][] = [
    ['{"jsonrpc":', { error: { code: -32_700 } }],
    ['hello', { error: { code: -32_700 } }],
    ['[]', { error: { code: -32_600 } }],
    ['{"jsonrpc":"1.0","id":5,"method":"ping"}', { id: 5, error: { code: -32_600 } }],
    ['{"id":"a","method":7}', { id: 'a', error: { code: -32_600 } }],
    [`{"x":"${'y'.repeat(9 * 1_048_576)}"}`, { error: { code: -32_600 } }],
    ['{"jsonrpc":"2.0","id":6,"method":"no/such"}', { id: 6, error: { code: -32_601 } }],
    ['', {}],
    [
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"kill","arguments":{"id":"@last"}}}',
      { id: 7, result: { structuredContent: { agentId: JOB_ID } } },
    ],
  ];
  for (const [line, answer] of cases) {
    server.write(line);
    if (line !== '') expect(await server.next()).toMatchObject(answer);
  }
});

verifies('U-10', 'X-08').test('within a job the server speaks through the socket of that job', async () => {
  const { core, calls } = smallCore();
  socket = await openSocket(core, { caller: { by: 'job:1', jobId: JOB_ID } });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [REEF, 'mcp'],
    env: { PATH: process.env.PATH ?? '', HOME: dir, REEF_SOCKET: socket.path },
    cwd: dir,
  });
  const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(transport);
  const result = await client.callTool({ name: 'status', arguments: {} });
  await client.close();
  expect(result.structuredContent).toMatchObject({ jobs: [{ id: JOB_ID }] });
  expect(calls).toEqual([{ operation: 'status', input: {}, caller: { by: 'job:1', jobId: JOB_ID, surface: 'job' } }]);
});

verifies('U-03').test('a place without a repository is said by the tool, not by a server that fails', async () => {
  const server = start({ REEF_HOME: '' }, '/');
  server.write(hello);
  await server.next();
  server.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":{}}}');
  expect(JSON.stringify(await server.next())).toContain('not_a_repository: / is not inside a git repository');
});

verifies('X-105').test('fifty clients with equal ids get their own answers and no other', async () => {
  const waiting: (() => void)[] = [];
  const { core } = smallCore(undefined, {
    // Nobody is answered before all have asked, and then the last comes first.
    output: async ({ id }) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === CLIENTS) for (const go of waiting.toReversed()) setImmediate(go);
      });
      return { agentId: id, status: 'running', events: [], nextCursor: id, truncated: false };
    },
  });
  socket = await openSocket(core);
  const env = { HOME: dir, ...socket.env };
  const call = (id: string) => ({
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: { name: 'output', arguments: { id } },
  });
  const answers = await Promise.all(
    Array.from({ length: CLIENTS }, async (_, n) => {
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
      const next = async () => JSON.parse((await lines.next()).value);
      const over = main({
        ...{ argv: ['node', 'reef', 'mcp'], env, cwd: () => dir, stdin, stdout, stderr: new PassThrough() },
      });
      stdin.write(`${hello}\n`);
      await next();
      stdin.write(`${JSON.stringify(call(`JOB${n}`))}\n`);
      const { id, result } = await next();
      stdin.end();
      await over;
      return [id, result.structuredContent.agentId];
    }),
  );
  expect(answers).toEqual(Array.from({ length: CLIENTS }, (_, n) => [1, `JOB${n}`]));
});
