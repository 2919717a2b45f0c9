import { readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { reef as reefIn, reopened, serve } from '../e2e/door-rig.ts';
import { makeWorld, type World } from '../e2e/harness.ts';
import { knock } from '../support/surfaces/door.ts';
import { readMetrics } from '../support/surfaces/prometheus.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';

/** The door over TCP as a person gets it: the command line, and the real daemon behind it. */

let world: World;
afterEach(() => world.close());

const reef = (args: string[], more?: NodeJS.ProcessEnv) => reefIn(world, args, more);
const served = (...args: string[]) => serve(world, ...args);

/** The sockets of a process, as the kernel lists them: `0100007F:1F90` is 127.0.0.1 port 8080, and the state `0A` listens. */
function sockets(pid: number): { kind: string; local: string; remote: string; state: string }[] {
  const own = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
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
      .filter((fields) => own.includes(fields[9] ?? ''))
      .map(([, local = '', remote = '', state = '']) => ({ kind, local, remote, state })),
  );
}

function listening(pid: number): string[] {
  const found = sockets(pid).filter(({ kind, state }) => state === '0A' || kind.startsWith('udp'));
  return found.map(({ kind, local }) => `${kind} ${local}`);
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

verifies('U-26', 'X-01').test(
  'a tunnel brings people to the door by one exact name, and opens no other address',
  async () => {
    world = makeWorld();
    const { port, token } = await served('--origin', 'https://reef.example.org');
    const pid = await daemonPid();
    const from = async (host: string, origin: string) => {
      const call = { path: '/v1/op/status', body: {}, token, headers: { host, origin } };
      const { status, code } = await knock(port, call);
      return code ?? status;
    };
    const ask = async () => [
      await from('reef.example.org', 'https://reef.example.org'),
      await from(`127.0.0.1:${port}`, `http://127.0.0.1:${port}`),
      await from(`127.0.0.1:${port}`, 'https://reef.example.org'),
      await from('reef.example.org', 'https://evil.example.org'),
      await from('evil.example.org', 'https://evil.example.org'),
    ];
    const expected = [200, 200, 'bad_origin', 'bad_origin', 'bad_host'];
    expect([await ask(), listening(pid)]).toEqual([expected, [`tcp 0100007F:${hexPort(port)}`]]);
    const { page, origin } = JSON.parse((await reef(['open', '--json'])).out) as Record<string, string>;
    expect([page, origin]).toEqual([expect.stringContaining('127.0.0.1'), 'https://reef.example.org']);

    await world.killDaemon();
    await world.client.call('status', {});
    await reopened(world);
    expect(await ask()).toEqual(expected);
    await reef(['serve', '--close']);
    await served();
    expect(await from('reef.example.org', 'https://reef.example.org')).toBe('bad_host');
  },
);

verifies('U-27').test('the figures are those of the home, and nothing is sent anywhere', async () => {
  world = makeWorld();
  const asks = world.script('asks', [{ permit: { tool: 'deploy', input: {}, steps: [{ say: 'deployed' }] } }]);
  const says = world.script('says', [{ say: 'hello' }]);
  const { port, token } = await served();
  const pid = await daemonPid();
  for (const agent of [asks, says]) {
    const { agentId } = await world.client.call('spawn', { agent, task: 'work' });
    await world.until(agentId, ({ status }) => status === 'awaiting_input' || status === 'completed');
  }
  const read = async () => readMetrics((await knock(port, { path: '/metrics', token })).text);
  const first = await read();
  const { lastSeq } = (await world.client.daemon()) ?? {};
  expect(Object.fromEntries(first)).toMatchObject({
    'reef_jobs{status="awaiting_input"}': 1,
    'reef_jobs{status="completed"}': 1,
    'reef_jobs{status="error"}': 0,
    'reef_runs{state="over"}': 0,
    reef_events_total: lastSeq,
    reef_questions_open: 1,
  });
  const more = ['reef_question_oldest_seconds', 'process_resident_memory_bytes', 'process_uptime_seconds'];
  for (const name of more) expect([name, first.get(name)]).toEqual([name, expect.any(Number)]);
  expect(first.get('reef_database_bytes')).toBeGreaterThanOrEqual(statSync(world.home.database).size);
  expect(first.get('reef_home_bytes')).toBeGreaterThan(first.get('reef_database_bytes') ?? 0);
  expect((await read()).get('reef_question_oldest_seconds')).toBeGreaterThan(
    first.get('reef_question_oldest_seconds') ?? 0,
  );
  const others = sockets(pid).filter(({ state, local }) => state !== '0A' && !local.endsWith(`:${hexPort(port)}`));
  expect(others).toEqual([]);
});
