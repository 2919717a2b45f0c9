import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JOB_ID } from '../../../test/support/surfaces/samples.ts';
import { smallCore } from '../../../test/support/surfaces/small-core.ts';
import { openSocket, type TestSocket } from '../../../test/support/surfaces/socket.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { readingOperations } from '../../protocol/daemon.ts';
import { operations } from '../../protocol/operations.ts';
import { connect } from './client.ts';
import { DaemonError, errorBody } from './request.ts';

let dir: string;
const opened: { close(): unknown }[] = [];
beforeEach(() => {
  dir = temporaryFolder();
});
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

async function open(...args: Parameters<typeof openSocket>): Promise<TestSocket> {
  const socket = await openSocket(...args);
  opened.push(socket);
  return socket;
}

/** Something at the socket that does not keep the contract. */
async function strange(answer: (server: Server) => Parameters<typeof createServer>[1]): Promise<string> {
  const path = join(dir, 'strange.sock');
  const server: Server = createServer((request, response) => answer(server)?.(request as never, response as never));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  opened.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return path;
}

test('a call reaches the core and its output comes back', async () => {
  const { core, calls } = smallCore();
  const socket = await open(core);
  const client = connect({ socket: socket.path, surface: 'mcp' });
  expect(await client.call('kill', { id: '@last' })).toEqual({
    agentId: JOB_ID,
    status: 'killed',
    finalOutput: 'last words',
  });
  expect(calls).toEqual([
    { operation: 'kill', input: { id: '@last' }, caller: { by: 'uid:1000', surface: 'mcp', isClient: true } },
  ]);
});

test('a refusal keeps the words of the daemon, whatever their code', async () => {
  const socket = await open();
  const client = connect({ socket: socket.path, surface: 'cli' });
  const error = await client.call('kill', { id: 'nobody' }).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(DaemonError);
  expect(errorBody(error).error).toMatchObject({ code: 'job_not_found', message: 'no job nobody' });
  const body = { error: { code: 'from_the_future', message: 'm', hint: 'h', retryable: true } };
  const path = await strange(() => (_request, response) => {
    response.statusCode = 418;
    response.end(JSON.stringify(body));
  });
  const unknown = await connect({ socket: path, surface: 'cli' }).call('status', {}).catch(errorBody);
  expect(unknown).toEqual(body);
});

test('without anybody listening a call says so, and asks after the daemon do not fail', async () => {
  const client = connect({ socket: join(dir, 'none.sock'), surface: 'cli' });
  const { error } = (await client.call('status', {}).catch(errorBody)) as ReturnType<typeof errorBody>;
  expect([error.code, error.retryable]).toEqual(['daemon_unavailable', true]);
  expect([await client.daemon(), await client.stop(false)]).toEqual([undefined, false]);
});

test('a call starts the daemon once and goes on', async () => {
  const path = join(dir, 'reefd.sock');
  let starts = 0;
  const client = connect({
    socket: path,
    surface: 'cli',
    startDaemon: async () => {
      starts++;
      await open(undefined, { path });
    },
  });
  expect((await client.call('status', {})).jobs).toHaveLength(1);
  expect((await client.call('status', {})).jobs).toHaveLength(1);
  expect(starts).toBe(1);
});

test('an answer that is no answer is told apart from a refusal', async () => {
  const cases: [string, Parameters<typeof strange>[0]][] = [
    ['not JSON', () => (_request, response) => response.end('<html>')],
    ['without an error body', () => (_request, response) => response.writeHead(500).end('{}')],
    [
      'ended while it was answering',
      () => (_request, response) => {
        response.writeHead(200, { 'content-length': 100 }).write('{');
        setImmediate(() => response.destroy());
      },
    ],
    ['Nobody listens', () => (request) => request.destroy()],
  ];
  for (const [words, answer] of cases) {
    const path = await strange(answer);
    const { error } = (await connect({ socket: path, surface: 'cli' })
      .call('status', {})
      .catch(errorBody)) as ReturnType<typeof errorBody>;
    expect(error.message).toContain(words);
    await opened.pop()?.close();
  }
});

test('a signal drops the connection and the daemon ends the call', async () => {
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { core } = smallCore(undefined, {
    wait: (_input, _caller, signal) =>
      new Promise((_, reject) => {
        begun.resolve();
        signal.addEventListener('abort', () => {
          ended.resolve();
          reject(signal.reason);
        });
      }),
  });
  const socket = await open(core);
  const controller = new AbortController();
  const call = connect({ socket: socket.path, surface: 'mcp' }).call('wait', {}, { signal: controller.signal });
  await begun.promise;
  controller.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
  await ended.promise;
});

test('too much to send is refused here, where the refusal can be read', async () => {
  const client = connect({ socket: join(dir, 'none.sock'), surface: 'cli' });
  const { error } = (await client.call('send', { id: 'x', text: '"'.repeat(600_000) }).catch(errorBody)) as ReturnType<
    typeof errorBody
  >;
  expect(error.code).toBe('body_too_large');
});

test('what may be asked again is what only reads, by the table of operations', () => {
  const reads = Object.entries(operations).filter(([, { effect }]) => effect === 'reads');
  expect([...readingOperations].sort()).toEqual(reads.map(([name]) => name).sort());
});
