import { once } from 'node:events';
import { lstat, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { JOB_ID } from '../../../test/support/surfaces/samples.ts';
import { smallCore } from '../../../test/support/surfaces/small-core.ts';
import { openSocket, type TestSocket } from '../../../test/support/surfaces/socket.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { readEnvironment } from '../../base/env.ts';
import { homeAt } from '../../base/home.ts';
import { ReefError } from '../../protocol/errors.ts';

const opened: TestSocket[] = [];
async function open(...args: Parameters<typeof openSocket>): Promise<TestSocket> {
  const socket = await openSocket(...args);
  opened.push(socket);
  return socket;
}
afterEach(async () => {
  for (const socket of opened.splice(0)) await socket.close();
});

interface Asked {
  method?: string;
  path: string;
  body?: string;
  headers?: Record<string, string>;
}

async function ask({ path: socketPath }: TestSocket, { method = 'POST', path, body, headers }: Asked) {
  const asked = request({
    socketPath,
    method,
    path,
    headers: headers ?? { 'content-type': 'application/json' },
    agent: false,
  });
  asked.end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, body: JSON.parse(text) };
}

const op = (name: string, input: unknown): Asked => ({ path: `/v1/op/${name}`, body: JSON.stringify(input) });

verifies('X-01').test('the socket is for its owner alone', async () => {
  const socket = await open();
  expect((await lstat(socket.path)).mode & 0o777).toBe(0o600);
});

test('an operation gets its input with the defaults filled in, and who calls', async () => {
  const { core, calls } = smallCore();
  const socket = await open(core);
  const answer = await ask(socket, {
    ...op('output', { id: '@last' }),
    headers: { 'content-type': 'application/json', 'x-reef-surface': 'mcp' },
  });
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ agentId: JOB_ID, nextCursor: '1', truncated: false });
  expect(calls).toEqual([
    {
      operation: 'output',
      input: { id: '@last', limit: 200, waitMs: 0 },
      caller: { by: 'uid:1000', surface: 'mcp', isClient: true },
    },
  ]);
});

verifies('X-02', 'X-107').test('what is wrong with a request is said by status, code and field', async () => {
  const socket = await open();
  const person = { 'content-type': 'application/json', 'x-reef-person': socket.credential };
  const cases: [Asked, number, string, RegExp][] = [
    [op('output', { id: '@last', limit: 5000 }), 400, 'bad_request', /^output: limit: /],
    [op('send', { id: '@last', approved: true }), 400, 'bad_request', /"approved"/],
    [op('kill', { id: 7 }), 400, 'bad_request', /^kill: id: /],
    [{ path: '/v1/op/status', body: '{"__proto__":{"id":"x"}}' }, 400, 'bad_request', /changes prototypes/],
    [{ path: '/v1/op/status', body: '{"constructor":{"prototype":{}}}' }, 400, 'bad_request', /changes prototypes/],
    [op('status', { constructor: 'x' }), 400, 'bad_request', /"constructor"/],
    [{ path: '/v1/op/kill', body: '{"id":' }, 400, 'bad_request', /not JSON/],
    [{ path: '/v1/op/kill', body: '['.repeat(100) + ']'.repeat(100) }, 400, 'bad_request', /deeper/],
    [
      { ...op('kill', { id: 'x' }), headers: { 'content-type': 'text/plain' } },
      415,
      'unsupported_media_type',
      /application\/json/,
    ],
    [{ ...op('kill', { id: 'x' }), headers: {} }, 415, 'unsupported_media_type', /application\/json/],
    [op('kill', { id: 'x'.repeat(1_048_576) }), 413, 'body_too_large', /bytes/],
    [op('kill', { id: 'nobody' }), 404, 'job_not_found', /nobody/],
    [op('toString', {}), 404, 'not_found', /toString/],
    [{ method: 'GET', path: '/v1/op/kill' }, 404, 'not_found', /GET/],
    [{ path: '/v1/daemon/stop', body: '{"killJobs":"yes"}', headers: person }, 400, 'bad_request', /killJobs/],
  ];
  for (const [asked, status, code, message] of cases) {
    const answer = await ask(socket, asked);
    expect({ asked: asked.path, status: answer.status, code: answer.body.error.code }).toEqual({
      asked: asked.path,
      status,
      code,
    });
    expect(answer.body.error.message).toMatch(message);
    expect(answer.body.error.hint).not.toBe('');
  }
});

verifies('X-70').test('each state-changing call leaves a row, refusals included', async () => {
  const socket = await open();
  await ask(socket, op('spawn', { agent: 'claude', task: 't' }));
  await ask(socket, op('spawn', { agent: 'claude' }));
  await ask(socket, op('send', { id: '@last', text: 'hi' }));
  await ask(socket, op('kill', { id: 'nobody' }));
  await ask(socket, op('interrupt', { id: '@last' }));
  await ask(socket, op('resume', { id: '@last' }));
  await ask(socket, op('status', {}));
  await ask(socket, op('inbox', {}));
  const by = { by: 'uid:1000', surface: 'cli' };
  expect(socket.audit).toEqual([
    { ...by, operation: 'spawn', target: JOB_ID, outcome: 'ok' },
    { ...by, operation: 'spawn', target: 'claude', outcome: 'bad_request' },
    { ...by, operation: 'send', target: JOB_ID, outcome: 'ok' },
    { ...by, operation: 'kill', target: 'nobody', outcome: 'job_not_found' },
    { ...by, operation: 'interrupt', target: JOB_ID, outcome: 'ok' },
    { ...by, operation: 'resume', target: JOB_ID, outcome: 'ok' },
  ]);
});

verifies('X-08').test('the socket of a job serves operations as that job, and nothing of the daemon', async () => {
  const { core, calls } = smallCore();
  const socket = await open(core, { caller: { by: 'job', jobId: JOB_ID } });
  await ask(socket, op('status', {}));
  expect(calls.map(({ caller }) => caller)).toEqual([{ by: 'job', jobId: JOB_ID, surface: 'job' }]);
  const refused = [
    await ask(socket, { method: 'GET', path: '/v1/daemon' }),
    await ask(socket, { method: 'GET', path: '/v1/attach/x' }),
    await ask(socket, { path: '/v1/daemon/stop', body: '{"killJobs":true}' }),
  ];
  expect(refused.map(({ status, body }) => [status, body.error.code])).toEqual(Array(3).fill([403, 'not_yours']));
  expect(socket.stops).toEqual([]);
});

test('a defect is answered as internal and logged with its stack', async () => {
  const { core } = smallCore(undefined, {
    status: async () => {
      throw new TypeError('cannot read x');
    },
  });
  const socket = await open(core);
  const answer = await ask(socket, op('status', {}));
  expect([answer.status, answer.body.error.code, answer.body.error.message]).toEqual([
    500,
    'internal',
    'cannot read x',
  ]);
  expect(inspect(socket.logged, { depth: 5 })).toContain('server.test.ts');
});

test('a client that goes away ends its call', async () => {
  const ended = Promise.withResolvers<string>();
  const { core } = smallCore(undefined, {
    wait: (_input, _caller, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          ended.resolve((signal.reason as ReefError).message);
          reject(signal.reason);
        });
        asked.destroy();
      }),
  });
  const socket = await open(core);
  const asked = request({
    socketPath: socket.path,
    method: 'POST',
    path: '/v1/op/wait',
    headers: { 'content-type': 'application/json' },
  });
  asked.on('error', () => {});
  asked.end('{}');
  expect(await ended.promise).toBe('The caller went away');
});

test('closing ends the calls that are open with an answer', async () => {
  const { core } = smallCore(undefined, {
    wait: (_input, _caller, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        void socket.close();
      }),
  });
  const socket = await open(core);
  const answer = await ask(socket, op('wait', {}));
  expect([answer.status, answer.body.error.code]).toEqual([503, 'daemon_unavailable']);
});

test('an old socket is replaced, another file in its place is left alone', async () => {
  const socket = await open();
  await open(smallCore().core, { path: socket.path, caller: { by: 'second' } });
  await ask(socket, op('interrupt', { id: '@last' }));
  expect(opened.map(({ audit }) => audit.map(({ by }) => by))).toEqual([[], ['second']]);
  const file = join(socket.dir, 'file');
  await writeFile(file, 'mine');
  await expect(openSocket(undefined, { path: file })).rejects.toThrow(/is not a socket/);
});

test('the daemon says what it is, how to attach, and stops when asked', async () => {
  const socket = await open();
  const info = await ask(socket, { method: 'GET', path: '/v1/daemon' });
  expect(info.body).toMatchObject({ pid: process.pid, home: socket.dir, lastSeq: 7 });
  const headers = { 'content-type': 'application/json', 'x-reef-person': socket.credential };
  const attach = await ask(socket, { method: 'GET', path: '/v1/attach/%40last', headers });
  expect(attach.body).toEqual({ file: 'tmux', args: ['-L', 'reef', 'attach', '-t', '@last'] });
  const stop = await ask(socket, { path: '/v1/daemon/stop', body: '{"killJobs":true}', headers });
  expect([stop.status, socket.stops]).toEqual([200, [true]]);
  expect(socket.audit).toEqual([{ by: 'uid:1000', surface: 'cli', operation: 'daemon.stop', outcome: 'ok' }]);
});

test('an error of the core keeps its details', async () => {
  const details = { questions: ['a', 'b'] };
  const { core } = smallCore(undefined, {
    send: async () => {
      throw new ReefError('which_question', '2 questions are open', { details });
    },
  });
  const answer = await ask(await open(core), op('send', { id: '@last', text: 'x' }));
  expect(answer.body.error).toMatchObject({ code: 'which_question', details, retryable: false });
});

verifies('X-131').test('only who shows the credential trusts, discards, attaches and stops', async () => {
  const { core, calls } = smallCore();
  const socket = await open(core);
  const wrong = ['', 'x', socket.credential.slice(1), '0'.repeat(64)];
  const asked = [
    op('trust', {}),
    op('worktree_discard', { id: '@last' }),
    { method: 'GET', path: '/v1/attach/x' },
    { path: '/v1/daemon/stop', body: '{"killJobs":true}' },
  ];
  for (const given of wrong)
    for (const each of asked) {
      const headers = { 'content-type': 'application/json', 'x-reef-person': given };
      const { status, body } = await ask(socket, { ...each, headers });
      expect([given, each.path, status, body.error.code]).toEqual([given, each.path, 403, 'person_needed']);
    }
  expect([calls, socket.stops]).toEqual([[], []]);
  expect((await lstat(homeAt(socket.dir, readEnvironment(socket.env)).person)).mode & 0o777).toBe(0o600);
  const headers = { 'content-type': 'application/json', 'x-reef-person': socket.credential };
  await ask(socket, { ...op('trust', {}), headers });
  expect(calls.map(({ operation, caller }) => [operation, caller])).toEqual([
    ['trust', { by: 'uid:1000', surface: 'cli' }],
  ]);
});

verifies('X-60').test('connections that say nothing keep nobody out', async () => {
  const socket = await open();
  const silent = Array.from({ length: 300 }, () => connect(socket.path).on('error', () => {}));
  await Promise.all(silent.map((each) => once(each, 'connect')));
  expect((await ask(socket, op('status', {}))).status).toBe(200);
  for (const each of silent) each.destroy();
});

verifies('X-60').test('calls of clients leave room for those of a person', async () => {
  const { core } = smallCore(undefined, {
    wait: (_input, _caller, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  const socket = await open(core);
  const waiting = Array.from({ length: 64 }, () => ask(socket, op('wait', {})));
  await until('every place is taken', async () => (await ask(socket, op('status', {}))).status === 503);
  const headers = { 'content-type': 'application/json', 'x-reef-person': socket.credential };
  expect((await ask(socket, { ...op('status', {}), headers })).status).toBe(200);
  await socket.close();
  await Promise.all(waiting);
});

test('an address that cannot be read is a mistake of the caller, not of the daemon', async () => {
  const socket = await open();
  const headers = { 'x-reef-person': socket.credential };
  for (const path of ['//', '///', '/v1/attach/%', '/v1/op/%00', '/%zz', '*'])
    expect([path, (await ask(socket, { method: 'GET', path, headers })).status]).toEqual([
      path,
      path === '/v1/attach/%' ? 400 : 404,
    ]);
});
