import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CodeSymbol } from '../../src/protocol/code.ts';
import { quantile, type Row, timed } from '../measure.ts';
import { type Corpus, parsedFile } from './corpus.ts';
import { meanCpu } from './cpu.ts';
import type { LastingServer } from './lasting-server.ts';
import { bareParse, has, ripgrep, ripgrepHits } from './peers.ts';
import { row } from './rows.ts';

const QUERIES = 40;
/** The figures are of a warm server (C-128). */
const WARM = 20;
const EDITS = 20;

interface Questions {
  rows: Row[];
  /** Of processor time, its sweep included. */
  symbol: number;
  /** What 95 of 100 questions took at most, elapsed, each with its sweep. */
  slowest: Map<string, number>;
}

/** The sweep is the worktree's price, not the query's: an outline of a file, which needs none, stands beside it. */
export async function queries(corpus: Corpus, client: LastingServer): Promise<Questions> {
  const symbols: CodeSymbol[] = [];
  for (const query of ['e', 'get', 'step', 'error', 'index'])
    symbols.push(...(await client.call('find_symbols', { query, limit: 50 })).symbols);
  const names = [...new Set(symbols.map(({ name }) => name))].slice(0, QUERIES);
  const file = symbols[0]?.location.file ?? corpus.files[0] ?? '';
  const latencies: string[] = [];
  const slowest: Questions['slowest'] = new Map();
  const mean = async (what: string, work: (name: string) => Promise<unknown>) => {
    for (const name of names.slice(0, WARM)) await work(name); // what is read once is read, what is compiled is compiled
    const walls: number[] = [];
    const cpu = await meanCpu(client, QUERIES, async (at) => {
      walls.push(await timed(() => work(names[at % names.length] ?? '')));
    });
    slowest.set(what, quantile(walls, 0.95));
    latencies.push(`${what} ${quantile(walls, 0.5).toFixed(1)} / ${quantile(walls, 0.95).toFixed(1)}`);
    return cpu;
  };
  const sweepAlone = () => client.call('get_symbol_references', { name: 'noSuchNameAnywhere' });
  const sweep = await mean('sweep', sweepAlone);
  let lastSweep = sweep;
  // Of the sweeps before and after, for how quick the machine is changes meanwhile.
  const after = async (what: string, work: (name: string) => Promise<unknown>) => {
    const [cpu, next] = [await mean(what, work), await meanCpu(client, QUERIES / 2, sweepAlone)];
    const between = (lastSweep + next) / 2;
    lastSweep = next;
    return Math.max(0.1, cpu - between);
  };
  const outline = await mean('outline', () => client.call('get_file_outline', { file_path: file }));
  const symbol = await after('get_symbol', (name) => client.call('get_symbol', { name }));
  const find = await after('find_symbols', (query) => client.call('find_symbols', { query }));
  const search = await after('code_search', (query) => client.call('code_search', { query }));
  const references = await after('references', (name) => client.call('get_symbol_references', { name }));
  const [word = 'e'] = names;
  const explore = (question: string) => client.call('explore_code', { question });
  const first = (await meanCpu(client, 1, () => explore(`where is ${word} used`))) - sweep;
  const second = await after('explore_code', (name) => explore(`what calls ${name} and why`));
  console.log(`latency in ms, half of them and 95 of 100 within: ${latencies.join('; ')}`);
  const map = row('repo map, second question (C-129), against the first', [second, first], 0.1);
  if (!has('rg')) return { rows: [map], symbol: sweep + symbol, slowest };
  const rg = await ripgrep(corpus, word);
  console.log(`sweep ${sweep.toFixed(1)} ms; rg -w ${rg.toFixed(1)} ms; references ${references.toFixed(1)} ms`);
  const rows = [
    row('get_symbol (C-128), against rg -w', [symbol, rg], 0.1),
    row('find_symbols (C-128), against rg -w', [find, rg], 0.1),
    row('file outline (C-128), against rg -w', [outline, rg], 0.1),
    row('code_search (C-128), against rg -w', [search, rg], 0.5),
    map,
    await completeness(corpus, client, names.filter(({ length }) => length > 2).slice(0, 10)),
  ];
  return { rows, symbol: sweep + symbol, slowest };
}

/** Every line ripgrep finds must be among ours, text included (C-127). */
async function completeness(corpus: Corpus, client: LastingServer, names: readonly string[]): Promise<Row> {
  let [found, wanted] = [0, 0];
  for (const name of names) {
    const ours = new Set<string>();
    const ask = { name, include_text: true, limit: 2_000 };
    for (let cursor: string | undefined; ; ) {
      const page = await client.call('get_symbol_references', { ...ask, ...(cursor !== undefined && { cursor }) });
      for (const { location } of page.references) ours.add(`${location.file}:${location.start_line}`);
      cursor = page.next_cursor;
      if (cursor === undefined) break;
    }
    const theirs = ripgrepHits(corpus, name);
    wanted += theirs.size;
    for (const hit of theirs) if (ours.has(hit)) found += 1;
  }
  const target = { least: 1 };
  return { what: 'lines of rg -w that references return (C-127)', ours: found, theirs: wanted, unit: '', target };
}

/** One file is changed and asked for, again and again. */
export async function changes(corpus: Corpus, client: LastingServer): Promise<{ spent: number; rows: Row[] }> {
  const path = parsedFile(corpus);
  const text = readFileSync(join(corpus.checkout, path), 'utf8');
  const edit = (at: number) => writeFileSync(join(corpus.checkout, path), `${text}${'\n'.repeat(at + 1)}`);
  const spent = await meanCpu(client, EDITS, async (at) => {
    edit(at);
    await client.call('get_file_outline', { file_path: path });
  });
  const parse = bareParse({ checkout: corpus.checkout, files: Array(EDITS).fill(path) }).cpu / EDITS;
  corpus.git('checkout', '-q', '--', path);
  return {
    spent,
    rows: [
      row('one changed file, event to answer (C-122), against 50 ms', [spent, 50], 1),
      row('one changed file (C-122), against a bare parse of it', [spent, parse], 3),
    ],
  };
}
