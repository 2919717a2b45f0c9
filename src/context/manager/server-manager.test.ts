import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import type { FakePlan } from '../../../test/support/context/fake-plan.ts';
import { type Bench, openBench } from '../../../test/support/context/manager-bench.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { systemClock } from '../../base/clock.ts';
import { type BoundProcess, type BoundSpec, launchBound } from '../../process/bound.ts';
import { probeCapabilities } from '../../process/capabilities.ts';
import { bootId } from '../../process/identity.ts';
import { processRows } from '../../process/process-table.ts';
import { MissingBinaryError, ProcessStartError } from '../client/mcp-server-error.ts';
import type { JsonRpcClient } from '../client/stdio-client.ts';
import { R_Mcp_ServerManager, type ServerManagerOptions } from './server-manager.ts';

const INDEXED = {
  content: [
    {
      type: 'text',
      text: JSON.stringify({ status: 'success', files_indexed: 2, symbols_found: 3, errors: [], duration_ms: 4 }),
    },
  ],
};

/** The seed's mocks: a child process and a client that only note what is done with them. */
function mocked(more: Partial<ServerManagerOptions> = {}) {
  const dir = temporaryFolder();
  const spawned: BoundSpec[] = [];
  const ended: string[] = [];
  const sent: Record<string, unknown[]> = {};
  const clients = new Map<string, JsonRpcClient>();
  const warnings: string[] = [];
  const manager = new R_Mcp_ServerManager({
    server: { command: process.execPath, args: () => ['--analyse'], env: { PATH: '/usr/bin' } },
    clock: systemClock,
    log: { warn: (message) => warnings.push(message) },
    async launch(spec) {
      spawned.push(spec);
      return mockedProcess(() => ended.push(spec.cwd));
    },
    connect(_process, { worktreePath }) {
      sent[worktreePath] = [];
      const client: JsonRpcClient = {
        async request<T>(method: string, params: unknown) {
          sent[worktreePath]?.push([method, params]);
          return (method === 'tools/call' ? INDEXED : {}) as T;
        },
        notify: (method) => void sent[worktreePath]?.push([method]),
        close: async () => {},
      };
      clients.set(worktreePath, client);
      return client;
    },
    ...more,
  });
  const worktree = (name: string) => {
    mkdirSync(join(dir, name, '.git'), { recursive: true });
    return join(dir, name);
  };
  return { manager, spawned, ended, sent, clients, warnings, worktree };
}

function mockedProcess(onEnd: () => void): BoundProcess {
  const { promise, resolve } = Promise.withResolvers<{ code: number; signal: null }>();
  const stdin = new PassThrough();
  stdin.once('finish', () => {
    onEnd();
    resolve({ code: 0, signal: null });
  });
  return {
    identity: { pid: 2 ** 30, startTime: '0', bootId: bootId() },
    stdin,
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    exited: promise,
    close: async () => ({ survivors: 0, waitedMs: 0 }),
  };
}

verifies('C-071').test(
  'spinUpServer spawns a child process under its ceiling and sends index_code through its client',
  async () => {
    const { manager, spawned, sent, worktree } = mocked();
    const path = worktree('a');
    await manager.spinUpServer(path);
    const [{ file, args, cwd, env } = {} as BoundSpec] = spawned;
    expect({ file, args, cwd, env, sent: sent[path] }).toEqual({
      file: process.execPath,
      args: ['--analyse'],
      cwd: path,
      env: { PATH: '/usr/bin', ROBERTO_MAX_MEMORY_MB: '256', ROBERTO_MEMORY_LIMIT: '256' },
      sent: [
        ['initialize', expect.objectContaining({ protocolVersion: expect.any(String) })],
        ['notifications/initialized'],
        ['tools/call', { name: 'index_code', arguments: { path } }],
      ],
    });
  },
);

verifies('C-072').test('spinUpServer of what already runs warns once and creates no second process', async () => {
  const { manager, spawned, warnings, worktree } = mocked();
  const path = worktree('a');
  await manager.spinUpServer(path);
  await manager.spinUpServer(path);
  expect([spawned.length, warnings]).toEqual([1, ['An analysis server already runs for this worktree']]);
});

verifies('C-073').test('spinDownServer terminates the child process of that worktree and no other', async () => {
  const { manager, ended, worktree } = mocked();
  const [a, b] = [worktree('a'), worktree('b')];
  await Promise.all([manager.spinUpServer(a), manager.spinUpServer(b)]);
  await manager.spinDownServer(b);
  await manager.spinDownServer(join(a, 'unknown'));
  expect([ended, manager.running().map(({ worktreePath }) => worktreePath)]).toEqual([[b], [a]]);
});

verifies('C-074').test(
  'getClientFor returns the client of a running server, undefined for an unknown or stopped one',
  async () => {
    const { manager, clients, worktree } = mocked();
    const [a, b, c] = [worktree('a'), worktree('b'), worktree('c')];
    await Promise.all([manager.spinUpServer(a), manager.spinUpServer(b)]);
    const running = [a, b, c].map((path) => manager.getClientFor(path));
    await manager.spinDownServer(a);
    const after = [a, b, c].map((path) => manager.getClientFor(path));
    expect(running.map((client, index) => client === clients.get([a, b, c][index] ?? ''))).toEqual([true, true, true]);
    expect([running[2], after]).toEqual([undefined, [undefined, clients.get(b), undefined]]);
  },
);

test('the accessor gives the manager the app installed, and nothing without an app', () => {
  const { manager } = mocked();
  expect(() => R_Mcp_ServerManager.getInstance()).toThrow('No app runs');
  R_Mcp_ServerManager.install(manager);
  onTestFinished(() => R_Mcp_ServerManager.install(undefined));
  expect(R_Mcp_ServerManager.getInstance()).toBe(manager);
});

async function bench(...options: Parameters<typeof openBench>): Promise<Bench> {
  const opened = await openBench(...options);
  onTestFinished(() => opened.close());
  return opened;
}

verifies('C-071', 'C-074', 'Q-28').test(
  'a real server runs in its worktree, under its ceiling, and is told to index it',
  async () => {
    const { manager, worktree, heard, pids } = await bench(() => ({}));
    const path = worktree('a');
    await manager.spinUpServer(path);
    const [tree = 0] = pids();
    const environments = processRows()
      .filter((row) => row.session === tree)
      .map((row) => readFileSync(`/proc/${row.pid}/environ`, 'utf8').split('\0'));
    const told = heard(path).map((line) => (line.startsWith('{') ? JSON.parse(line) : line));
    expect(environments.every((lines) => lines.includes('ROBERTO_MAX_MEMORY_MB=256'))).toBe(true);
    expect(told).toEqual([
      `start ${path}`,
      expect.objectContaining({ id: 1, method: 'initialize' }),
      { jsonrpc: '2.0', method: 'notifications/initialized', params: {} },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'index_code', arguments: { path } } },
    ]);
    const answer = await manager.getClientFor(path)?.request('tools/call', { name: 'get_symbol', arguments: {} });
    expect(answer).toEqual(expect.objectContaining({ content: [expect.objectContaining({ type: 'text' })] }));
  },
);

verifies('C-001', 'C-070', 'C-072', 'Q-28').test(
  'spin-ups at once, by any name of the worktree, start one process',
  async () => {
    const { manager, worktree, dir, heard, pids, warnings } = await bench(() => ({}));
    const path = worktree('a');
    symlinkSync(path, join(dir, 'link'));
    const names = [path, join(dir, 'link'), `${path}/`, join(dir, 'x', '..', 'a')];
    await Promise.all(names.map((name) => manager.spinUpServer(name)));
    const clients = names.map((name) => manager.getClientFor(name));
    expect([pids().length, heard(path).filter((line) => line.startsWith('start')).length, warnings]).toEqual([
      1,
      1,
      [],
    ]);
    expect(new Set(clients).size === 1 && clients[0] !== undefined).toBe(true);
  },
);

verifies('C-070').test('what is no top folder of a checkout is refused', async () => {
  const { manager, dir, worktree } = await bench(() => ({}));
  mkdirSync(join(worktree('a'), 'src'));
  for (const path of [dir, join(dir, 'a', 'src'), join(dir, 'nothing')]) {
    await expect(manager.spinUpServer(path)).rejects.toMatchObject({ code: 'not_a_worktree', worktreePath: path });
    await expect(manager.ensureServer(path)).rejects.toMatchObject({ code: 'not_a_worktree' });
  }
  expect(manager.running()).toEqual([]);
});

verifies('C-073').test('a deaf server is gone when spinning down resolves, and only that one', async () => {
  const { manager, worktree, heard, alive, pids } = await bench((name) => ({ isDeaf: name === 'deaf' }), {
    timings: { inputEnd: 200 },
  });
  const [deaf, other] = [worktree('deaf'), worktree('other')];
  await manager.spinUpServer(deaf);
  const tree = pids();
  await manager.spinUpServer(other);
  const down = manager.spinDownServer(deaf);
  const atOnce = manager.getClientFor(deaf);
  await down;
  expect([atOnce, alive(tree), heard(deaf).at(-1)]).toEqual([undefined, 0, 'SIGTERM']);
  expect(alive()).toBeGreaterThan(0);
});

verifies('C-073').test('spinning down cancels a start, at once and after the handshake', async () => {
  const { manager, worktree, heard, alive, pids } = await bench(() => ({ index: 'hang' }));
  const path = worktree('a');
  const early = manager.spinUpServer(path);
  const refusedEarly = expect(early).rejects.toMatchObject({ code: 'no_active_server' });
  await until('it is known', () => manager.running().length === 1);
  await manager.spinDownServer(path);
  await refusedEarly;
  const late = manager.spinUpServer(path);
  const refusedLate = expect(late).rejects.toMatchObject({ code: 'no_active_server' });
  await until('it indexes', () => heard(path).some((line) => line.includes('index_code')));
  const client = manager.getClientFor(path);
  const tree = pids();
  await manager.spinDownServer(path);
  await refusedLate;
  expect([client !== undefined, manager.running(), alive(tree)]).toEqual([true, [], 0]);
});

const FAILED_STARTS = {
  refuse: { code: 'mcp_query', message: 'cannot index', stderr: undefined },
  silent: { code: 'analysis_server_start', message: expect.stringContaining('within 500 ms'), stderr: '' },
  exit: { code: 'analysis_server_start', message: expect.any(String), stderr: 'no grammar for this machine' },
};

for (const [how, expected] of Object.entries(FAILED_STARTS)) {
  verifies('C-072').test(`a start that fails leaves no entry and no process, and says why (${how})`, async () => {
    const plan = how === 'refuse' ? { index: how } : { initialize: how as 'silent' | 'exit' };
    const { manager, worktree, alive } = await bench(
      () => plan as FakePlan,
      how === 'silent' ? { timings: { start: 500 } } : {},
    );
    const up = manager.spinUpServer(worktree('a'));
    const tree = until('it is launched', () => manager.running()[0]?.pid);
    const failure = await up.catch(({ code, message, details }) => ({ code, message, stderr: details.stderr }));
    expect([failure, manager.running(), alive([await tree])]).toEqual([expected, [], 0]);
  });
}

test('a program that is not there is named before anything is started', async () => {
  for (const command of ['/nowhere/roberto-mcp', '/usr', 'node']) {
    const { manager, worktree, spawned } = mocked({ server: { command, args: () => [], env: {} } });
    const failure = await manager.spinUpServer(worktree('a')).catch((error: unknown) => error);
    expect([failure instanceof MissingBinaryError, failure, spawned]).toEqual([
      true,
      expect.objectContaining({ code: 'analysis_server_missing', retryable: false }),
      [],
    ]);
  }
});

test('a launch that fails is a start that failed', async () => {
  const { manager, worktree } = mocked({ launch: () => Promise.reject(new Error('no descriptors')) });
  const failure = await manager.spinUpServer(worktree('a')).catch((error: unknown) => error);
  expect([failure instanceof ProcessStartError, (failure as Error).message]).toEqual([
    true,
    'The analysis server could not be started: no descriptors',
  ]);
});

verifies('C-074').test('a server that is still indexing is handed out after a while', async () => {
  const { manager, worktree } = await bench(() => ({ index: 'hang' }), { timings: { usable: 100 } });
  const client = await manager.ensureServer(worktree('a'));
  expect(await client.request('tools/call', { name: 'get_symbol', arguments: {} })).toHaveProperty('content');
});

verifies('C-076').test('the least recently used server goes when there are too many', async () => {
  const { manager, worktree } = await bench(() => ({}), { maxServers: 2 });
  const [a, b, c] = [worktree('a'), worktree('b'), worktree('c')];
  await manager.ensureServer(a);
  await manager.ensureServer(b);
  await manager.ensureServer(a);
  await manager.ensureServer(c);
  expect(manager.running().map(({ worktreePath }) => worktreePath)).toEqual([a, c]);
});

verifies('C-076').test('no server goes while it answers: a start waits, then says that all are busy', async () => {
  const { manager, worktree } = await bench(() => ({}), { maxServers: 1, timings: { busy: 300 } });
  const [a, b] = [worktree('a'), worktree('b')];
  const client = await manager.ensureServer(a);
  const stop = new AbortController();
  const asked = client.request(
    'tools/call',
    { name: 'get_symbol', arguments: { name: 'hang' } },
    { signal: stop.signal },
  );
  const refused = expect(asked).rejects.toThrow('enough');
  await expect(manager.spinUpServer(b)).rejects.toMatchObject({ code: 'analysis_busy', retryable: true });
  const waiting = manager.spinUpServer(b);
  stop.abort(new Error('enough'));
  await refused;
  await waiting;
  expect(manager.running().map(({ worktreePath }) => worktreePath)).toEqual([b]);
});

verifies('C-001').test('twelve starts at once never make more processes than allowed', async () => {
  const { manager, worktree, pids, alive } = await bench(() => ({ delayMs: 5 }), {
    maxServers: 3,
    timings: { busy: 60_000 },
  });
  const worktrees = Array.from({ length: 12 }, (_, index) => worktree(`w${index}`));
  let most = 0;
  const seen = new Set<number>();
  const done = Promise.all(worktrees.map((path) => manager.spinUpServer(path)));
  await until(
    'all came up',
    () => {
      const now = pids();
      for (const pid of now) seen.add(pid);
      most = Math.max(most, now.length);
      return seen.size === 12 || undefined;
    },
    60_000,
  );
  await done;
  expect([most <= 3, pids().length, alive([...seen].filter((pid) => !pids().includes(pid)))]).toEqual([true, 3, 0]);
});

verifies('C-070').test('closing ends all, and nothing starts afterwards', async () => {
  const { manager, worktree, pids, alive } = await bench((name) => (name === 'b' ? { index: 'hang' } : {}));
  await manager.spinUpServer(worktree('a'));
  const starting = manager.spinUpServer(worktree('b'));
  const refused = expect(starting).rejects.toMatchObject({ code: 'no_active_server' });
  await until('both run', () => pids().length === 2);
  const trees = pids();
  await manager.close();
  await refused;
  await expect(manager.ensureServer(worktree('a'))).rejects.toMatchObject({ code: 'no_active_server' });
  expect([manager.running(), alive(trees)]).toEqual([[], 0]);
});

verifies('C-077').test('a server that closes its output is ended like a dead one', async () => {
  const capabilities = { ...(await probeCapabilities()), namespaces: 'none' as const }; // a namespace's shell keeps it open
  const { manager, worktree, pids, alive } = await bench(() => ({ isDeaf: true }), {
    launch: (spec) => launchBound(spec, capabilities),
    timings: { inputEnd: 50 },
  });
  const path = worktree('a');
  const client = await manager.ensureServer(path);
  const tree = pids();
  const asked = client.request('tools/call', { name: 'get_symbol', arguments: { name: 'mute' } });
  await expect(asked).rejects.toMatchObject({ code: 'analysis_server_died' });
  const after = manager.getClientFor(path);
  await manager.spinDownServer(path);
  expect([after, alive(tree)]).toEqual([undefined, 0]);
});
