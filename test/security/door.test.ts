import { readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { reef as reefIn, reopened, serve } from '../e2e/door-rig.ts';
import { makeWorld, type World } from '../e2e/harness.ts';
import { knock } from '../support/surfaces/door.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';

/** The door over TCP as a person gets it: the command line, and the real daemon behind it. */

let world: World;
afterEach(() => world.close());

const reef = (args: string[], more?: NodeJS.ProcessEnv) => reefIn(world, args, more);
const served = (...args: string[]) => serve(world, ...args);

/** The local addresses on which a process listens, as the kernel lists them: `0100007F:1F90` is 127.0.0.1 port 8080. */
function listening(pid: number): string[] {
  const sockets = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return []; // closed meanwhile
    }
  });
  return ['tcp', 'tcp6', 'udp', 'udp6'].flatMap((kind) =>
    readFileSync(`/proc/${pid}/net/${kind}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => (fields[3] === '0A' || kind.startsWith('udp')) && sockets.includes(fields[9] ?? ''))
      .map((fields) => `${kind} ${fields[1]}`),
  );
}

async function daemonPid(): Promise<number> {
  return (await world.client.daemon())?.pid ?? 0;
}

const hexPort = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');

verifies('X-01', 'X-102', 'U-20').test(
  'no port is open before somebody types it, and then only one of the loopback interface',
  async () => {
    world = makeWorld();
    await world.client.call('status', {});
    const pid = await daemonPid();
    expect(listening(pid)).toEqual([]);
    for (const host of ['0.0.0.0', '::', '192.0.2.1']) {
      const refused = await reef(['serve', '--host', host]);
      expect([host, refused.code, refused.err.split(':')[0], listening(pid)]).toEqual([host, 2, 'remote_shell', []]);
    }
    for (const wrong of [
      ['--host', 'localhost'],
      ['--origin', 'http://reef.example.org'],
      ['--origin', 'https://reef.example.org/path'],
      ['--port', '70000'],
    ])
      expect([wrong, (await reef(['serve', ...wrong])).code, listening(pid)]).toEqual([wrong, 2, []]);
    const { port, token } = await served();
    expect(listening(pid)).toEqual([`tcp 0100007F:${hexPort(port)}`]);
    const tokenFile = world.home.token;
    expect([statSync(tokenFile).mode & 0o777, token]).toEqual([0o600, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    const again = await reef(['serve']);
    expect([again.code, again.out.split('\n')[0], again.out.includes(token)]).toEqual([
      0,
      `http://127.0.0.1:${port}`,
      false,
    ]);
    expect(again.out).toContain(tokenFile);
    await reef(['serve', '--close']);
    expect(listening(pid)).toEqual([]);
    expect(readFileSync(world.home.log, 'utf8')).not.toContain(token);
  },
);

verifies('X-01').test('only the person opens the door: no agent, and no client', async () => {
  world = makeWorld();
  await world.client.call('status', {});
  for (const args of [['serve'], ['open'], ['token', 'rotate']]) {
    const refused = await reef(args, { REEF_JOB: '01KA1B2C3D4E5F6G7H8J9KAMNP' });
    expect([args, refused.code, refused.err.split(':')[0]]).toEqual([args, 3, 'person_needed']);
  }
  expect(listening(await daemonPid())).toEqual([]);
});

verifies('X-05', 'X-06').test(
  'the door and its pages come back with the daemon, at the same address; another port ends the pages',
  async () => {
    world = makeWorld();
    const { port } = await served();
    const { out } = await reef(['open', '--json']);
    const { page } = JSON.parse(out) as { page: string };
    expect(page).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/#code=[0-9a-f]{32}$`));
    const login = await knock(port, { path: '/v1/login', body: { code: page.split('=')[1] } });
    const { token } = login.json as { token: string };
    const status = async (at: number) => (await knock(at, { path: '/v1/op/status', body: {}, token })).status;
    expect(await status(port)).toBe(200);
    expect(readFileSync(world.home.door, 'utf8')).not.toContain(token);

    await world.killDaemon();
    await world.client.call('status', {});
    expect(await reopened(world)).toBe(`http://127.0.0.1:${port}`);
    expect(await status(port)).toBe(200);

    await world.killDaemon();
    const impostor = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => impostor.listen(port, '127.0.0.1', resolve));
    await world.client.call('status', {});
    const other = Number(new URL(await reopened(world)).port);
    impostor.close();
    expect([other === port, await status(other)]).toEqual([false, 401]);
  },
);

verifies('X-03').test('reef token rotate replaces the token of scripts', async () => {
  world = makeWorld();
  const { port, token } = await served();
  const status = async (shown: string) => (await knock(port, { path: '/v1/op/status', body: {}, token: shown })).status;
  expect(await status(token)).toBe(200);
  expect((await reef(['token', 'rotate'])).code).toBe(0);
  const renewed = readFileSync(world.home.token, 'utf8').trim();
  expect([await status(token), await status(renewed), renewed === token]).toEqual([401, 200, false]);
});

verifies('U-20').test('a port that somebody names is taken or refused, never another one', async () => {
  world = makeWorld();
  const taken = createServer();
  const port = await new Promise<number>((resolve) =>
    taken.listen(0, '127.0.0.1', () => resolve((taken.address() as { port: number }).port)),
  );
  const before = await served();
  const refused = await reef(['serve', '--port', String(port)]);
  expect([refused.code, refused.err.split(':')[0]]).toEqual([69, 'port_in_use']);
  expect(await served()).toEqual(before);
  taken.close();
  expect((await served('--port', String(port))).port).toBe(port);
});

verifies('U-20').test('a daemon whose door is open waits for visitors; a closed one ends when it is idle', async () => {
  world = makeWorld();
  world.configure({ reef: { timings: { daemon_idle: 300 } } });
  const { port, token } = await served();
  const pid = await daemonPid();
  const idle = { path: '/v1/op/status', body: {}, token };
  const deadline = Date.now() + 1_500;
  await until('five times the idle time is over', () => Date.now() > deadline);
  expect([(await knock(port, idle)).status, await daemonPid()]).toEqual([200, pid]);
  await reef(['serve', '--close']);
  await until('the daemon has ended', async () => (await world.client.daemon()) === undefined);
});

verifies('U-05').test('a daemon loads the packages of the door when it is opened, and not before', async () => {
  world = makeWorld();
  const loaded = join(world.root, 'loaded');
  writeFileSync(loaded, '');
  const hook = `import { registerHooks } from 'node:module';
    import { appendFileSync } from 'node:fs';
    const note = (url) => /\\/node_modules\\/@?hono\\//.test(url) && appendFileSync(${JSON.stringify(loaded)}, url + '\\n');
    registerHooks({ load(url, context, next) { note(url); return next(url, context); } });`;
  world.env.NODE_OPTIONS = `--import "data:text/javascript,${encodeURIComponent(hook)}"`;
  expect((await reef(['ps'])).code).toBe(0);
  expect(readFileSync(loaded, 'utf8')).toBe('');
  await served();
  expect(readFileSync(loaded, 'utf8')).toMatch(/@hono\/node-server/);
});
