import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect } from 'vitest';
import { JOB_ID } from '../../../test/support/surfaces/samples.ts';
import { smallCore } from '../../../test/support/surfaces/small-core.ts';
import { openSocket, type TestSocket } from '../../../test/support/surfaces/socket.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import type { Core } from '../../protocol/operations.ts';
import { connect as connectClient } from '../client/client.ts';
import { openToolLine, type ToolLine } from '../client/tool-line.ts';
import { serveMcp } from './server.ts';
import { serveToolLine } from './tool-line.ts';

let socket: TestSocket | undefined;
const lines: ToolLine[] = [];
afterEach(async () => {
  for (const line of lines.splice(0)) line.close();
  await socket?.close();
  socket = undefined;
});

const forever = () => new AbortController().signal;

/** A daemon's socket with lines, as the daemon opens it. */
async function openLines(changes: Partial<Core> = {}) {
  const { core, calls } = smallCore(undefined, changes);
  const audit: unknown[] = [];
  const deps = { core, audit: (row: unknown) => audit.push(row) };
  socket = await openSocket(core, { tools: (line) => serveToolLine({ ...deps, ...line }) });
  return { path: socket.path, calls, audit };
}

async function open(path: string, client = 'editor in /shop'): Promise<ToolLine> {
  const line = await openToolLine(path, client);
  if (!line) throw new Error('there is no line');
  lines.push(line);
  return line;
}

describe('a line for the reading tools of an MCP client', () => {
  verifies('U-10', 'U-12').test('gives the result as a client reads it, for calls of that client', async () => {
    const { path, calls } = await openLines();
    const line = await open(path);
    const results = await Promise.all([
      line.ask({ name: 'status', args: {} }, forever()),
      line.ask({ name: 'output', args: { id: JOB_ID } }, forever()),
    ]);
    expect(results.map((result) => JSON.parse(String(result)))).toEqual([
      { content: [{ type: 'text', text: expect.any(String) }], structuredContent: { jobs: [expect.anything()] } },
      {
        content: [{ type: 'text', text: expect.any(String) }],
        structuredContent: expect.objectContaining({ agentId: JOB_ID }),
      },
    ]);
    const caller = { by: `mcp:${encodeURIComponent('editor in /shop')}`, surface: 'mcp', isClient: true };
    expect(calls.map((call) => call.caller)).toEqual([caller, caller]);
  });

  verifies('X-08').test('takes nothing that changes anything, and no other words', async () => {
    const { path, calls } = await openLines();
    for (const call of [
      { name: 'kill', args: { id: JOB_ID } },
      { name: 'toString', args: {} },
      { name: 7, args: {} },
    ]) {
      const line = await open(path);
      expect(await line.ask(call as never, forever())).toBeUndefined();
      await until('the line is closed', () => !line.isOpen);
    }
    expect(calls).toEqual([]);
  });

  verifies('U-03').test('leaves a call that fails to the ordinary way, where the error has its words', async () => {
    const { path } = await openLines();
    const line = await open(path);
    expect(await line.ask({ name: 'output', args: { id: 'nobody' } }, forever())).toBeUndefined();
    expect(await line.ask({ name: 'status', args: { unknown: 1 } }, forever())).toBeUndefined();
    expect(line.isOpen).toBe(true);
  });

  verifies('U-13', 'Q-31').test(
    'a call that is given up, or whose client is gone, ends in the daemon too',
    async () => {
      const ended: string[] = [];
      const wait: Core['wait'] = async (_request, _caller, signal) => {
        await once(signal, 'abort');
        ended.push('wait');
        return { met: false, jobs: [] };
      };
      const { path } = await openLines({ wait });
      const line = await open(path);
      const call = new AbortController();
      const asked = line.ask({ name: 'wait', args: {} }, call.signal);
      expect(String(await line.ask({ name: 'status', args: {} }, forever()))).toContain('"jobs"');
      call.abort();
      expect(await asked).toBeUndefined();
      await until('the first has ended', () => ended.length === 1);
      void line.ask({ name: 'wait', args: {} }, forever());
      expect(String(await line.ask({ name: 'status', args: {} }, forever()))).toContain('"jobs"');
      line.close();
      await until('the second has ended', () => ended.length === 2);
    },
  );

  verifies('X-08', 'X-131').test('is not given to a job, nor for another protocol', async () => {
    socket = await openSocket(smallCore().core, { caller: { by: 'job:1', jobId: JOB_ID } });
    expect(await openToolLine(socket.path, 'editor')).toBeUndefined();
    await socket.close();
    const { path } = await openLines();
    const raw = connect(path);
    raw.write('GET /v1/tools HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const [said] = await once(raw, 'data');
    expect(String(said)).toMatch(/^HTTP\/1\.1 404 /);
    raw.destroy();
  });

  verifies('X-105').test('of many clients the one that came first opens another line', async () => {
    const { path } = await openLines();
    const first = await open(path);
    for (let n = 0; n < 64; n++) await open(path);
    await until('the first has none', () => !first.isOpen);
    expect(String(await (await open(path)).ask({ name: 'status', args: {} }, forever()))).toContain('"jobs"');
  });
});

const hello = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '0' } },
};

/** `reef mcp` in this process, before a daemon's socket. */
async function openMcp(path: string) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const answers = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const opened: number[] = [];
  const client = connectClient({ socket: path, surface: 'mcp' });
  const over = serveMcp(
    () => ({
      ...client,
      toolLine: async (name) => {
        const line = await client.toolLine?.(name);
        if (line) opened.push(1);
        return line;
      },
    }),
    { stdin, stdout, user: 'client', folder: '/shop' },
  );
  const say = (message: object) => stdin.write(`${JSON.stringify(message)}\n`);
  const next = async () => JSON.parse((await answers.next()).value);
  say(hello);
  await next();
  return { say, next, opened, close: () => over, end: () => stdin.end() };
}

const call = (id: number, name: string, args: object = {}) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call' },
  params: { name, arguments: args },
});

describe('reef mcp with a line to its daemon', () => {
  verifies('U-10', 'U-15').test('answers as without it: results, errors and cancelled calls', async () => {
    const { path } = await openLines();
    const plain = await openSocket(smallCore().core);
    const [by, without] = [await openMcp(path), await openMcp(plain.path)];
    const said = async (message: object) => {
      for (const server of [by, without]) server.say(message);
      const [ours, theirs] = [await by.next(), await without.next()];
      expect(ours).toEqual(theirs);
      return ours;
    };
    expect(await said(call(1, 'status'))).toMatchObject({ id: 1, result: { structuredContent: { jobs: [{}] } } });
    expect(await said(call(2, 'output', { id: 'nobody' }))).toMatchObject({ id: 2, result: { isError: true } });
    expect(await said(call(3, 'output', {}))).toMatchObject({ id: 3, result: { isError: true } });
    expect(await said(call(4, 'kill', { id: JOB_ID }))).toMatchObject({ id: 4, result: { structuredContent: {} } });
    expect([by.opened.length, without.opened.length]).toEqual([1, 0]);
    for (const server of [by, without]) {
      server.end();
      await server.close();
    }
    await plain.close();
  });

  verifies('U-13').test('a cancelled wait has no answer, and the next call has', async () => {
    const wait: Core['wait'] = async (_request, _caller, signal) => {
      await once(signal, 'abort');
      return { met: false, jobs: [] };
    };
    const { path, calls } = await openLines({ wait });
    const server = await openMcp(path);
    server.say(call(1, 'wait'));
    await until('it waits', () => calls.length === 1);
    server.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    server.say(call(2, 'status'));
    expect(await server.next()).toMatchObject({ id: 2 });
    server.end();
    await server.close();
  });
});
