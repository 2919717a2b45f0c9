import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished } from 'vitest';
import { codeTools } from '../../src/protocol/code.ts';
import { openSqlite } from '../../src/store/driver.ts';
import { ServerClient } from '../support/context/server-client.ts';
import { makeRepository, type TestRepository } from '../support/repository.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

function serve(repository: TestRepository, worktree = repository.checkout): ServerClient {
  const client = new ServerClient({ worktree, store: join(repository.root, 'index/code.db') });
  onTestFinished(async () => {
    await client.close();
  });
  return client;
}

/** A generator whose run can be repeated. */
function lots(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

const NAMES = Array.from({ length: 8 }, (_, at) => `name${at}x`);
const SEED = Number(process.env.REEF_SEED ?? 7);

verifies('C-033').test(
  'a thousand random edits, each followed by a question: no answer is stale',
  async () => {
    const paths = Array.from({ length: 12 }, (_, at) => `src/d${at % 3}/f${at}.ts`);
    const text = (name: string) => `export function ${name}() {}\n`;
    const repository = makeRepository(Object.fromEntries(paths.map((path) => [path, text('name0x')])));
    const client = serve(repository);
    await client.call('index_code', { path: repository.checkout });
    const pick = lots(SEED);
    const truth = new Map(paths.map((path) => [path, 'name0x']));
    const past = new Date('2020-01-01T00:00:00Z');
    const edit = (path: string) => {
      const file = join(repository.checkout, path);
      const kind = pick(10);
      if (kind === 0) {
        rmSync(file, { force: true });
        truth.delete(path);
        return;
      }
      const name = NAMES[pick(NAMES.length)] as string;
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, text(name)); // always of the same size
      if (kind < 4) utimesSync(file, past, past);
      truth.set(path, name);
      if (kind === 4) repository.plain('add', '-A');
    };
    const stale: string[] = [];
    for (let round = 0; round < 1_000; round++) {
      edit(paths[pick(paths.length)] as string);
      const name = NAMES[pick(NAMES.length)] as string;
      const expected = [...truth]
        .filter(([, own]) => own === name)
        .map(([path]) => path)
        .sort();
      const answer = await client.call('get_symbol', { name, require: 'complete' });
      const found = answer.symbols.map(({ location }) => location.file).sort();
      if (JSON.stringify(found) !== JSON.stringify(expected))
        stale.push(`${round} ${name}: ${found} and not ${expected}`);
    }
    expect(stale).toEqual([]);
  },
  600_000,
);

interface Progress {
  facts: number;
  /** Facts are numbered as they are written: more numbers than facts, and one was made twice. */
  written: number;
  structures: number;
  holder: number;
}

function progressOf(store: string): Progress {
  const database = openSqlite(store, 'read');
  const sums =
    'SELECT count(*) AS facts, coalesce(max(id), 0) AS written, coalesce(sum(stage = 2), 0) AS structures FROM fact';
  const row = database.prepare(sums).get() as Omit<Progress, 'holder'>;
  const lease = database.prepare('SELECT owner FROM lease WHERE until > ?').get(Date.now()) as
    | { owner: string }
    | undefined;
  database.close();
  return { ...row, holder: Number(lease?.owner.split('-')[0] ?? 0) };
}

/** Nothing while the first server still makes the store. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

async function untilProgress(store: string, isMet: (progress: Progress) => boolean): Promise<Progress> {
  const look = () => (existsSync(store) ? attempt(() => progressOf(store)) : undefined);
  return (await eventually(look, (progress) => progress !== undefined && isMet(progress))) as Progress;
}

function manyWorktrees(files: number, count: number) {
  const text = (at: number) => `${`export function value${at}(a: number) { return a * ${at}; }\n`.repeat(20)}`;
  const repository = makeRepository(
    Object.fromEntries(Array.from({ length: files }, (_, at) => [`src/f${at}.ts`, text(at)])),
  );
  const worktrees = Array.from({ length: count }, (_, at) => join(repository.root, `w${at}`));
  for (const [at, path] of worktrees.entries()) repository.plain('worktree', 'add', '-q', '-b', `w${at}`, path);
  const clients = worktrees.map((path) => serve(repository, path));
  const index = (at: number) =>
    (clients[at] as ServerClient).call('index_code', { path: worktrees[at] as string, wait: 'complete' });
  return { clients, index, store: join(repository.root, 'index/code.db') };
}

verifies('C-021').test(
  'eight servers of one cold repository extract words and structure of every blob once',
  async () => {
    const { clients, index, store } = manyWorktrees(200, 8);
    const answers = await Promise.all(clients.map((_, at) => index(at)));
    expect(answers.map(({ status, pending }) => [status, pending])).toEqual(Array(8).fill(['success', 0]));
    const { facts, written, structures } = progressOf(store);
    expect({ facts, written, structures }).toEqual({ facts: 400, written: 400, structures: 200 });
  },
  300_000,
);

verifies('C-021').test(
  'when the server that holds the lease is killed, another goes on where it was',
  async () => {
    const { clients, index, store } = manyWorktrees(1_500, 3);
    const running = clients.map((_, at) => index(at).catch(() => undefined));
    const { holder, structures } = await untilProgress(store, (now) => now.structures > 50 && now.holder > 0);
    expect(structures).toBeLessThan(1_500);
    const killed = clients.findIndex(({ child }) => child.pid === holder);
    clients[killed]?.child.kill('SIGKILL');
    const next = await untilProgress(store, (now) => now.holder !== holder && now.holder > 0);
    expect(clients.map(({ child }) => child.pid)).toContain(next.holder);
    const answers = await Promise.all(running);
    const rest = answers.filter((_, at) => at !== killed).map((answer) => answer?.status);
    expect([rest, progressOf(store).structures]).toEqual([['success', 'success'], 1_500]);
  },
  300_000,
);

const HOSTILE: Record<string, string | Uint8Array> = {
  'multibyte.ts': 'const größe𝒳 = "日本語";\n'.repeat(200),
  'nul.py': Buffer.from('def a():\n  pass\n\0\0\0'),
  'surrogate.js': Buffer.from([0x63, 0x20, 0xed, 0xa0, 0x80, 0x0a, 0xff, 0xfe]),
  'long-line.go': `package a\nvar x = "${'y'.repeat(1024 * 1024)}"\n`,
  'deep.c': `int a() { return ${'('.repeat(10_000)}1${')'.repeat(10_000)}; }\n`,
  'deep.json': '['.repeat(10_000),
  'empty.rs': '',
  'half.java': 'class A { void f( { "',
};

verifies('C-054').test(
  'ten thousand calls with anything for arguments, on hostile files, leave a server answering',
  async () => {
    const repository = makeRepository({ 'src/ok.ts': 'export function fine() {}\n' });
    for (const [path, content] of Object.entries(HOSTILE)) repository.write(path, content);
    const client = serve(repository);
    await client.call('index_code', { path: repository.checkout, wait: 'complete' });
    const fields = fc.constantFrom(
      'name',
      'query',
      'file_path',
      'directory_path',
      'question',
      'files',
      'limit',
      'cursor',
      'line',
      'glob',
      'path',
      'depth',
      'includes',
      'budget_tokens',
    );
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.constantFrom(
        '\ud800',
        'fine',
        'größe𝒳',
        '(',
        '[a-',
        '**/*',
        '../..',
        'deep.c',
        '.',
        '',
        'src/ok.ts',
        '\0',
        '"',
        'a'.repeat(900),
      ),
      fc.integer(),
      fc.jsonValue({ maxDepth: 3 }),
      fc.array(fc.constantFrom('src/ok.ts', 'deep.c', '../x', '')),
    );
    const args = fc.dictionary(fields, value, { maxKeys: 4 });
    const tool = fc.constantFrom(...Object.keys(codeTools).filter((name) => name !== 'index_code'), 'no_such_tool');
    const calls = fc.sample(fc.tuple(tool, args), { numRuns: 10_000, seed: SEED });
    for (let at = 0; at < calls.length; at += 50) {
      const some = calls.slice(at, at + 50);
      await Promise.all(some.map(([name, given]) => client.request('tools/call', { name, arguments: given })));
      client.raw(`${['not json', '{}', '[1', '{"jsonrpc":"2.0","id":{}}', '\ud800'][at % 5]}\n`);
    }
    const { symbols } = await client.call('get_symbol', { name: 'fine' });
    expect(symbols.map(({ id }) => id)).toEqual(['src/ok.ts#fine:1']);
    expect(client.child.exitCode).toBeNull();
  },
  600_000,
);
