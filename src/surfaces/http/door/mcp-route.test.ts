import { request } from 'node:http';
import type { Client } from '@modelcontextprotocol/client';
import { afterEach, expect } from 'vitest';
import { type Knock, knock, openTestDoor, type TestDoor } from '../../../../test/support/surfaces/door.ts';
import { connectMcp, ERAS } from '../../../../test/support/surfaces/mcp-client.ts';
import { smallCore } from '../../../../test/support/surfaces/small-core.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import type { Core } from '../../../protocol/operations.ts';
import { toolsFor } from '../../mcp/server.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function open(...args: Parameters<typeof openTestDoor>): Promise<TestDoor> {
  const door = await openTestDoor(...args);
  opened.push(door);
  return door;
}

async function connect(door: TestDoor, era: (typeof ERAS)[number]): Promise<Client> {
  const client = await connectMcp({ ...door, era });
  opened.push(client);
  return client;
}

/** A core whose `wait` goes on until it is cancelled. */
function waiting() {
  const begun = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  const wait: Core['wait'] = (_input, _caller, signal) =>
    new Promise((_, reject) => {
      begun.resolve();
      signal.addEventListener('abort', () => {
        cancelled.resolve();
        reject(signal.reason);
      });
    });
  return { ...smallCore(undefined, { wait }), begun: begun.promise, cancelled: cancelled.promise };
}

const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
};
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const message = (body: object, headers: Record<string, string> = {}): Knock => ({
  path: '/mcp',
  body: { jsonrpc: '2.0', id: 1, ...body },
  headers: { accept: 'application/json, text/event-stream', ...headers },
});

async function session({ port, token }: TestDoor): Promise<Record<string, string>> {
  const { status, headers } = await knock(port, { ...message(INITIALIZE), token });
  expect(status).toBe(200);
  return { 'mcp-session-id': String(headers['mcp-session-id']), 'mcp-protocol-version': '2025-11-25' };
}

for (const era of ERAS) {
  verifies('U-24', 'U-10').test(
    `a ${era} client calls the tools of reef mcp, as a client and not as a person`,
    async () => {
      const { core, calls } = smallCore();
      const door = await open(core);
      const client = await connect(door, era);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(toolsFor('client'));
      const { structuredContent } = await client.callTool({ name: 'kill', arguments: { id: '@last' } });
      expect(structuredContent).toMatchObject({ status: 'killed' });
      const by = expect.stringMatching(new RegExp(`^mcp:editor-${era}%20in%20`));
      expect(calls).toMatchObject([{ operation: 'kill', caller: { by, surface: 'mcp', isClient: true } }]);
      expect(door.audit).toMatchObject([{ by, surface: 'mcp', operation: 'kill', outcome: 'ok' }]);
      const refused = await client.callTool({ name: 'kill', arguments: {} });
      expect([refused.isError, JSON.stringify(refused.content)]).toEqual([true, expect.stringContaining('kill: id: ')]);
    },
  );

  verifies('U-24').test(`a ${era} client that breaks off cancels what it called`, async () => {
    const { core, begun, cancelled } = waiting();
    const door = await open(core);
    const isOld = era === 'legacy';
    const headers = isOld
      ? await session(door)
      : { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'wait' };
    const params = { name: 'wait', arguments: {}, ...(!isOld && { _meta: META }) };
    const asked = message({ method: 'tools/call', params }, headers);
    const sent = request({
      host: '127.0.0.1',
      port: door.port,
      path: '/mcp',
      method: 'POST',
      headers: { ...asked.headers, 'content-type': 'application/json', authorization: `Bearer ${door.token}` },
    });
    sent.on('error', () => {}); // we end it
    sent.end(JSON.stringify(asked.body));
    await begun;
    sent.destroy();
    await cancelled;
  });

  verifies('U-24').test(`a ${era} client cancels a call and goes on with others`, async () => {
    const { core, begun, cancelled } = waiting();
    const client = await connect(await open(core), era);
    const controller = new AbortController();
    const call = client.callTool({ name: 'wait', arguments: {} }, { signal: controller.signal });
    await begun;
    controller.abort();
    await expect(call).rejects.toThrow();
    await cancelled;
    expect((await client.callTool({ name: 'inbox', arguments: {} })).isError ?? false).toBe(false);
  });
}

verifies('U-24', 'X-02', 'X-101', 'X-104').test('/mcp has the guards of every route, in their order', async () => {
  const { core, calls } = smallCore();
  const limits = { headersMs: 5_000, requestMs: 5_000, burst: 1, perSecond: 0.001 };
  const { port, token } = await open(core, { limits });
  await knock(port, { path: '/v1/info', token }); // nothing is left for another call
  const good = message({ method: 'tools/call', params: { name: 'kill', arguments: { id: '@last' } } });
  let request: Knock = {
    ...good,
    body: 'x'.repeat(1_048_577),
    headers: { host: 'evil.test', origin: 'null', authorization: 'Bearer wrong', 'content-type': 'text/plain' },
  };
  const mended: [Record<string, string>, Partial<Knock>, string][] = [
    [{}, {}, '403 bad_host'],
    [{ host: `127.0.0.1:${port}` }, {}, '403 bad_origin'],
    [{ origin: `http://127.0.0.1:${port}` }, {}, '401 unauthorized'],
    [{ authorization: `Bearer ${token}` }, {}, '415 unsupported_media_type'],
    [{ 'content-type': 'application/json' }, {}, '413 body_too_large'],
    [good.headers as Record<string, string>, { body: good.body }, '429 too_many_requests'],
  ];
  for (const [headers, change, expected] of mended) {
    request = { ...request, ...change, headers: { ...request.headers, ...headers } };
    const { status, code } = await knock(port, request);
    expect(`${status} ${code}`).toBe(expected);
  }
  expect(calls).toEqual([]);
});

verifies('U-24', 'X-04', 'U-15').test(
  'what is no call is answered by the protocol, and a GET does nothing',
  async () => {
    const door = await open();
    const { port, token } = door;
    const ask = (asked: Knock) => knock(port, { ...asked, token });
    for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS']) {
      const { status, headers } = await ask({ path: '/mcp', method, headers: { accept: 'text/event-stream' } });
      expect([method, status, headers.allow, headers['cache-control']]).toEqual([
        method,
        405,
        'POST, DELETE',
        'no-store',
      ]);
    }
    const accept = { accept: 'application/json, text/event-stream' };
    for (const [body, status, code] of [
      ['{"jsonrpc":', 400, -32_700],
      ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{}}}', 400, -32_700],
      ['[]', 400, -32_600],
      ['"hello"', 400, -32_600],
    ] as const) {
      const answer = await ask({ path: '/mcp', body, headers: accept });
      expect([body, answer.status, answer.json]).toMatchObject([body, status, { error: { code } }]);
    }
    expect((await ask(message({ method: 'tools/list' }))).status).toBe(400); // begun without a session
    const own = await session(door);
    expect((await ask(message({ method: 'tools/list' }, own))).status).toBe(200);
    expect((await ask({ path: '/mcp', method: 'DELETE', headers: own })).status).toBe(200);
    expect((await ask(message({ method: 'tools/list' }, own))).status).toBe(404);
    expect((await ask(message({ method: 'tools/list' }, { ...own, 'mcp-session-id': 'x' }))).status).toBe(404);
  },
);

verifies('U-24', 'X-03').test('a token that is taken back ends the calls of its clients', async () => {
  const { core, begun, cancelled } = waiting();
  const door = await open(core);
  const client = await connect(door, 'legacy');
  const call = client.callTool({ name: 'wait', arguments: {} });
  call.catch(() => {});
  await begun;
  await door.tokens.rotate();
  await cancelled;
  await expect(client.listTools()).rejects.toThrow();
});

verifies('U-24', 'X-60').test('of too many sessions the one used longest ago ends', async () => {
  const door = await open(undefined, {
    limits: { headersMs: 5_000, requestMs: 5_000, burst: 1_000, perSecond: 1_000 },
  });
  const status = async (headers: Record<string, string>) =>
    (await knock(door.port, { ...message({ method: 'ping' }, headers), token: door.token })).status;
  const [first, second] = [await session(door), await session(door)];
  expect(await status(first)).toBe(200);
  for (let n = 0; n < 63; n++) await session(door);
  expect([await status(first), await status(second)]).toEqual([200, 404]);
});
