import { existsSync, mkdirSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { relay } from './relay.ts';
import type { Hello } from './tree-socket.ts';
import { listen, type TreeSocket, treeSocketPath } from './tree-socket.ts';

let dir: string;
let host: TreeSocket | undefined;
beforeEach(() => {
  dir = temporaryFolder();
});
afterEach(() => {
  host?.close();
  host = undefined;
});

function hello(jobId: string): Hello {
  const door = join(dir, jobId, 'door', 'sock');
  mkdirSync(dirname(door), { recursive: true });
  return { ...{ agent: 'a', jobId, parentId: 'P', depth: 1, cwd: dir, door, sessionId: 's', keep: false } };
}

function pipes() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  return { input, output, read: text(output) };
}

verifies('R-08').test('a child is carried both ways, byte for byte, and ends with either side', async () => {
  const path = join(dir, 'host');
  const taken = Promise.withResolvers<{ hello: Hello; socket: Socket }>();
  host = await listen(path, (given, socket) => {
    taken.resolve({ hello: given, socket });
    return true;
  });
  const { input, output, read } = pipes();
  input.write('early ünd ');
  const carried = relay(path, hello('J1'), { input, output });
  const { hello: given, socket } = await taken.promise;
  expect(given).toEqual(hello('J1'));
  input.write('late\n');
  const heard: Buffer[] = [];
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    heard.push(chunk as Buffer);
    if (Buffer.concat(heard).includes(0x0a)) break;
  }
  expect(Buffer.concat(heard).toString()).toBe('early ünd late\n');
  expect(existsSync(treeSocketPath(given.door))).toBe(true);
  socket.end('{"ack":"1"}\n');
  expect(await carried).toBe('over');
  output.end();
  expect(await read).toBe('{"ack":"1"}\n');
  await expect.poll(() => existsSync(treeSocketPath(given.door))).toBe(false);
});

verifies('R-08').test('a child finds the host beside the door of its parent, however deep', async () => {
  const path = join(dir, 'host');
  const sockets: Socket[] = [];
  host = await listen(path, (_, socket) => sockets.push(socket) > 0);
  const first = pipes();
  const one = relay(path, hello('J1'), first);
  await expect.poll(() => existsSync(treeSocketPath(hello('J1').door))).toBe(true);
  const two = relay(treeSocketPath(hello('J1').door), hello('J2'), pipes());
  await expect.poll(() => sockets.length).toBe(2);
  for (const socket of sockets) socket.resume().end();
  expect(await Promise.all([one, two])).toEqual(['over', 'over']);
});

test('without a host, or one that does not want it, the child is left to itself', async () => {
  const path = join(dir, 'host');
  expect(await relay(path, hello('J1'), pipes())).toBe('refused');
  host = await listen(path, () => false);
  expect(await relay(path, hello('J1'), pipes())).toBe('refused');
});

test('who does not say who it is gets nothing', async () => {
  const path = join(dir, 'host');
  let asked = 0;
  host = await listen(path, () => ++asked > 0);
  for (const line of ['nonsense\n', '{"jobId":"J"}\n', `${'x'.repeat(70_000)}`]) {
    const socket = createConnection(path);
    socket.on('error', () => {});
    socket.write(line);
    expect(await text(socket).catch(() => '')).toBe('');
  }
  expect(asked).toBe(0);
});

test('a socket that a dead host left is taken over', async () => {
  const path = join(dir, 'host');
  host = await listen(path, () => true);
  const second = await listen(path, () => false);
  expect(await relay(path, hello('J1'), pipes())).toBe('refused');
  second.close();
});
