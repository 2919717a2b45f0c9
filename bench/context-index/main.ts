/**
 * node bench/context-index/main.ts [--files N] [REPOSITORY ...]
 * The figures of the code index, side by side with what others take on the same tree in the same run. Repositories are cloned
 * into a temporary folder; without any, one is generated. An absent peer is reported as absent.
 */
import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServerClient } from '../../test/fixtures/context/server-client.ts';
import { printRows, type Row } from '../measure.ts';
import { type Corpus, makeCorpus } from './corpus.ts';
import { cpuMs, meanCpu } from './cpu.ts';
import { bareParse, ctags, has, identifierScan, readAndHash, ripgrep, ripgrepHits, sourceBytes } from './peers.ts';

const { values, positionals } = parseArgs({ options: { files: { type: 'string' } }, allowPositionals: true });
const MIB = 1024 * 1024;
const QUERIES = 40;

let isMet = true;
const sources =
  positionals.length > 0 ? positionals.map((path) => ({ path })) : [{ files: Number(values.files ?? 3_000) }];
for (const source of sources) {
  const corpus = makeCorpus(source);
  try {
    isMet = (await measure(corpus)) && isMet;
  } finally {
    corpus.remove();
  }
}
console.log(isMet ? '\nall figures met' : '\na figure was missed: see ✗');
process.exitCode = isMet ? 0 : 1;

async function measure(corpus: Corpus): Promise<boolean> {
  const bytes = sourceBytes(corpus);
  console.log(`\n== ${corpus.name}: ${corpus.files.length} files, ${(bytes / MIB).toFixed(1)} MiB of text`);
  console.log(
    `load ${loadavg()
      .map((each) => each.toFixed(1))
      .join(' ')} on ${availableParallelism()} cores; times are of the processor`,
  );
  const [hash, scan] = [await readAndHash(corpus), await identifierScan(corpus)];
  const parse = bareParse(corpus);
  const store = join(corpus.root, 'index/code.db');
  const start = await startCost(corpus, store);
  const { client, pid } = await serve(corpus.checkout, store);
  const index = (wait: 'usable' | 'complete') => client.call('index_code', { path: corpus.checkout, wait });
  const usable = (await meanCpu(pid, 1, () => index('usable'))) - start;
  const complete = usable + (await meanCpu(pid, 1, () => index('complete')));
  const rows: Row[] = [
    row('cold, usable (C-123), against an identifier scan', [usable, scan], 2.5),
    row('cold, usable, against reading and hashing every file', [usable, hash]),
    row('complete (C-124), against a bare parse', [complete, parse], 1.5),
  ];
  if (has('ctags')) rows.push(row('complete, against universal-ctags', [complete, await ctags(corpus)]));
  if (!has('codegraph')) console.log('codegraph: absent');
  rows.push(...(await queries(corpus, client)));
  rows.push(await changes(corpus, client));
  rows.push({ ...row('peak memory of the server (C-125)', [client.peakMb(), 256], 1), unit: 'MB' });
  await client.close();
  const size = statSync(store).size;
  rows.push({ ...row('store against source (C-130)', [size / MIB, bytes / MIB], 2), unit: 'MiB' });
  rows.push(...(await secondWorktree(corpus, { store, complete, start })));
  console.log(`start of a server, its modules and git included, is apart: ${start.toFixed(0)} ms`);
  return printRows(`figures of ${corpus.name}`, rows);
}

function row(what: string, [ours, theirs]: [number, number], most?: number): Row {
  return { what, ours, theirs, unit: 'ms', ...(most !== undefined && { target: { most } }) };
}

/** What any first answer takes, whatever the repository: of one with a single file, by a server whose modules are compiled. */
async function startCost({ root }: Corpus, store: string): Promise<number> {
  const empty = join(root, 'empty');
  spawnSync('git', ['init', '-q', empty]);
  writeFileSync(join(empty, 'a.txt'), 'a\n');
  const once = async () => {
    const { client, pid } = await serve(empty, `${store}.empty`);
    const spent = await meanCpu(pid, 1, () => client.call('index_code', { path: empty }));
    await client.close();
    return spent;
  };
  await once(); // compiles
  return once();
}

async function serve(worktree: string, store: string) {
  const client = new ServerClient({ worktree, store });
  await client.request('initialize', {});
  return { client, pid: client.child.pid ?? 0 };
}

/** The sweep is the worktree's price, not the query's: an outline of a file, which needs none, stands beside it. */
async function queries(corpus: Corpus, client: ServerClient): Promise<Row[]> {
  const { symbols } = await client.call('find_symbols', { query: 'e', limit: 50 });
  const names = [...new Set(symbols.map(({ name }) => name))].slice(0, QUERIES);
  const file = symbols[0]?.location.file ?? corpus.files[0] ?? '';
  const { pid = 0 } = client.child;
  const mean = (work: (name: string) => Promise<unknown>) =>
    meanCpu(pid, QUERIES, (at) => work(names[at % names.length] ?? ''));
  const sweep = await mean(() => client.call('get_symbol', { name: 'noSuchNameAnywhere' }));
  const outline = await mean(() => client.call('get_file_outline', { file_path: file }));
  const [word = 'e'] = names;
  const rg = has('rg') ? await ripgrep(corpus, word) : undefined;
  console.log(`sweep ${sweep.toFixed(1)} ms; rg -w ${rg === undefined ? 'absent' : `${rg.toFixed(1)} ms`}`);
  const first = await meanCpu(pid, 1, () => client.call('explore_code', { question: `where is ${word} used` }));
  const second = await mean((name) => client.call('explore_code', { question: `what calls ${name} and why` }));
  const map = row('repo map, second question (C-129), against the first', [second, first], 0.1);
  const hits = rg === undefined ? [] : [await completeness(corpus, client, names.slice(0, 10))];
  if (rg === undefined) return [map];
  const after = async (work: (name: string) => Promise<unknown>) => Math.max(0.1, (await mean(work)) - sweep);
  return [
    row('get_symbol (C-128), against rg -w', [await after((name) => client.call('get_symbol', { name })), rg], 0.1),
    row(
      'find_symbols (C-128), against rg -w',
      [await after((query) => client.call('find_symbols', { query })), rg],
      0.1,
    ),
    row('file outline (C-128), against rg -w', [outline, rg], 0.1),
    row('code_search (C-128), against rg -w', [await after((query) => client.call('code_search', { query })), rg], 0.5),
    ...[map, ...hits],
  ];
}

/** Every line ripgrep finds must be among ours, text included (C-127). */
async function completeness(corpus: Corpus, client: ServerClient, names: readonly string[]): Promise<Row> {
  let [found, wanted] = [0, 0];
  for (const name of names) {
    const ours = new Set<string>();
    let page = await client.call('get_symbol_references', { name, include_text: true, limit: 2_000 });
    for (;;) {
      for (const { location } of page.references) ours.add(`${location.file}:${location.start_line}`);
      if (page.next_cursor === undefined) break;
      page = await client.call('get_symbol_references', {
        name,
        include_text: true,
        limit: 2_000,
        cursor: page.next_cursor,
      });
    }
    const theirs = ripgrepHits(corpus, name);
    wanted += theirs.size;
    for (const hit of theirs) if (ours.has(hit)) found += 1;
  }
  return {
    what: 'lines of rg -w that references return (C-127)',
    ours: found,
    theirs: wanted,
    unit: '',
    target: { least: 1 },
  };
}

async function changes(corpus: Corpus, client: ServerClient): Promise<Row> {
  const path = corpus.files.find((each) => /\.(ts|py|go)$/.test(each)) ?? '';
  const spent = await meanCpu(client.child.pid ?? 0, 20, async (at) => {
    writeFileSync(join(corpus.checkout, path), `export function changed${at}() { return ${at}; }\n`.repeat(200));
    await client.call('get_file_outline', { file_path: path });
  });
  corpus.git('checkout', '-q', '--', path);
  return row('one changed file, event to answer (C-122)', [spent, 50], 1);
}

async function secondWorktree(
  corpus: Corpus,
  { store, complete, start }: { store: string; complete: number; start: number },
): Promise<Row[]> {
  const two = join(corpus.root, 'two');
  corpus.git('worktree', 'add', '-q', '-b', 'bench-two', two);
  const before = statSync(store).size;
  const { client, pid } = await serve(two, store);
  let extracted = 0;
  const spent = await meanCpu(pid, 1, async () => {
    const { files_indexed, reused } = await client.call('index_code', { path: two, wait: 'complete' });
    extracted = files_indexed - reused;
  });
  await client.close();
  const grown = (statSync(store).size - before) / MIB;
  const file = corpus.files.find((each) => /\.(ts|py|go)$/.test(each)) ?? '';
  const emptyNode = await meanCpu(process.pid, 5, () => void spawnSync(process.execPath, ['-e', '0']));
  let warm = 0;
  for (let at = 0; at < 3; at++) {
    const again = new ServerClient({ worktree: two, store });
    await again.call('get_file_outline', { file_path: file });
    warm += cpuMs(again.child.pid ?? 0) / 3;
    await again.close();
  }
  return [
    row('second worktree (C-120), against the first', [Math.max(1, spent - start), complete], 0.01),
    { ...row('second worktree, files extracted', [extracted, 1], 0), unit: '' },
    { ...row('second worktree, growth of the store', [grown, 1], 1), unit: 'MiB' },
    row('warm start to the first outline (C-121), against node -e 0', [warm, emptyNode], 8),
  ];
}
