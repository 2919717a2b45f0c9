import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { LastingServer } from '../../../bench/context-index/lasting-server.ts';
import { indexWithin, ServerClient } from '../../../test/support/context/server-client.ts';
import { makeRepository } from '../../../test/support/repository.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { watchCeiling } from './ceiling.ts';
import { RecentWatches } from './recent-watches.ts';

verifies('C-015').test('what is skipped is counted and named, and a name in it is no proof of absence', async () => {
  const repository = makeRepository({
    'src/a.ts': 'export const fine = 1;\n',
    'binary.dat': 'a\0b',
    'big.txt': 'word '.repeat(2 * 1024 * 1024),
    'src/long.ts': `export const wide = "${'x'.repeat(70_000)}";\n`,
  });
  const client = new ServerClient({ worktree: repository.checkout, store: join(repository.root, 'index/code.db') });
  onTestFinished(async () => {
    await client.close();
  });
  const indexed = await client.call('index_code', { path: repository.checkout, wait: 'complete' });
  const outline = await client.call('get_file_outline', { file_path: 'src/long.ts' });
  const wide = await client.call('get_symbol', { name: 'wide' });
  const found = await client.call('get_symbol_references', { name: 'wide' });
  expect([indexed.errors, indexed.basis.skipped, indexed.status]).toEqual([['big.txt: too_large'], 1, 'success']);
  expect([outline.symbols, outline.basis.skipped, outline.basis.complete]).toEqual([[], 1, false]);
  expect([wide.symbols, wide.basis.complete]).toEqual([[], false]);
  expect(found.references.map(({ confidence, location }) => [location.file, confidence])).toEqual([
    ['src/long.ts', 'lexical'],
  ]);
});

verifies('C-078').test('a server above its ceiling commits, exits 75 and starts warm', async () => {
  const repository = makeRepository({ 'src/a.ts': 'export const fine = 1;\n' });
  const at = { worktree: repository.checkout, store: join(repository.root, 'index/code.db') };
  expect(new Set(await indexWithin({ ...at, maxMemoryMb: 40 }))).toEqual(new Set([75]));
  const next = new ServerClient(at);
  const { reused, files_indexed } = await next.call('index_code', { path: repository.checkout, wait: 'complete' });
  await next.close();
  expect([reused, files_indexed]).toEqual([1, 1]);
});

verifies('C-078').test(
  'what measures a server goes on when it ends at its ceiling: the question is asked again of the next one',
  async () => {
    const repository = makeRepository({ 'src/a.ts': 'export const fine = 1;\n' });
    const at = { worktree: repository.checkout, store: join(repository.root, 'index/code.db') };
    const server = new LastingServer({ ...at, maxMemoryMb: 40 });
    onTestFinished(() => server.close());
    const names: string[] = [];
    while (server.lives < 3) {
      const asked = Array.from({ length: 3 }, () => server.call('get_symbol', { name: 'fine', require: 'complete' }));
      for (const { symbols } of await Promise.all(asked)) names.push(...symbols.map(({ id }) => id));
    }
    expect(new Set(names)).toEqual(new Set(['src/a.ts#fine:1']));
    expect([server.lives, server.peakMb() > 40, server.cpuMs() > 0]).toEqual([3, true, true]);
  },
  300_000,
);

verifies('C-078').test(
  'a worn parser goes at 75 % of the ceiling, caches at 85 %, the map at 95 %, and none again at once; what nobody waits for ends sooner',
  async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const [ease, rest] = [vi.fn(), vi.fn()];
    const shrink = vi.fn(async (_what: 'cheap' | 'all') => {});
    const giveUp = vi.fn();
    const calls = () => [ease, rest, shrink, giveUp].map(({ mock }) => mock.calls.length);
    let used = 80;
    const stop = watchCeiling({ maxMb: 100, ease, rest, shrink, giveUp, rss: () => used * 1024 * 1024 });
    onTestFinished(stop);
    await vi.advanceTimersByTimeAsync(200);
    expect(calls()).toEqual([1, 1, 0, 0]);
    used = 90;
    await vi.advanceTimersByTimeAsync(200);
    expect(calls()).toEqual([1, 1, 1, 0]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(calls()).toEqual([1, 2, 1, 0]);
    used = 97; // for longer than a look: garbage alone is collected by then
    await vi.advanceTimersByTimeAsync(400);
    expect(shrink.mock.calls).toEqual([['cheap'], ['all']]);
  },
);

function folderWith(names: readonly string[]): string {
  const root = temporaryFolder();
  for (const name of names) {
    mkdirSync(join(root, name));
    writeFileSync(join(root, name, 'a.ts'), '1\n');
  }
  return root;
}

verifies('C-035').test('folders that changed lately are watched, one watch each, up to the limit', async () => {
  const names = ['one', 'two', 'three', 'old'];
  const root = folderWith(names);
  const changed: string[] = [];
  const watches = new RecentWatches({ root, most: 2, onChange: (paths) => changed.push(...paths) });
  onTestFinished(() => watches.close());
  const now = Date.now();
  const file = (name: string, mtimeMs: number) => ({ path: `${name}/a.ts`, stamp: { mtimeMs } });
  watches.follow([
    file('one', now),
    file('one', now - 5),
    file('two', now - 1),
    file('three', now - 2),
    file('old', 0),
  ]);
  expect([watches.count, watches.state]).toEqual([2, 'partial']);
  appendFileSync(join(root, 'one/a.ts'), '2\n');
  await expect.poll(() => changed).toContain('one/a.ts');
  watches.follow([file('two', now)]);
  expect([watches.count, watches.state]).toEqual([1, 'on']);
  watches.close();
  expect(watches.count).toBe(0);
});

/** A user namespace has limits of its own, which whoever makes it may lower. */
const NO_WATCHES = ['unshare', '-Ur', 'sh', '-c', 'echo 0 > /proc/sys/user/max_inotify_watches; exec "$@"', 'sh'];
const [unshare = '', ...lowered] = NO_WATCHES;
const canLower = spawnSync(unshare, [...lowered, 'true']).status === 0;

verifies('C-035')
  .needs(canLower, 'user namespaces are not allowed here')
  .test('where the kernel has no watch left, the answer says so and nothing else changes', async () => {
    const repository = makeRepository({ 'src/a.ts': 'export const fine = 1;\n' });
    const store = join(repository.root, 'index/code.db');
    const client = new ServerClient({ worktree: repository.checkout, store, within: NO_WATCHES });
    onTestFinished(async () => {
      await client.close();
    });
    const before = await client.call('get_symbol', { name: 'fine', require: 'complete' });
    repository.write('src/a.ts', 'export const finer = 1;\n');
    const after = await client.call('get_symbol', { name: 'finer', require: 'complete' });
    expect([before, after].map(({ symbols, basis }) => [symbols.length, basis.watch, basis.complete])).toEqual([
      [1, 'off', true],
      [1, 'off', true],
    ]);
  });
