import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { indexWithin, ServerClient } from '../../../test/support/context/server-client.ts';
import { textOf } from '../../../test/support/programs.ts';
import { makeRepository, type TestRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { openSqlite } from '../../store/driver.ts';
import { ownServer } from '../manager/server-command.ts';

vi.setConfig({ testTimeout: 180_000 }); // servers are started several times, and looked at for some seconds

const FILES = Object.fromEntries(
  Array.from({ length: 150 }, (_, at) => [`src/f${at}.ts`, `export function name${at}() {\n  return ${at};\n}\n`]),
);

function isGone({ child }: ServerClient): boolean {
  return child.exitCode !== null;
}

function residentMb({ child }: ServerClient): number {
  const [, kib = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** Threads that parse, as the kernel numbers them; none of a server that has ended. */
function parsers({ child }: ServerClient): string[] {
  const tasks = `/proc/${child.pid}/task`;
  try {
    return readdirSync(tasks).filter((id) => textOf(join(tasks, id, 'comm')).startsWith('WorkerThread'));
  } catch {
    return [];
  }
}

verifies('C-078').test('the heap of a server is bounded by its ceiling, in the process itself', async () => {
  const repository = makeRepository({ 'src/a.ts': 'export const fine = 1;\n' });
  const client = new ServerClient({
    ...{ worktree: repository.checkout, store: join(repository.root, 'index/code.db') },
    maxMemoryMb: 512,
  });
  onTestFinished(async () => void (await client.close()));
  await client.call('get_symbol', { name: 'fine', require: 'complete' });
  const nodeFlags = (maxMb: number) => ownServer({ storeOf: () => '', env: {} }).args('', maxMb);
  const heap = (flags: readonly string[]) => Number(/--max-old-space-size=(\d+)/.exec(flags.join(' '))?.[1]);
  const given = readFileSync(`/proc/${client.child.pid}/cmdline`, 'utf8').split('\0');
  expect(heap(given)).toBe(heap(nodeFlags(512)));
  for (const ceiling of [160, 256, 512, 2_048]) expect(heap(nodeFlags(ceiling))).toBeLessThan(ceiling / 2);
  expect(heap(nodeFlags(2_048))).toBeGreaterThan(heap(nodeFlags(256)));
});

verifies('C-125', 'C-078').test(
  'who asks again and again for a name that stands everywhere, gets answers from the same server',
  async () => {
    const line = `${'e=f(e,e,e);'.repeat(5)}\n`;
    const bundle = (at: number) => [`out/bundle${at}.js`, `// ${at}\n${line.repeat(3_000)}`];
    const repository = makeRepository(Object.fromEntries(Array.from({ length: 10 }, (_, at) => bundle(at))));
    const client = new ServerClient({ worktree: repository.checkout, store: join(repository.root, 'index/code.db') });
    onTestFinished(async () => void (await client.close()));
    await client.call('index_code', { path: repository.checkout, wait: 'usable' });
    for (let turn = 0; turn < 4; turn++) {
      const [first, second] = await Promise.all([0, 1].map(() => client.call('get_symbol_references', { name: 'e' })));
      expect([first?.total_count, second?.total_count]).toEqual([600_000, 600_000]);
    }
    expect(isGone(client)).toBe(false);
  },
);

/** Notes every parser a server ever has, until the test ends. */
function notedParsers(client: ServerClient): { hasLost(): boolean } {
  const seen = new Set<string>();
  const look = () => {
    const now = parsers(client);
    for (const id of now) seen.add(id);
    return now;
  };
  const timer = setInterval(look, 20);
  onTestFinished(() => clearInterval(timer));
  return {
    hasLost() {
      const now = look();
      return [...seen].some((id) => !now.includes(id));
    },
  };
}

/** A server whose memory lies below its ceiling by less than 15 %: what that is, is known only when it runs. */
async function nearCeiling(repository: TestRepository) {
  const at = { worktree: repository.checkout, store: join(repository.root, 'index/code.db') };
  const ample = new ServerClient(at);
  await ample.call('index_code', { path: at.worktree, wait: 'complete' });
  await ample.close();
  for (let maxMemoryMb = 256, tries = 1; tries <= 30; tries++) {
    const client = new ServerClient({ ...at, maxMemoryMb });
    const noted = notedParsers(client);
    repository.write('src/f0.ts', `export function try${tries}() {}\n`);
    await client.call('get_file_outline', { file_path: 'src/f0.ts' });
    const used = residentMb(client);
    if (used > 0.87 * maxMemoryMb && used < 0.95 * maxMemoryMb) return { client, noted };
    maxMemoryMb = Math.round(used / 0.9);
    await client.close();
  }
  throw new Error('no ceiling lies just above what a server needs');
}

verifies('C-078').test(
  'near its ceiling a server lets its parser go and goes on with another, its answers the same',
  async () => {
    const repository = makeRepository(FILES);
    const { client, noted } = await nearCeiling(repository);
    onTestFinished(async () => void (await client.close()));
    await vi.waitFor(() => expect(noted.hasLost()).toBe(true), { timeout: 60_000, interval: 50 });
    repository.write('src/f0.ts', 'export function another() {}\n');
    const symbols = async (name: string) =>
      (await client.call('get_symbol', { name, require: 'complete' })).symbols.map(({ id }) => id);
    const found = [await symbols('name0'), await symbols('another'), await symbols('name7')];
    expect([found, isGone(client)]).toEqual([[[], ['src/f0.ts#another:1'], ['src/f7.ts#name7:1']], false]);
  },
);

function factsIn(store: string): unknown[] {
  const database = openSqlite(store, 'read');
  try {
    return database.prepare('SELECT stage, status, count(*) AS facts FROM fact GROUP BY stage, status').all();
  } finally {
    database.close();
  }
}

verifies('C-078').test('however small its ceiling, a server drops no fact to fit below it', async () => {
  const repository = makeRepository(FILES);
  const worktree = repository.checkout;
  const [tight, ample] = ['tight/code.db', 'ample/code.db'].map((name) => join(repository.root, name)) as [
    string,
    string,
  ];
  const codes = await indexWithin({ worktree, store: tight, maxMemoryMb: 40 });
  const client = new ServerClient({ worktree, store: ample });
  await client.call('index_code', { path: worktree, wait: 'complete' });
  await client.close();
  expect([new Set(codes), factsIn(tight)]).toEqual([new Set([75]), factsIn(ample)]);
});
