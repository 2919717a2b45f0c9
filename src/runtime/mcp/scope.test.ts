import { expect, test } from 'vitest';
import { newNonce, survivorsOf } from '../../../test/support/programs.ts';
import { launchedSpec, SERVER, serverSpec, testFactory } from '../../../test/support/runtime/mcp.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { acquireRuntime, releaseRuntime } from './scope.ts';

verifies('D14', 'R-35').test(
  'a server that fails is noted with one warning, and the rest of the scope works',
  async () => {
    await using factory = await testFactory();
    const warned: string[] = [];
    const specs = [serverSpec('broken', { args: ['--fail'] }), serverSpec('b'), serverSpec('a')];
    const runtime = await acquireRuntime(factory, specs, { warn: ({ code }) => warned.push(code) });
    const echoed = await runtime.servers.get('a')?.value.call('echo', { message: 'on' });
    expect({
      servers: [...runtime.servers.keys()],
      unavailable: [...runtime.unavailable].map(([name, { code }]) => [name, code]),
      warned,
      echoed: echoed?.text,
    }).toEqual({
      servers: ['b', 'a'],
      unavailable: [['broken', 'mcp_start_failed']],
      warned: ['mcp_start_failed'],
      echoed: 'on',
    });
    // The known-bad twin: all or nothing.
    const allOrNothing = Promise.all(specs.map((spec) => factory.acquire(spec)));
    await expect(allOrNothing).rejects.toMatchObject({ code: 'mcp_start_failed' });
  },
);

verifies('R-35').test(
  'without a required server there is no scope, and nothing that was started for it is held',
  async () => {
    await using factory = await testFactory({ pool: { idle_timeout_seconds: 0 } });
    const nonces = [newNonce(), newNonce()];
    const failure = await acquireRuntime(factory, [
      ...nonces.map((nonce, n) => launchedSpec(`good-${n}`, nonce)),
      serverSpec('needed', { args: ['--fail'], required: true }),
    ]).catch((error) => error.code);
    await until('nothing is left', () => nonces.every((nonce) => survivorsOf(nonce).length === 0));
    expect(failure).toBe('mcp_start_failed');
  },
);

verifies('R-122').test(
  'four transitions to different servers go on side by side: each server waits for the other three',
  async () => {
    const folder = temporaryFolder();
    await using factory = await testFactory();
    const line = 'touch "$0/$1"; shift; until [ $(ls "$0" | wc -l) -eq 4 ]; do sleep 0.02; done; exec "$@"';
    const spec = (name: string) =>
      serverSpec(name, { command: '/bin/sh', args: ['-c', line, folder, name, process.execPath, SERVER] });
    const names = ['github', 'jira', 'slack', 'files'];
    const scopes = await Promise.all(names.map((name) => acquireRuntime(factory, [spec(name)])));
    expect({ servers: scopes.map(({ servers }) => [...servers.keys()]), spawned: factory.stats().spawned }).toEqual({
      servers: names.map((name) => [name]),
      spawned: 4,
    });
  },
);

test('an abort of a transition releases what it had, and says that it was cancelled', async () => {
  await using factory = await testFactory({ pool: { idle_timeout_seconds: 0 } });
  const nonce = newNonce();
  const transition = new AbortController();
  const acquiring = acquireRuntime(factory, [launchedSpec('good', nonce), serverSpec('slow', { args: ['--silent'] })], {
    signal: transition.signal,
  }).catch((error) => error.code);
  await until('one stands', () => survivorsOf(nonce).length === 2);
  transition.abort();
  const said = await acquiring;
  await until('nothing is left', () => survivorsOf(nonce).length === 0);
  expect(said).toBe('cancelled');
});

verifies('R-132').test(
  'two scopes have each only their own servers, and share the process of one they both name',
  async () => {
    await using factory = await testFactory();
    const parent = await acquireRuntime(factory, [serverSpec('github'), serverSpec('common')]);
    const children = await Promise.all([
      acquireRuntime(factory, [serverSpec('jira'), serverSpec('common')]),
      acquireRuntime(factory, [serverSpec('jira')]),
    ]);
    const scopes = [parent, ...children];
    const pid = (index: number, name: string) => scopes[index]?.servers.get(name)?.value.pid;
    await Promise.all(children.map(releaseRuntime));
    const still = await parent.servers.get('common')?.value.call('echo', { message: 'still here' });
    expect({
      names: scopes.map(({ servers }) => [...servers.keys()]),
      shared: pid(0, 'common') === pid(1, 'common') && pid(1, 'jira') === pid(2, 'jira'),
      still: still?.text,
      spawned: factory.stats().spawned,
    }).toEqual({
      names: [['github', 'common'], ['jira', 'common'], ['jira']],
      shared: true,
      still: 'still here',
      spawned: 3,
    });
  },
);
