import { realpathSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { newNonce, pidsNaming, survivorsOf } from '../../../../test/support/programs.ts';
import { approvalsIn, launchedSpec, SERVER, serverSpec, testFactory } from '../../../../test/support/runtime/mcp.ts';
import { deadline } from '../../../../test/support/scale.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { until } from '../../../../test/support/wait.ts';
import type { McpHandle, McpServerSpec, StdioServerSpec } from '../factory.ts';
import { Server } from './server.ts';

const codeOf = async (work: Promise<unknown>) =>
  work.then(
    () => 'ok',
    (error) => error.code ?? error,
  );
const textOf = async (handle: McpHandle, tool: string, args: Record<string, unknown> = {}) =>
  (await handle.call(tool, args)).text;

verifies('D10', 'R-124', 'R-30').test(
  'one key is one process, and another token, order of arguments or folder is another',
  async () => {
    await using factory = await testFactory();
    const folder = temporaryFolder();
    const spec = (more: Partial<StdioServerSpec>) =>
      serverSpec('fixture', { args: ['-a', '-b'], env: { TOKEN: 'one' }, ...more });
    const variants = {
      same: spec({}),
      again: spec({ env: { TOKEN: 'one' } }),
      token: spec({ env: { TOKEN: 'two' } }),
      order: spec({ args: ['-b', '-a'] }),
      folder: spec({ cwd: folder }),
      name: { ...spec({}), name: 'other' },
    };
    const pids: Record<string, number | undefined> = {};
    const told: Record<string, unknown> = {};
    for (const [what, each] of Object.entries(variants)) {
      const { value } = await factory.acquire(each);
      pids[what] = value.pid;
      told[what] = JSON.parse(await textOf(value, 'whoami', { variable: 'TOKEN' }));
    }
    expect({ shared: pids.same === pids.again, processes: new Set(Object.values(pids)).size, told }).toEqual({
      shared: true,
      processes: 5,
      told: {
        same: { cwd: '/', args: ['-a', '-b'], value: 'one' },
        again: { cwd: '/', args: ['-a', '-b'], value: 'one' },
        token: { cwd: '/', args: ['-a', '-b'], value: 'two' },
        order: { cwd: '/', args: ['-b', '-a'], value: 'one' },
        folder: { cwd: realpathSync(folder), args: ['-a', '-b'], value: 'one' },
        name: { cwd: '/', args: ['-a', '-b'], value: 'one' },
      },
    });
    // The known-bad twin: a key that sorts the arguments hands out a server that was started with others.
    const sorted = (each: StdioServerSpec) => ({ ...each, args: [SERVER, ...each.args.slice(1).toSorted()] });
    const { value } = await factory.acquire(sorted(variants.order));
    expect([value.pid === pids.same, JSON.parse(await textOf(value, 'whoami', { variable: 'TOKEN' })).args]).toEqual([
      true,
      ['-a', '-b'],
    ]);
  },
);

verifies('D9', 'R-31').test('twenty acquires at once start one process and share one handle', async () => {
  await using factory = await testFactory();
  const leases = await Promise.all(Array.from({ length: 20 }, () => factory.acquire(serverSpec('fixture'))));
  const handles = new Set(leases.map(({ value }) => value));
  expect({ handles: handles.size, stats: factory.stats() }).toEqual({
    handles: 1,
    stats: expect.objectContaining({ spawned: 1, miss: 1, active_hit: 19 }),
  });
});

verifies('R-31').test(
  'a server lives as long as its last holder, and a second release of one changes nothing',
  async () => {
    await using factory = await testFactory({ pool: { idle_timeout_seconds: 0 } });
    const [first, second] = await Promise.all([factory.acquire(serverSpec('a')), factory.acquire(serverSpec('a'))]);
    await first.release();
    await first.release();
    const still = await textOf(second.value, 'echo', { message: 'here' });
    await second.release();
    expect({ still, pid: second.value.pid, after: await codeOf(second.value.call('echo', { message: 'x' })) }).toEqual({
      still: 'here',
      pid: undefined,
      after: 'mcp_server_gone',
    });
  },
);

verifies('R-32').test(
  'a start that failed says why without its secrets, leaves no entry, and is tried afresh',
  async () => {
    await using factory = await testFactory();
    const spec = serverSpec('broken', { args: ['--fail'], env: { TOKEN: 's3cret-token-value' } });
    const failures = await Promise.allSettled([factory.acquire(spec), factory.acquire(spec)]);
    const again = await factory.acquire(spec).catch((error) => error);
    expect({
      codes: failures.map((each) => each.status === 'rejected' && each.reason.code),
      message: again.message,
      stats: factory.stats(),
    }).toEqual({
      codes: ['mcp_start_failed', 'mcp_start_failed'],
      message: 'MCP server broken did not start: it ended with code 3:\ncannot reach the database with [redacted]',
      stats: expect.objectContaining({ spawned: 2, miss: 2, active_hit: 1 }),
    });
  },
);

test('a command that does not exist is named in the failure', async () => {
  await using factory = await testFactory();
  const failure = await factory
    .acquire(serverSpec('none', { command: 'no-such-program', args: [] }))
    .catch((error) => error);
  expect({ code: failure.code, message: failure.message }).toEqual({
    code: 'mcp_start_failed',
    message: expect.stringContaining('no-such-program'),
  });
});

test('a server that does not answer in time fails and is gone', async () => {
  await using factory = await testFactory();
  const nonce = newNonce();
  const failure = factory.acquire(launchedSpec('silent', nonce, ['--silent']), { timeoutMs: 1_000 });
  expect(await failure.catch((error) => error.message)).toBe('MCP server silent did not start: no answer within 1 s');
  expect(survivorsOf(nonce)).toEqual([]);
});

verifies('R-123', 'R-33').test(
  'the abort of the last waiter kills a start in flight with its tree within two seconds',
  async () => {
    await using factory = await testFactory();
    const nonce = newNonce();
    const spec = launchedSpec('silent', nonce, ['--silent', nonce]);
    const [first, second] = [new AbortController(), new AbortController()];
    const leaving = codeOf(factory.acquire(spec, { signal: first.signal }));
    const last = codeOf(factory.acquire(spec, { signal: second.signal }));
    await until('the tree stands', () => survivorsOf(nonce).length === 2 && pidsNaming(nonce).length > 0);
    first.abort('first');
    const firstSaid = await leaving;
    const afterFirst = survivorsOf(nonce).length;
    second.abort('second');
    const secondSaid = await last;
    await until('nothing is left', () => survivorsOf(nonce).length + pidsNaming(nonce).length === 0, deadline(2_000));
    expect({ firstSaid, afterFirst, secondSaid }).toEqual({
      firstSaid: 'first',
      afterFirst: 2,
      secondSaid: 'second',
    });
  },
);

verifies('R-33').test('a start that lost its waiters does not become the one of whoever comes next', async () => {
  await using factory = await testFactory();
  const waiter = new AbortController();
  const spec = serverSpec('fixture');
  const leaving = codeOf(factory.acquire(spec, { signal: waiter.signal }));
  waiter.abort('gone');
  const left = await leaving;
  const { value } = await factory.acquire(spec);
  expect({
    left,
    said: await textOf(value, 'echo', { message: 'fresh' }),
    spawned: factory.stats().spawned,
  }).toEqual({
    left: 'gone',
    said: 'fresh',
    spawned: 2,
  });
});

verifies('R-34').test(
  'released servers stay warm, and the least recently used leave when there are too many',
  async () => {
    await using factory = await testFactory({ pool: { max_idle_servers: 2 } });
    const use = async (spec: McpServerSpec) => {
      const lease = await factory.acquire(spec);
      await lease.release();
      return lease.value.pid;
    };
    const [a, b] = [await use(serverSpec('a')), await use(serverSpec('b'))];
    const warm = await use(serverSpec('a'));
    await use(serverSpec('c')); // b is the oldest now
    const kept = await use(serverSpec('a'));
    const fresh = await use(serverSpec('b'));
    expect({ warm: warm === a, kept: kept === a, fresh: fresh === b, stats: factory.stats() }).toEqual({
      warm: true,
      kept: true,
      fresh: false,
      stats: expect.objectContaining({ spawned: 4, idle_hit: 2, miss: 4, lru_evicted: 2 }),
    });
  },
);

verifies('R-34').test('an idle server ends after its time, its own time before that of the pool', async () => {
  const clock = manualClock();
  await using factory = await testFactory({ clock, pool: { idle_timeout_seconds: 300 } });
  const held = await factory.acquire(serverSpec('held'));
  const leases = [
    await factory.acquire(serverSpec('slow')),
    await factory.acquire(serverSpec('quick', { idle_timeout_seconds: 40 })),
  ];
  for (const lease of leases) await lease.release();
  const alive = () => leases.map(({ value }) => value.pid !== undefined);
  const pass = async (seconds: number) => {
    for (let left = seconds; left > 0; left -= 10) {
      await until('reaper and health check wait', () => clock.sleeping() === 2);
      await clock.advance(10_000);
    }
  };
  await pass(60);
  await until('the quick one ended', () => alive().join() === 'true,false');
  const evictedEarly = factory.stats().idle_evicted;
  await pass(300);
  await until('both ended', () => alive().join() === 'false,false');
  expect({ evictedEarly, evicted: factory.stats().idle_evicted, held: held.value.pid !== undefined }).toEqual({
    evictedEarly: 1,
    evicted: 2,
    held: true,
  });
});

verifies('R-34').test('an idle server that answers no ping is evicted, a healthy one is kept', async () => {
  const clock = manualClock();
  await using factory = await testFactory({ clock, pool: { health_check: { interval: 10, timeout: 5 } } });
  const leases = [
    await factory.acquire(serverSpec('well')),
    await factory.acquire(serverSpec('mute', { args: ['--mute'] })),
  ];
  for (const lease of leases) await lease.release();
  await clock.advance(10_000);
  await until('the mute one ended', () => leases[1]?.value.pid === undefined);
  expect({ well: leases[0]?.value.pid !== undefined, stats: factory.stats() }).toEqual({
    well: true,
    stats: expect.objectContaining({ health_ok: 1, health_failed: 1 }),
  });
});

verifies('R-34').test('a stateful server is one process per lease and not revived', async () => {
  await using factory = await testFactory();
  const spec = serverSpec('state', { share: false });
  const [a, b] = await Promise.all([factory.acquire(spec), factory.acquire(spec)]);
  const apart = a.value.pid !== b.value.pid;
  const death = await codeOf(a.value.call('die', {}));
  const after = await codeOf(a.value.call('echo', { message: 'x' }));
  const other = await textOf(b.value, 'echo', { message: 'unharmed' });
  await b.release();
  expect({ apart, death, after, other, ended: b.value.pid }).toEqual({
    apart: true,
    death: 'mcp_server_gone',
    after: 'mcp_server_gone',
    other: 'unharmed',
    ended: undefined,
  });
});

verifies('R-35').test(
  'a server that dies under a call is started by the next one, and stays off after three deaths',
  async () => {
    const clock = manualClock();
    await using factory = await testFactory({ clock });
    const { value } = await factory.acquire(serverSpec('mortal'));
    const said: string[] = [];
    for (let death = 1; death <= 3; death += 1) {
      said.push(await codeOf(value.call('die', {})));
      said.push(
        await value.call('echo', { message: 'back' }).then(
          ({ text }) => text,
          (error) => error.code,
        ),
      );
    }
    const acquired = await codeOf(factory.acquire(serverSpec('mortal')));
    await factory.reload('mortal');
    const reloaded = await textOf(value, 'echo', { message: 'after reload' });
    expect({ said, acquired, reloaded, warnings: factory.warnings.length }).toEqual({
      said: ['mcp_server_gone', 'back', 'mcp_server_gone', 'back', 'mcp_server_gone', 'mcp_server_gone'],
      acquired: 'mcp_server_gone',
      reloaded: 'after reload',
      warnings: 3,
    });
  },
);

verifies('R-35').test('deaths more than a minute apart are forgiven', async () => {
  const clock = manualClock();
  await using factory = await testFactory({
    clock,
    pool: { cleanup_interval_seconds: 3600, health_check: { interval: 3600, timeout: 1 } },
  });
  const { value } = await factory.acquire(serverSpec('mortal'));
  for (let death = 1; death <= 4; death += 1) {
    await codeOf(value.call('die', {}));
    await clock.advance(31_000);
  }
  expect(await textOf(value, 'echo', { message: 'still' })).toBe('still');
});

test('a call that is aborted leaves the server as it is', async () => {
  await using factory = await testFactory();
  const { value } = await factory.acquire(serverSpec('fixture'));
  const { pid } = value;
  const caller = new AbortController();
  const hanging = codeOf(value.call('hang', {}, caller.signal));
  await sleep(0);
  caller.abort();
  expect({
    said: await hanging,
    echoed: await textOf(value, 'echo', { message: 'on' }),
    same: value.pid === pid,
  }).toEqual({
    said: 'cancelled',
    echoed: 'on',
    same: true,
  });
});

verifies('R-36').test('release, close and the death of a server each take its whole tree along', async () => {
  const nonces = { released: newNonce(), closed: newNonce(), died: newNonce() };
  const factory = await testFactory({ pool: { idle_timeout_seconds: 0 } });
  const [released, , died] = await Promise.all([
    factory.acquire(launchedSpec('released', nonces.released)),
    factory.acquire(launchedSpec('closed', nonces.closed)),
    factory.acquire(launchedSpec('died', nonces.died)),
  ]);
  const count = () => Object.values(nonces).map((nonce) => survivorsOf(nonce).length);
  await until('all have their siblings', () => count().every((siblings) => siblings === 2));
  await released.release();
  const afterRelease = survivorsOf(nonces.released).length;
  await codeOf(died.value.call('die', {}));
  await until('its siblings followed', () => survivorsOf(nonces.died).length === 0);
  await factory.close();
  expect({ afterRelease, after: count() }).toEqual({ afterRelease: 0, after: [0, 0, 0] });
});

verifies('R-37').test(
  'a reload ends what changed, keeps what did not, and takes nothing from its holders',
  async () => {
    const old = (name: string) => serverSpec(name, { env: { V: '1' } });
    const specs = new Map<string, McpServerSpec>([
      ['same', old('same')],
      ['changed', serverSpec('changed', { env: { V: '2' } })],
      ['held', serverSpec('held', { env: { V: '2' } })],
    ]);
    await using factory = await testFactory({ readSpecs: async () => specs });
    const [same, changed, held, removed] = await Promise.all(
      ['same', 'changed', 'held', 'removed'].map((name) => factory.acquire(old(name))),
    );
    const pid = same?.value.pid;
    await Promise.all([same, changed, removed].map((lease) => lease?.release()));
    await factory.reload();
    const alive = [same, changed, held, removed].map((lease) => lease?.value.pid !== undefined);
    const usable = held && (await textOf(held.value, 'echo', { message: 'mine' }));
    await held?.release();
    const again = await factory.acquire(old('same'));
    expect({ alive, usable, heldEnded: held?.value.pid, kept: again.value.pid === pid }).toEqual({
      alive: [true, false, true, false],
      usable: 'mine',
      heldEnded: undefined,
      kept: true,
    });
  },
);

test('a server that was closed has no process, also while its end has not been told', async () => {
  const none = () => Promise.reject(new Error('not asked'));
  const gone = new Promise<string>(() => {});
  const connection = { pid: 7, tools: () => [], call: none, ping: none, gone };
  const { admit } = approvalsIn(temporaryFolder());
  const connect = async () => ({ ...connection, close: async () => {} });
  const server = new Server(serverSpec('a'), { admit, connect, died: () => {}, isOff: () => false });
  await server.ensure({});
  const before = server.pid;
  await server.close();
  expect([before, server.pid]).toEqual([7, undefined]);
});

test('a closed factory starts nothing', async () => {
  const factory = await testFactory();
  const starting = codeOf(factory.acquire(serverSpec('late', { args: ['--silent'] })));
  await factory.close();
  expect([await starting, await codeOf(factory.acquire(serverSpec('later')))]).toEqual([
    'mcp_server_gone',
    'mcp_start_failed',
  ]);
});

verifies('R-151').test('a hundred requests over five servers find them warm but the first of each', async () => {
  await using factory = await testFactory();
  for (let n = 0; n < 100; n += 1) {
    const lease = await factory.acquire(serverSpec(`server-${(n * 7) % 5}`));
    await lease.release();
  }
  const { active_hit, idle_hit, miss, spawned } = factory.stats();
  expect({ rate: (active_hit + idle_hit) / 100, miss, spawned }).toEqual({ rate: 0.95, miss: 5, spawned: 5 });
});

test('the failure of a server says what it wrote to stderr, without its secrets', async () => {
  await using factory = await testFactory();
  const spec = serverSpec('broken', { args: ['--fail'], env: { TOKEN: 's3cret-token-value' } });
  const failure = await factory.acquire(spec).catch((error: Error) => error.message);
  expect(failure).toContain('cannot reach the database with [redacted]');
});

test('what a server offers is on the handle', async () => {
  await using factory = await testFactory();
  const { value } = await factory.acquire(serverSpec('fixture'));
  const names = value.tools.map(({ name }) => name);
  expect({ names, picture: await textOf(value, 'picture') }).toEqual({
    names: ['echo', 'count_calls', 'whoami', 'fail', 'picture', 'hang', 'die'],
    picture: '[image image/png, 6 bytes]\n[resource manual: file:///manual.md]\ninside',
  });
  expect(pidsNaming(SERVER).length).toBeGreaterThan(0);
});
