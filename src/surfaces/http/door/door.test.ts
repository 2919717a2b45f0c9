import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { type Knock, knock, openTestDoor, type TestDoor } from '../../../../test/support/surfaces/door.ts';
import { JOB_ID } from '../../../../test/support/surfaces/samples.ts';
import { smallCore } from '../../../../test/support/surfaces/small-core.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { until } from '../../../../test/support/wait.ts';

const opened: TestDoor[] = [];
async function open(...args: Parameters<typeof openTestDoor>): Promise<TestDoor> {
  const door = await openTestDoor(...args);
  opened.push(door);
  return door;
}
afterEach(async () => {
  for (const door of opened.splice(0)) await door.close();
});

const op = (name: string, body: unknown): Knock => ({ path: `/v1/op/${name}`, body });
const said = async (asked: ReturnType<typeof knock>) => {
  const { status, code } = await asked;
  return `${status} ${code}`;
};

test('an operation is called as a person on the page, with its defaults filled in, and audited', async () => {
  const { core, calls } = smallCore();
  const { port, token, audit } = await open(core);
  const answer = await knock(port, { ...op('output', { id: '@last' }), token });
  expect([answer.status, answer.json]).toMatchObject([200, { agentId: JOB_ID, nextCursor: '1' }]);
  await knock(port, { ...op('kill', { id: 'nobody' }), token });
  const caller = { by: 'uid:1000', surface: 'web' };
  expect(calls).toEqual([
    { operation: 'output', input: { id: '@last', limit: 200, waitMs: 0 }, caller },
    { operation: 'kill', input: { id: 'nobody' }, caller },
  ]);
  expect(audit).toEqual([{ ...caller, operation: 'kill', target: 'nobody', outcome: 'job_not_found' }]);
});

test('a refusal has the body that it has on the socket', async () => {
  const { port, token } = await open();
  const { status, json } = await knock(port, { ...op('kill', { id: 'nobody' }), token });
  expect([status, json]).toEqual([
    404,
    { error: { code: 'job_not_found', message: 'no job nobody', hint: expect.stringMatching(/\w/), retryable: false } },
  ]);
});

verifies('X-02', 'X-03').test('each guard refuses what the guards after it would refuse, too', async () => {
  const { port, token } = await open(undefined, {
    limits: { headersMs: 5_000, requestMs: 5_000, burst: 1, perSecond: 0.001 },
  });
  expect((await knock(port, { ...op('status', {}), token })).status).toBe(200); // nothing is left for another call
  const worst = {
    path: '/v1/op/status',
    body: 'x'.repeat(1_048_577),
    headers: { host: 'evil.test', origin: 'null', authorization: 'Bearer wrong', 'content-type': 'text/plain' },
  };
  const mended: [header: object, Partial<Knock>, string][] = [
    [{}, {}, '403 bad_host'],
    [{ host: `127.0.0.1:${port}` }, {}, '403 bad_origin'],
    [{ origin: `http://127.0.0.1:${port}` }, {}, '401 unauthorized'],
    [{ authorization: `Bearer ${token}` }, {}, '415 unsupported_media_type'],
    [{ 'content-type': 'application/json' }, {}, '413 body_too_large'],
    [{}, { body: '{"unknown":1}' }, '400 bad_request'],
    [{}, { body: '{}' }, '429 too_many_requests'],
  ];
  let request: Knock = worst;
  for (const [header, change, expected] of mended) {
    request = { ...request, ...change, headers: { ...request.headers, ...(header as Record<string, string>) } };
    expect(await said(knock(port, request))).toBe(expected);
  }
});

verifies('X-02', 'X-103', 'X-104').test('only its own names reach the door, each with its own origin', async () => {
  const { port, token } = await open();
  const from = (host: string, origin?: string) =>
    said(knock(port, { ...op('status', {}), token, headers: { host, origin } }));
  const own = `127.0.0.1:${port}`;
  const local = `localhost:${port}`;
  for (const host of [own, local]) {
    expect(await from(host)).toBe('200 undefined');
    expect(await from(host, `http://${host}`)).toBe('200 undefined');
  }
  const hosts = [
    'evil.test',
    `evil.test:${port}`,
    '127.0.0.1',
    `127.0.0.1:${port + 1}`,
    `[::1]:${port}`,
    `0.0.0.0:${port}`,
  ];
  const odd = ['a b', `127.0.0.1:${port}@evil.test`, `127.0.0.1:${port}.evil.test`, `127.0.0.01:${port}`, '\u00e4'];
  for (const host of [...hosts, ...odd]) expect([host, await from(host)]).toEqual([host, '403 bad_host']);
  // A rebound name sends a pair that agrees with itself.
  expect(await from(`evil.test:${port}`, `http://evil.test:${port}`)).toBe('403 bad_host');
  const origins = ['null', '', 'http://evil.test', `https://${own}`, `http://127.0.0.1:${port + 1}`, `http://${local}`];
  for (const origin of origins) expect([origin, await from(own, origin)]).toEqual([origin, '403 bad_origin']);
});

verifies('X-103').test('nothing is upgraded, and no target is another host', async () => {
  const { port, token } = await open();
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  expect(await said(knock(port, { path: '/v1/events', token, headers: upgrade }))).toBe('404 not_found');
  for (const path of ['http://evil.test/v1/info', '//evil.test/v1/info', '/\\evil.test', '*'])
    expect([path, await said(knock(port, { path, token }))]).toEqual([path, '404 not_found']);
});

verifies('X-03', 'X-107').test('a token is right or it is none', async () => {
  const { port, token } = await open();
  const wrong = ['', 'x', token.slice(1), `${token}0`, token.toUpperCase(), '0'.repeat(64), `${token} ${token}`];
  for (const given of wrong)
    expect([given, await said(knock(port, { ...op('status', {}), token: given }))]).toEqual([
      given,
      '401 unauthorized',
    ]);
  const elsewhere: Knock[] = [
    { ...op('status', {}), headers: { cookie: `token=${token}` } },
    { ...op('status', {}), headers: { authorization: `Basic ${token}` } },
    { ...op('status', {}), headers: { 'x-reef-person': token } },
    { path: `/v1/op/status?token=${token}`, body: {} },
    { path: `/v1/op/status?access_token=${token}`, body: {} },
  ];
  for (const each of elsewhere) expect(await said(knock(port, each))).toBe('401 unauthorized');
});

verifies('X-03', 'X-107').test('rotation ends the old token and every page at once', async () => {
  const begun = Promise.withResolvers<void>();
  const door = await open(smallCore().core);
  const page = await door.tokens.login(door.tokens.newCode());
  const access = door.tokens.check(page.token);
  access?.revoked.addEventListener('abort', () => begun.resolve());
  await door.tokens.rotate();
  await begun.promise;
  for (const token of [door.token, page.token])
    expect(await said(knock(door.port, { ...op('status', {}), token }))).toBe('401 unauthorized');
  expect(door.saved.at(-1)).toEqual([]);
});

verifies('X-05').test('a code lets one page in, once', async () => {
  const { port, tokens, saved } = await open();
  const code = tokens.newCode();
  expect(code).toMatch(/^[0-9a-f]{32}$/);
  expect(await said(knock(port, { path: '/v1/login', body: { code: `${code}0` } }))).toBe('401 login_code_used');
  const { status, json, headers } = await knock(port, { path: '/v1/login', body: { code } });
  const { token, tokenId, expiresAt } = json as Record<string, string>;
  expect([status, headers['set-cookie'], headers['cache-control']]).toEqual([200, undefined, 'no-store']);
  expect(Date.parse(expiresAt ?? '') - Date.now()).toBeGreaterThan(11.9 * 3_600_000);
  expect(await said(knock(port, { path: '/v1/login', body: { code } }))).toBe('401 login_code_used');
  expect((await knock(port, { ...op('status', {}), token: token ?? '' })).status).toBe(200);
  // What is kept lets nobody in.
  expect(saved.at(-1)).toEqual([
    {
      id: tokenId,
      expiresAt,
      hash: createHash('sha256')
        .update(token ?? '')
        .digest('hex'),
    },
  ]);
  expect(JSON.stringify(saved)).not.toContain(token);
});

verifies('X-06').test('the server proves that it knows a page token, without being shown it', async () => {
  const { port, tokens } = await open();
  const { token, tokenId } = await tokens.login(tokens.newCode());
  const nonce = 'n'.repeat(32);
  const { json } = await knock(port, { path: '/v1/proof', body: { tokenId, nonce } });
  const key = createHash('sha256').update(token).digest();
  expect(json).toEqual({ proof: createHmac('sha256', key).update(nonce).digest('hex') });
  expect(await said(knock(port, { path: '/v1/proof', body: { tokenId: '0'.repeat(16), nonce } }))).toBe(
    '401 unauthorized',
  );
  expect(await said(knock(port, { path: '/v1/proof', body: { tokenId, nonce: 'short' } }))).toBe('400 bad_request');
});

verifies('X-02').test('login and proof have every guard but the token', async () => {
  const { port } = await open();
  for (const path of ['/v1/login', '/v1/proof']) {
    const cases: [Knock, string][] = [
      [{ body: {}, headers: { host: 'evil.test' } }, '403 bad_host'],
      [{ body: {}, headers: { origin: 'null' } }, '403 bad_origin'],
      [{ body: '{}', headers: { 'content-type': 'text/plain' } }, '415 unsupported_media_type'],
      [{ body: 'x'.repeat(1_048_577) }, '413 body_too_large'],
      [{ body: { code: 'c', unknown: 1 } }, '400 bad_request'],
      [{ method: 'GET' }, '401 unauthorized'],
    ];
    for (const [asked, expected] of cases)
      expect([path, await said(knock(port, { path, ...asked }))]).toEqual([path, expected]);
  }
});

verifies('X-04').test('no answer allows another site anything, redirects, or sets a cookie', async () => {
  const { port, token } = await open();
  const own = `http://127.0.0.1:${port}`;
  const asked: Knock[] = [
    { path: '/' },
    { path: '/assets/main-1a2b.js' },
    { path: '/v1/info', token },
    { path: '/v1/info?next=https://evil.test', token },
    { ...op('status', {}), token },
    { ...op('status', {}) },
    { path: '/nowhere', token },
    { path: '/v1/op/status', method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } },
    { path: '/', headers: { origin: 'http://evil.test' } },
  ];
  for (const each of asked) {
    const { status = 0, headers } = await knock(port, { ...each, headers: { origin: own, ...each.headers } });
    const names = Object.keys(headers).filter((name) => /^access-control|^set-cookie$|^location$/.test(name));
    expect([each.path, names, status >= 300 && status < 400]).toEqual([each.path, [], false]);
  }
});

verifies('X-04', 'X-07').test('the page needs no token, and every answer carries the policy of X-07', async () => {
  const { port, token } = await open();
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
  const pages = [
    '/',
    '/now',
    '/runs',
    '/runs/01KB',
    '/jobs/@last',
    '/worktrees/01KC',
    '/code',
    '/usage',
    '/new',
    '/now?x=1',
  ];
  for (const path of [...pages, '/assets/main-1a2b.js', '/assets/none.js', '/v1/info']) {
    const { status, headers } = await knock(port, { path, token });
    expect([
      path,
      status,
      headers['content-security-policy'],
      headers['x-content-type-options'],
      headers['referrer-policy'],
    ]).toEqual([path, path.includes('none') ? 404 : 200, policy, 'nosniff', 'no-referrer']);
  }
  const html = await knock(port, { path: '/runs/01KB' });
  expect([html.text, html.headers['content-type']]).toEqual([
    '<!doctype html><title>Reef</title>',
    'text/html; charset=utf-8',
  ]);
  const refused = await knock(port, { path: '/', headers: { host: 'evil.test' } });
  expect(refused.headers['content-security-policy']).toBe(policy);
  for (const path of [
    '/assets/../index.html',
    '/assets/%2e%2e/index.html',
    '/assets/..%2findex.html',
    '/index.html',
    '/etc/passwd',
    '/jobs/a/b',
  ])
    expect([path, (await knock(port, { path })).code ?? 'not found']).toEqual([
      path,
      expect.stringMatching(/^(unauthorized|not found)$/),
    ]);
});

test('without a built page the door says what to type', async () => {
  const { port } = await open(undefined, { pageFolder: '/nowhere' });
  const { status, text } = await knock(port, { path: '/' });
  expect([status, text]).toEqual([503, expect.stringContaining('node scripts/build-web.ts')]);
});

verifies('U-26').test('a tunnel adds one exact pair of Host and Origin', async () => {
  const { port, token } = await open(undefined, { origin: 'https://reef.example.org' });
  const from = (host: string, origin: string) =>
    said(knock(port, { ...op('status', {}), token, headers: { host, origin } }));
  expect(await from('reef.example.org', 'https://reef.example.org')).toBe('200 undefined');
  expect(await from('reef.example.org', 'http://reef.example.org')).toBe('403 bad_origin');
  expect(await from('reef.example.org:443', 'https://reef.example.org')).toBe('403 bad_host');
  expect(await from('x.reef.example.org', 'https://x.reef.example.org')).toBe('403 bad_host');
  expect(await from(`127.0.0.1:${port}`, 'https://reef.example.org')).toBe('403 bad_origin');
  expect(await from(`127.0.0.1:${port}`, `http://127.0.0.1:${port}`)).toBe('200 undefined');
});

verifies('X-60').test('whoever sends slowly is cut off, and connections that say nothing keep nobody out', async () => {
  const { port, token } = await open(undefined, {
    limits: { headersMs: 300, requestMs: 600, burst: 100, perSecond: 100 },
  });
  const slowHead = connect(port, '127.0.0.1').on('error', () => {});
  slowHead.write('GET / HTTP/1.1\r\nhost: x\r\nx-slow:');
  const slowBody = connect(port, '127.0.0.1').on('error', () => {});
  slowBody.write(
    `POST /v1/op/status HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`,
  );
  const cut = [slowHead, slowBody].map((socket) => once(socket.resume(), 'close'));
  const silent = Array.from({ length: 300 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await Promise.all(silent.map((each) => once(each, 'connect')));
  expect((await knock(port, { ...op('status', {}), token })).status).toBe(200);
  for (const each of silent) each.destroy();
  await Promise.all(cut);
});

verifies('X-60').test('calls are answered by the number, and of those who know no token fewer', async () => {
  const { core } = smallCore(undefined, {
    wait: (_input, _caller, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  const { port, token, close } = await open(core);
  const waiting: ReturnType<typeof knock>[] = [];
  const wait = (count: number) => {
    for (let n = 0; n < count; n += 1) waiting.push(knock(port, { ...op('wait', {}), token }));
  };
  const stranger = () => said(knock(port, op('status', {})));
  const person = () => said(knock(port, { ...op('status', {}), token }));
  wait(64);
  await until('strangers find no place', async () => (await stranger()) === '503 daemon_busy');
  expect(await person()).toBe('200 undefined');
  wait(16);
  await until('nobody finds a place', async () => (await person()) === '503 daemon_busy');
  await close();
  await Promise.allSettled(waiting);
});

verifies('X-60').test('ten codes a minute may be wrong; those that are right do not count', async () => {
  const { port, tokens, token } = await open();
  const login = (code: string) => said(knock(port, { path: '/v1/login', body: { code } }));
  const right: string[] = [];
  for (let n = 0; n < 12; n += 1) right.push(await login(tokens.newCode()));
  expect(right).toEqual(right.map(() => '200 undefined'));
  const wrong = await Promise.all(Array.from({ length: 30 }, () => login('0'.repeat(32))));
  const refused = wrong.filter((each) => each === '429 too_many_requests').length;
  // One more for each six seconds that a slow machine takes.
  expect(wrong.filter((each) => each === '401 login_code_used')).toHaveLength(30 - refused);
  expect(refused).toBeGreaterThanOrEqual(15);
  expect((await knock(port, { ...op('status', {}), token })).status).toBe(200);
});

test('a defect is answered as internal and logged with its stack', async () => {
  const { core } = smallCore(undefined, {
    status: async () => {
      throw new TypeError('cannot read x');
    },
  });
  const { port, token, logged } = await open(core);
  expect(await said(knock(port, { ...op('status', {}), token }))).toBe('500 internal');
  expect(inspect(logged, { depth: 5 })).toContain('door.test.ts');
});

test('a page learns which repository it is of', async () => {
  const { port, token } = await open();
  expect((await knock(port, { path: '/v1/info', token })).json).toEqual({
    repository: 'shop',
    folder: '/srv/shop',
    version: '0.1.0',
    lastSeq: 7,
  });
});
