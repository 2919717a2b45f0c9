import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { Activity, StdioClient } from './stdio-client.ts';

/** A client whose server is the test. */
function connected() {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  let now = 0;
  const activity = new Activity(() => now);
  let silences = 0;
  const client = new StdioClient({
    stdin,
    stdout,
    worktreePath: '/w',
    activity,
    onSilence: () => {
      silences += 1;
    },
  });
  const said: string[] = [];
  stdin.setEncoding('utf8').on('data', (chunk: string) => said.push(...chunk.split('\n').slice(0, -1)));
  return {
    client,
    stdin,
    stdout,
    activity,
    silences: () => silences,
    tick: (ms: number) => {
      now += ms;
    },
    said: () => said.map((line) => JSON.parse(line)),
    reply: (message: object) => stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
  };
}

test('answers find their questions, in any order and in any pieces', async () => {
  const { client, stdout, reply, said } = connected();
  const asked = [client.request('a', { x: 'ä' }), client.request('b', {})];
  await until('both are sent', () => said().length === 2);
  reply({ id: 2, result: 'second' });
  for (const byte of Buffer.from(`{"jsonrpc":"2.0","id":1,"result":"erste ä"}\n`)) stdout.write(Buffer.of(byte));
  expect([await Promise.all(asked), said()]).toEqual([
    ['erste ä', 'second'],
    [
      { jsonrpc: '2.0', id: 1, method: 'a', params: { x: 'ä' } },
      { jsonrpc: '2.0', id: 2, method: 'b', params: {} },
    ],
  ]);
});

test('an error answer is a query error with its words', async () => {
  const { client, reply } = connected();
  const asked = client.request('a', {});
  reply({ id: 1, error: { code: -32_602, message: 'Missing file_path', data: { field: 'file_path' } } });
  await expect(asked).rejects.toMatchObject({
    name: 'McpQueryError',
    code: 'mcp_query',
    message: 'Missing file_path',
    details: { rpcCode: -32_602, data: { field: 'file_path' }, worktreePath: '/w' },
  });
});

verifies('C-085').test(
  'a question that takes too long is cancelled in the server, and a late answer is passed over',
  async () => {
    const { client, reply, said, activity } = connected();
    await expect(client.request('slow', {}, { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'analysis_timeout',
      retryable: true,
      message: 'The analysis server did not answer slow within 20 ms.',
    });
    reply({ id: 1, result: 'late' });
    await until('it is told', () => said().length === 2);
    expect([said()[1], activity.isBusy]).toEqual([
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      false,
    ]);
  },
);

verifies('C-085').test('an aborted signal cancels in the server; one aborted before asks nothing', async () => {
  const { client, said } = connected();
  const stop = new AbortController();
  const asked = client.request('a', {}, { signal: stop.signal });
  stop.abort(new Error('no longer wanted'));
  await expect(asked).rejects.toThrow('no longer wanted');
  await expect(client.request('b', {}, { signal: stop.signal })).rejects.toThrow('no longer wanted');
  await until('it is told', () => said().length === 2);
  expect(said().map(({ method }) => method)).toEqual(['a', 'notifications/cancelled']);
});

verifies('C-077').test('the end of its output fails what is in flight and all that follows', async () => {
  const { client, stdout, silences } = connected();
  const asked = [client.request('a', {}), client.request('b', {})];
  const failed = Promise.allSettled(asked);
  stdout.end();
  const died = { status: 'rejected', reason: expect.objectContaining({ code: 'analysis_server_died' }) };
  expect(await failed).toEqual([died, died]);
  await expect(client.request('c', {})).rejects.toMatchObject({ code: 'analysis_server_died' });
  expect(silences()).toBe(1);
});

test('closing ends its input and fails what is in flight; writing afterwards is no error', async () => {
  const { client, stdin } = connected();
  const asked = client.request('a', {});
  const failed = expect(asked).rejects.toMatchObject({ code: 'analysis_server_died' });
  await client.close();
  await failed;
  client.notify('notifications/initialized', {});
  expect(stdin.writableEnded).toBe(true);
});

test('what is no message is passed over, a server that asks is answered', async () => {
  const { client, stdout, reply, said } = connected();
  stdout.write('starting up…\n[1]\n{"jsonrpc":"1.0","id":1,"result":1}\n\n');
  reply({ method: 'notifications/message', params: {} });
  reply({ id: 'p', method: 'ping' });
  reply({ id: 7, method: 'roots/list' });
  const asked = client.request('a', {});
  reply({ id: 1, result: 'ok' });
  expect(await asked).toBe('ok');
  await until('it is answered', () => said().length === 3);
  expect(said().slice(0, 2)).toEqual([
    { jsonrpc: '2.0', id: 'p', result: {} },
    { jsonrpc: '2.0', id: 7, error: { code: -32_601, message: 'No method roots/list' } },
  ]);
});

test('a line without end is dropped in bounded memory and fails what waits', async () => {
  const { client, stdout, reply } = connected();
  const asked = client.request('a', {});
  const failed = expect(asked).rejects.toMatchObject({ code: 'analysis_protocol' });
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  for (let index = 0; index < 17; index += 1) stdout.write(chunk);
  stdout.write('\n');
  await failed;
  const next = client.request('b', {});
  reply({ id: 2, result: 'on' });
  expect(await next).toBe('on');
});

test('activity counts what is in flight and when something was last asked', async () => {
  const { client, activity, tick, reply } = connected();
  tick(5);
  const asked = client.request('a', {});
  const during = [activity.isBusy, activity.lastAt];
  tick(5);
  reply({ id: 1, result: 1 });
  await asked;
  expect([during, [activity.isBusy, activity.lastAt]]).toEqual([
    [true, 5],
    [false, 10],
  ]);
});
