import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { createServer as createWebServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { jobSpec, PATH, pidsNaming, runJob } from '../../../test/support/programs.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventually } from '../../../test/support/wait.ts';
import { probeCapabilities } from '../capabilities.ts';
import { serveEgress } from './proxy.ts';
import { type EgressRules, isInternal, isListed, parseAuthority, upstreamFor } from './rules.ts';

const capabilities = await probeCapabilities();

test('a pattern means its host, its ports and, with a star, the hosts below it', () => {
  const patterns = ['example.com', '*.corp.example', 'git.example:2222', 'localhost:4873', '[fd00::1]:443'];
  const isAllowed = (text: string) => {
    const { host, port = 443 } = parseAuthority(text) ?? { host: '' };
    return isListed(patterns, { host, port });
  };
  const allowed = ['Example.COM.', 'example.com:80', 'a.b.corp.example', 'git.example:2222', '127.0.0.1:4873'];
  const refused = [
    'www.example.com',
    'example.com:22',
    'corp.example',
    'git.example',
    'localhost:80',
    'example.com.evil',
  ];
  expect([...allowed, '[fd00::1]', '[::1]:4873'].filter((text) => !isAllowed(text))).toEqual([]);
  expect([...refused, 'evilexample.com', '[fd00::2]', '0.0.0.0:4873', '', 'a b'].filter(isAllowed)).toEqual([]);
});

test('addresses of this machine, of its networks and of clouds are internal, however they are written', () => {
  const internal = ['127.0.0.1', '0.0.0.0', '10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1'];
  const internal6 = ['::1', '::', '::ffff:127.0.0.1', '::ffff:8.8.8.8', 'fe80::1', 'fd12::1', '64:ff9b::7f00:1'];
  const external = ['8.8.8.8', '172.32.0.1', '203.0.113.7', '2606:4700::1111'];
  expect([...internal, ...internal6, '224.0.0.1', '255.255.255.255'].filter((each) => !isInternal(each))).toEqual([]);
  expect(external.filter(isInternal)).toEqual([]);
});

test("the user's proxy is used but for the hosts it is not for", () => {
  const upstream = { http: 'http://one:1', https: 'two:2', except: 'intern.example, .corp,other:8080' };
  const way = (host: string, port = 443) => upstreamFor(rules({ upstream }), { host, port })?.host;
  expect([
    way('a.example', 80),
    way('a.example'),
    way('x.corp'),
    way('intern.example'),
    way('other', 8080),
    way('other'),
  ]).toEqual(['one:1', 'two:2', undefined, undefined, undefined, 'two:2']);
});

const rules = (more: Partial<EgressRules>): EgressRules => ({
  ...{ socket: '', named: [], known: [], upstream: {} },
  ...more,
});

async function listening(server: Server, at: string | number): Promise<number> {
  server.listen(at);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** What the proxy answers to these bytes, up to the end. */
async function ask(of: EgressRules, bytes: string): Promise<string> {
  const said: string[] = [];
  const socket = join(temporaryFolder(), 'net');
  await listening(
    serveEgress(of, (line) => said.push(line)),
    socket,
  );
  const client = connect(socket).setEncoding('latin1');
  client.end(bytes);
  let answer = '';
  for await (const chunk of client) answer += chunk;
  return [answer, ...said].join('\n');
}

verifies('X-134').test('a name that leads to an internal address is refused unless the user named it', async () => {
  const web = createWebServer((request, response) => response.end(`${request.url} for ${request.headers.host}`));
  const port = await listening(web, 0);
  const request = `GET / HTTP/1.1\r\nHost: inside\r\n\r\n`;
  // Not written as an address, so it is looked up: as a name of somebody's that leads here.
  const rebinding = `CONNECT 127.1:${port} HTTP/1.1\r\n\r\n${request}`;
  const name = `127.1:${port}`;
  expect(await ask(rules({ known: [name] }), rebinding)).toMatch(/403 Forbidden[\s\S]*leads to 127\.0\.0\.1/);
  expect(await ask(rules({ named: [name] }), rebinding)).toMatch(/200 Connection established[\s\S]*\/ for inside/);
  expect(await ask(rules({}), rebinding)).toContain('not among the hosts that are allowed');
  const plain = (host: string) =>
    `GET http://${host}:${port}/x HTTP/1.1\r\nHost: here\r\nProxy-Authorization: x\r\n\r\n`;
  expect(await ask(rules({ named: [`localhost:${port}`] }), plain('127.0.0.1'))).toContain('/x for here');
  expect(await ask(rules({ known: ['example.com'] }), plain('localhost'))).toContain('403 Forbidden');
  expect(await ask(rules({}), 'GET / HTTP/1.1\r\n\r\n')).toContain('400 Bad Request');
});

verifies('X-134').test("what is allowed goes through the user's own proxy, with its password", async () => {
  const heads: string[] = [];
  const upstream = createServer((socket) => {
    socket.once('data', (head) => {
      heads.push(String(head));
      socket.end('HTTP/1.1 200 OK\r\n\r\nfrom upstream');
    });
  });
  const url = `http://me:se%20cret@127.0.0.1:${await listening(upstream, 0)}`;
  const of = rules({ known: ['far.example'], upstream: { http: url, https: url } });
  expect(await ask(of, 'CONNECT far.example:443 HTTP/1.1\r\n\r\n')).toContain('from upstream');
  expect(await ask(of, 'GET http://far.example/x HTTP/1.1\r\nHost: far.example\r\n\r\n')).toContain('from upstream');
  expect(await ask(of, 'CONNECT other.example:443 HTTP/1.1\r\n\r\n')).toContain('403 Forbidden');
  const secret = `Proxy-Authorization: Basic ${Buffer.from('me:se cret').toString('base64')}`;
  expect(heads.map((head) => [head.split('\r\n')[0], head.includes(secret)])).toEqual([
    ['CONNECT far.example:443 HTTP/1.1', true],
    ['GET http://far.example/x HTTP/1.1', true],
  ]);
});

verifies('X-134')
  .needs(capabilities.sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
  .test('a program in a sandbox reaches what is named and nothing else, and its proxy ends with it', async () => {
    const folder = temporaryFolder('/var/tmp');
    mkdirSync(join(folder, 'sockets'));
    const body = 'x'.repeat(3_000_000);
    const port = await listening(
      createWebServer((request, response) => response.end(request.url === '/large' ? body : 'small')),
      0,
    );
    const closed = await listening(createServer(), 0);
    const network = rules({ socket: join(folder, 'sockets', 'net'), named: [`127.0.0.1:${port}`] });
    const scratch = join(folder, 'scratch');
    const sandbox = { kind: 'bubblewrap' as const, writable: [], hidden: [], network, scratch };
    const script = `
      const get = (url) => fetch(url).then(async (got) => got.status + ' ' + (await got.text()).length, (error) => error.cause?.code || 'refused');
      const at = (host) => 'http://' + host + ':${port}';
      const urls = [at('127.0.0.1'), at('localhost') + '/large', 'http://127.0.0.1:${closed}/', 'http://unlisted.example/'];
      const many = await Promise.all(Array.from({ length: 40 }, () => get(at('127.0.0.1') + '/large')));
      console.log(JSON.stringify([...(await Promise.all(urls.map(get))), new Set(many).size]));
    `;
    const node = { file: process.execPath, args: ['--input-type=module', '-e', script], env: { PATH } };
    const { code, out, err } = await runJob(jobSpec('', folder, { ...node, sandbox, cwd: '/' }), capabilities);
    expect(err).toMatch(/unlisted\.example is not among the hosts/);
    expect([JSON.parse(out), code]).toEqual([['200 5', '200 3000000', 'ECONNREFUSED', 'refused', 1], 0]);
    const rulesFile = join(scratch, 'egress-sockets.json');
    expect(existsSync(rulesFile)).toBe(false); // it may hold a password
    await eventually(
      () => pidsNaming(rulesFile),
      (pids) => pids.length === 0,
    );
  });

verifies('X-134')
  .needs(capabilities.sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
  .test('a proxy begins with the first connection, and leaves no rules behind where none was made', async () => {
    const folder = temporaryFolder('/var/tmp');
    mkdirSync(join(folder, 'sockets'));
    const [scratch, shared] = [join(folder, 'scratch'), join(folder, 'shared')];
    mkdirSync(shared);
    const rulesFile = join(scratch, 'egress-sockets.json');
    const run = (lines: string) => {
      const sandbox = {
        ...{ kind: 'bubblewrap' as const, writable: [shared], hidden: [], scratch },
        network: rules({ socket: join(folder, 'sockets', 'net') }),
      };
      const program = { file: '/bin/sh', args: ['-c', `cd ${shared}; ${lines}; cat hold`], env: { PATH } };
      return runJob(jobSpec('', temporaryFolder(folder), { ...program, sandbox, cwd: '/' }), capabilities);
    };
    const kinds = () =>
      pidsNaming(rulesFile).map((pid) => (readlinkSync(`/proc/${pid}/exe`) === process.execPath ? 'proxy' : 'other'));
    execFileSync('mkfifo', [join(shared, 'hold')]);
    const seen: boolean[] = [];
    for (const lines of ['touch quiet', `node -e "fetch('http://unlisted.example')" 2>/dev/null; touch asked`]) {
      const over = run(lines);
      await eventually(
        () => existsSync(join(shared, lines.split(' ').at(-1) ?? '')),
        (isThere) => isThere,
      );
      seen.push(kinds().length > 0, kinds().includes('proxy'), existsSync(rulesFile));
      writeFileSync(join(shared, 'hold'), '');
      await over;
    }
    expect([seen, existsSync(rulesFile)]).toEqual([[true, false, true, true, true, false], false]);
  });

verifies('X-134')
  .needs(capabilities.sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
  .test('two programs with one scratch folder have a way of their own each', async () => {
    const folder = temporaryFolder('/var/tmp');
    const scratch = join(folder, 'scratch');
    const found = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const port = await listening(
          createWebServer((_, response) => response.end(name)),
          0,
        );
        const place = join(folder, name);
        mkdirSync(place);
        const network = rules({ socket: join(place, 'net'), named: [`localhost:${port}`] });
        const sandbox = { kind: 'bubblewrap' as const, writable: [], hidden: [], network, scratch };
        const script = `fetch('http://127.0.0.1:${port}/').then((got) => got.text()).then(console.log)`;
        const node = { file: process.execPath, args: ['-e', script], env: { PATH }, sandbox, cwd: '/' };
        return (await runJob(jobSpec('', place, node), capabilities)).out.trim();
      }),
    );
    expect(found).toEqual(['one', 'two']);
  });

verifies('X-134')
  .needs(capabilities.sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
  .test('a port that a sandbox may not listen at is told, and the program runs without it', async () => {
    const folder = temporaryFolder('/var/tmp');
    mkdirSync(join(folder, 'sockets'));
    const network = rules({ socket: join(folder, 'sockets', 'net'), named: ['localhost:9'] });
    const sandbox = {
      kind: 'bubblewrap' as const,
      writable: [],
      hidden: [],
      network,
      scratch: join(folder, 'scratch'),
    };
    const program = { file: '/bin/echo', args: ['it runs'], env: { PATH }, sandbox, cwd: '/' };
    const { code, out, err } = await runJob(jobSpec('', folder, program), capabilities);
    expect([code, out.trim()]).toEqual([0, 'it runs']);
    expect(err).toContain('port 9 of this machine is not reachable in the sandbox');
  });
