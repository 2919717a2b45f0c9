import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';

import { expect, onTestFinished, test, vi } from 'vitest';
import { serveTurns } from '../../../test/model-server/testing.ts';
import { openRegistry } from '../../../test/support/engine/registry.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { textOf, userText } from '../../runtime/models/message.ts';
import { fetchByWay } from './http-requests.ts';

async function listening(server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

interface Asked {
  line: string;
  pass: string | undefined;
  key: string | undefined;
}

/** A proxy: passes requests on, opens tunnels to where `tunnel` says, and notes what it was asked. */
async function proxy(tunnel: (asked: Asked, socket: Socket) => void = (_, socket) => socket.destroy()) {
  const asked: Asked[] = [];
  const note = ({ method, url, headers }: http.IncomingMessage) => {
    const entry = { line: `${method} ${url}`, pass: headers['proxy-authorization'], key: headers.authorization };
    asked.push(entry);
    return entry;
  };
  const server = http.createServer((incoming, out) => {
    note(incoming);
    const { method, headers } = incoming;
    const onward = http.request(incoming.url ?? '', { method, headers }, (answer) => {
      out.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(out);
    });
    incoming.pipe(onward);
  });
  server.on('connect', (incoming, socket) => tunnel(note(incoming), socket as Socket));
  return { host: `127.0.0.1:${await listening(server)}`, asked };
}

const client = (url: string, extra: unknown) => ({
  type: 'openai-compatible',
  name: 'p',
  api_base: `${url}/v1`,
  api_key: 'k',
  models: [{ name: 'm' }],
  extra,
});

function say(url: string, extra: unknown) {
  const { registry } = openRegistry([client(url, extra)]);
  const model = registry.find('p');
  return registry
    .client(model)
    .chat({ model, messages: [userText('hi')], tools: [{ name: 't', description: '', parameters: {} }], stream: true });
}

verifies('R-80', 'R-17').test('a client speaks through its own proxy, with a secret of the vault for it', async () => {
  const { host, asked } = await proxy();
  const url = await serveTurns({ text: 'Hello from the far side of the wire.' });
  const reply = await say(url, { proxy: `http://me:{{VAULTED}}@${host}` });
  expect([textOf({ role: 'assistant', content: reply.content }), asked]).toEqual([
    'Hello from the far side of the wire.',
    [
      {
        line: `POST ${url}/v1/chat/completions`,
        pass: `Basic ${Buffer.from('me:from-vault').toString('base64')}`,
        key: 'Bearer k',
      },
    ],
  ]);
});

verifies('R-80').test('an address of https is reached through a tunnel that the proxy cannot look into', async () => {
  let first: Buffer | undefined;
  const { host, asked } = await proxy((_, socket) => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    socket.once('data', (bytes: Buffer) => {
      first = bytes;
      socket.destroy();
    });
  });
  const fetch = fetchByWay({ proxy: new URL(`http://${host}`) });
  await expect(fetch('https://models.test/v1/x', { method: 'POST', body: 'secret words' })).rejects.toThrow();
  // A handshake of TLS that names the host, and nothing of the request.
  expect([
    asked,
    first?.subarray(0, 2).toString('hex'),
    first?.includes('models.test'),
    first?.includes('words'),
  ]).toEqual([[{ line: 'CONNECT models.test:443', pass: undefined, key: undefined }], '1603', true, false]);
});

test('a proxy that refuses is named', async () => {
  const { host } = await proxy((_, socket) => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'));
  const fetch = fetchByWay({ proxy: new URL(`http://${host}`) });
  await expect(fetch('https://models.test/')).rejects.toThrow(
    `the proxy ${host} answered 407 Proxy Authentication Required`,
  );
});

/** A program that listens and takes nobody in. Returns its port once no more can even wait at its door. */
async function deaf(): Promise<number> {
  const code =
    'require("net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, function () { console.log(this.address().port) })';
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  child.kill('SIGSTOP');
  const waiting = Array.from({ length: 4 }, () => net.connect(Number(line), '127.0.0.1').on('error', () => {}));
  onTestFinished(() => waiting.forEach((socket) => void socket.destroy()));
  await Promise.all(waiting.slice(0, 2).map((socket) => once(socket, 'connect')));
  return Number(line);
}

verifies('R-80')
  .needs(process.platform === 'linux', 'only Linux leaves those outside who find the queue full')
  .test('a connection that does not come about is given up after its time', async () => {
    const fetch = fetchByWay({ connectTimeoutMs: 250 });
    await expect(fetch(`http://127.0.0.1:${await deaf()}/`)).rejects.toThrow('there was no connection within 0.25 s');
  });

verifies('R-80').test('the time for a connection ends with the connection: an answer may take longer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const patience = 1_500;
  const server = http.createServer((_, out) => {
    vi.advanceTimersByTime(patience + 100);
    out.end('at last');
  });
  const response = await fetchByWay({ connectTimeoutMs: patience })(`http://127.0.0.1:${await listening(server)}/`);
  expect(await response.text()).toBe('at last');
});

verifies('R-73').test('what is cancelled ends at once', async () => {
  const server = http.createServer(() => {});
  const stop = new AbortController();
  const asking = fetchByWay({})(`http://127.0.0.1:${await listening(server)}/`, { signal: stop.signal });
  server.once('request', () => stop.abort());
  await expect(asking).rejects.toMatchObject({ name: 'AbortError' });
});

verifies('R-80').test('a way that cannot be gone is refused, not passed over; none is none', async () => {
  const url = await serveTurns({ text: 'straight' });
  const said = (extra: unknown) =>
    say(url, extra).then(
      ({ content }) => textOf({ role: 'assistant', content }),
      ({ code, message }) => `${code}: ${message}`,
    );
  expect([
    await said({ proxy: 'socks5://127.0.0.1:1080' }),
    await said({ connect_timeout: 'soon' }),
    await said({ proxy: '-' }),
  ]).toEqual([
    'config_invalid: extra.proxy of the client p must begin with http:// or https://; other proxies are not supported',
    expect.stringMatching(/^config_invalid: extra\.connect_timeout of the client p: /),
    'straight',
  ]);
});
