/**
 * node bench/context-index/main.ts [--files N] [REPOSITORY ...]
 * The figures of the code index, side by side with what others take on the same tree in the same run. Repositories are cloned
 * into a temporary folder; without any, one is generated. An absent peer is reported as absent.
 */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServerClient } from '../../test/fixtures/context/server-client.ts';
import { median, printRows, quantile, type Row, timed } from '../measure.ts';
import { type Corpus, makeCorpus } from './corpus.ts';
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
  const emptyNode = median(await times(5, () => spawnNode()));
  const [hash, scan] = [await readAndHash(corpus), await identifierScan(corpus)];
  const parse = await bareParse(corpus);
  const store = join(corpus.root, 'index/code.db');

  const first = new ServerClient({ worktree: corpus.checkout, store });
  const usable = await timed(() => first.call('index_code', { path: corpus.checkout }));
  const complete = usable + (await timed(() => first.call('index_code', { path: corpus.checkout, wait: 'complete' })));
  const rows: Row[] = [
    {
      what: 'cold, usable (C-123), against an identifier scan',
      ours: usable,
      theirs: scan,
      unit: 'ms',
      target: { most: 2.5 },
    },
    { what: 'cold, usable, against reading and hashing every file', ours: usable, theirs: hash, unit: 'ms' },
    {
      what: 'complete (C-124), against a bare parse',
      ours: complete,
      theirs: parse,
      unit: 'ms',
      target: { most: 1.5 },
    },
  ];
  if (has('ctags'))
    rows.push({ what: 'complete, against universal-ctags', ours: complete, theirs: await ctags(corpus), unit: 'ms' });
  rows.push(...(await queries(corpus, first)));
  rows.push(...(await changes(corpus, first)));
  rows.push({
    what: 'peak memory of the server (C-125)',
    ours: first.peakMb(),
    theirs: 256,
    unit: 'MB',
    target: { most: 1 },
  });
  await first.close();
  const size = statSync(store).size;
  rows.push({
    what: 'store against source (C-130)',
    ours: size / MIB,
    theirs: bytes / MIB,
    unit: 'MiB',
    target: { most: 2 },
  });
  rows.push(...(await secondWorktree(corpus, { store, complete, emptyNode })));
  return printRows(`figures of ${corpus.name}`, rows);
}

async function times(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const spent: number[] = [];
  for (let at = 0; at < count; at++) spent.push(await timed(work));
  return spent;
}

async function spawnNode(): Promise<void> {
  const { spawnSync } = await import('node:child_process');
  spawnSync(process.execPath, ['-e', '0']);
}

/** The sweep is the worktree's price, not the query's: an outline of a file, which needs none, stands beside it. */
async function queries(corpus: Corpus, client: ServerClient): Promise<Row[]> {
  const { symbols } = await client.call('find_symbols', { query: 'e', limit: 50 });
  const names = [...new Set(symbols.map(({ name }) => name))].slice(0, QUERIES);
  const file = symbols[0]?.location.file ?? corpus.files[0] ?? '';
  const sweep = median(await times(5, () => client.call('get_symbol', { name: 'noSuchNameAnywhere' })));
  const p95 = async (work: (name: string) => Promise<unknown>) => {
    const spent: number[] = [];
    for (const name of names) spent.push(await timed(() => work(name)));
    return Math.max(0.1, quantile(spent, 0.95) - sweep);
  };
  const outline = quantile(await times(QUERIES, () => client.call('get_file_outline', { file_path: file })), 0.95);
  const [word = 'e'] = names;
  const rg = has('rg') ? await ripgrep(corpus, word) : undefined;
  console.log(`sweep ${sweep.toFixed(1)} ms; rg -w ${rg === undefined ? 'absent' : `${rg.toFixed(1)} ms`}`);
  const first = await timed(() => client.call('explore_code', { question: `where is ${word} used` }));
  const second = await timed(() => client.call('explore_code', { question: `what calls ${names.at(-1)} and why` }));
  const map: Row = {
    what: 'repo map, second question (C-129), against the first',
    ours: second,
    theirs: first,
    unit: 'ms',
    target: { most: 0.1 },
  };
  if (rg === undefined) return [map];
  const compared: Row[] = [
    {
      what: 'get_symbol p95 (C-128), against rg -w',
      ours: await p95((name) => client.call('get_symbol', { name })),
      theirs: rg,
      unit: 'ms',
      target: { most: 0.1 },
    },
    {
      what: 'find_symbols p95 (C-128), against rg -w',
      ours: await p95((query) => client.call('find_symbols', { query })),
      theirs: rg,
      unit: 'ms',
      target: { most: 0.1 },
    },
    { what: 'file outline p95 (C-128), against rg -w', ours: outline, theirs: rg, unit: 'ms', target: { most: 0.1 } },
    {
      what: 'code_search p95 (C-128), against rg -w',
      ours: await p95((query) => client.call('code_search', { query })),
      theirs: rg,
      unit: 'ms',
      target: { most: 0.5 },
    },
  ];
  return [...compared, map, await completeness(corpus, client, names.slice(0, 10))];
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

async function changes(corpus: Corpus, client: ServerClient): Promise<Row[]> {
  const path = corpus.files.find((each) => /\.(ts|py|go)$/.test(each)) ?? '';
  const spent: number[] = [];
  for (let at = 0; at < 10; at++) {
    writeFileSync(join(corpus.checkout, path), `export function changed${at}() { return ${at}; }\n`.repeat(200));
    spent.push(await timed(() => client.call('get_file_outline', { file_path: path })));
  }
  corpus.git('checkout', '-q', '--', path);
  return [
    {
      what: 'one changed file, event to answer (C-122)',
      ours: median(spent),
      theirs: 50,
      unit: 'ms',
      target: { most: 1 },
    },
  ];
}

async function secondWorktree(
  corpus: Corpus,
  { store, complete, emptyNode }: { store: string; complete: number; emptyNode: number },
): Promise<Row[]> {
  const two = join(corpus.root, 'two');
  corpus.git('worktree', 'add', '-q', '-b', 'bench-two', two);
  const before = statSync(store).size;
  const client = new ServerClient({ worktree: two, store });
  await client.request('initialize', {});
  const answer = await client.call('index_code', { path: two, wait: 'complete' });
  await client.close();
  const grown = (statSync(store).size - before) / MIB;
  const file = corpus.files.find((each) => /\.(ts|py|go)$/.test(each)) ?? '';
  const warm = await times(3, async () => {
    const again = new ServerClient({ worktree: two, store });
    await again.call('get_file_outline', { file_path: file });
    await again.close();
  });
  return [
    {
      what: 'second worktree (C-120), against the first',
      ours: answer.duration_ms,
      theirs: complete,
      unit: 'ms',
      target: { most: 0.01 },
    },
    {
      what: 'second worktree, files extracted',
      ours: answer.files_indexed - answer.reused,
      theirs: 1,
      unit: '',
      target: { most: 0 },
    },
    { what: 'second worktree, growth of the store', ours: grown, theirs: 1, unit: 'MiB', target: { most: 1 } },
    {
      what: 'warm start to the first outline (C-121), against node -e 0',
      ours: median(warm),
      theirs: emptyNode,
      unit: 'ms',
      target: { most: 8 },
    },
  ];
}
