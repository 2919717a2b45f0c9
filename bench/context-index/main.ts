import { statSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServerClient } from '../../test/support/context/server-client.ts';
import { initRepository } from '../../test/support/repository.ts';
import { printRows, type Row } from '../measure.ts';
import { codegraph } from './codegraph.ts';
import { type Corpus, makeCorpus } from './corpus.ts';
import { type Spent, spentBy } from './cpu.ts';
import { LastingServer } from './lasting-server.ts';
import { bareParse, ctags, has, identifierScan, readAndHash, sourceBytes } from './peers.ts';
import { changes, queries } from './queries.ts';
import { row } from './rows.ts';
import { switches } from './switches.ts';
import { manyWorktrees, secondWorktree } from './worktrees.ts';

const { values, positionals } = parseArgs({
  options: { files: { type: 'string' }, large: { type: 'boolean', default: false } },
  allowPositionals: true,
});
/** As many as kubernetes has. That takes long, so only `--large` measures it too. */
const LARGE = 31_297;
const MIB = 1024 * 1024;
const CEILING_MB = 256;

let isMet = true;
const againstParse: number[] = [];
const asked: { files: number; name: string; slowest: Map<string, number> }[] = [];
const sizes = values.files === undefined ? [3_000, 18_000, ...(values.large ? [LARGE] : [])] : [Number(values.files)];
const sources = positionals.length > 0 ? positionals.map((path) => ({ path })) : sizes.map((files) => ({ files }));
for (const source of sources) {
  const corpus = makeCorpus(source);
  try {
    isMet = (await measure(corpus)) && isMet;
  } finally {
    corpus.remove();
  }
}
isMet = printRows('all repositories', [againstParses(), ...againstSmaller()]) && isMet;
console.log(isMet ? '\nall figures met' : '\na figure was missed: see ✗');
process.exitCode = isMet ? 0 : 1;

function againstParses(): Row {
  const mean = Math.exp(againstParse.reduce((sum, ratio) => sum + Math.log(ratio), 0) / againstParse.length);
  return { ...row('complete against a bare parse (C-124), geometric mean', [mean, 1], 1.3), unit: '' };
}

/** Questions in the largest repository against those in the smallest (C-148). */
function againstSmaller(): Row[] {
  const [small, ...more] = asked.toSorted((a, b) => a.files - b.files);
  const large = more.at(-1);
  if (!small || !large || large.files < LARGE) return [];
  return [...large.slowest].map(([what, ms]) =>
    row(`${what} in ${large.name}, 95 of 100, against ${small.name} (C-148)`, [ms, small.slowest.get(what) ?? ms], 2),
  );
}

interface Ours {
  usable: number;
  complete: number;
  changed: number;
  /** Its sweep included. */
  symbol: number;
  peakMb: number;
  storeBytes: number;
}

async function measure(corpus: Corpus): Promise<boolean> {
  const bytes = sourceBytes(corpus);
  console.log(`\n== ${corpus.name}: ${corpus.files.length} files, ${(bytes / MIB).toFixed(1)} MiB of text`);
  const load = loadavg().map((each) => each.toFixed(1));
  console.log(
    `load ${load.join(' ')} on ${availableParallelism()} cores; times are of the processor unless they say elapsed`,
  );
  const [hash, scan, before] = [await readAndHash(corpus), await identifierScan(corpus), bareParse(corpus)];
  const store = join(corpus.root, 'index/code.db');
  const start = await startCost(corpus, store);
  console.log(`start of a server, its modules and git included, is apart: ${start.elapsed.toFixed(0)} ms elapsed`);
  const client = new LastingServer({ worktree: corpus.checkout, store, maxMemoryMb: CEILING_MB });
  await client.start();
  const index = (wait: 'usable' | 'complete') =>
    spentBy(client, () => client.call('index_code', { path: corpus.checkout, wait }));
  const usable = plus(await index('usable'), start, -1);
  const whole = plus(usable, await index('complete'));
  const parse = plus(before, bareParse(corpus)); // twice, for what else the machine does changes meanwhile
  againstParse.push((2 * whole.elapsed) / parse.elapsed);
  const rows: Row[] = [
    row('cold, usable (C-123), elapsed, against an identifier scan', [usable.elapsed, scan], 2.5),
    row('cold, usable, against reading and hashing every file', [usable.cpu, hash]),
    row('complete (C-124), elapsed, against a bare parse', [whole.elapsed, parse.elapsed / 2], 1.5),
    row('complete, all threads, against a bare parse', [whole.cpu, parse.cpu / 2]),
  ];
  const complete = whole.cpu;
  if (has('ctags')) rows.push(row('complete, against universal-ctags', [complete, await ctags(corpus)]));
  const { rows: answered, symbol, slowest } = await queries(corpus, client);
  asked.push({ files: corpus.files.length, name: corpus.name, slowest });
  const { spent: changed, rows: edited } = await changes(corpus, client);
  await switches(corpus, client);
  const peakMb = client.peakMb();
  await client.close();
  if (client.lives > 1) console.log(`the server ended at its ceiling and was started again ${client.lives - 1} times`);
  const storeBytes = statSync(store).size;
  rows.push(
    ...[...answered, ...edited],
    { ...row('peak memory of the server (C-125)', [peakMb, CEILING_MB], 1), unit: 'MB' },
    { ...row('store against source (C-130)', [storeBytes / MIB, bytes / MIB], 2), unit: 'MiB' },
    ...(await secondWorktree(corpus, { store, complete, start: (await startCost(corpus, store)).cpu })), // as of now
    ...(await manyWorktrees(corpus, store)),
    ...(await againstCodeGraph(corpus, { usable: usable.cpu, complete, changed, symbol, peakMb, storeBytes })),
  );
  return printRows(`figures of ${corpus.name}`, rows);
}

async function againstCodeGraph(corpus: Corpus, ours: Ours): Promise<Row[]> {
  if (!has('codegraph')) {
    console.log('codegraph: absent');
    return [];
  }
  const theirs = await codegraph(corpus, 'main');
  const { init, second } = theirs;
  if (second !== undefined)
    console.log(`codegraph: init of an identical second checkout ${(second / init).toFixed(2)}×`);
  return [
    row('cold, usable (C-123), against codegraph init', [ours.usable, init], 0.15),
    row('complete, against codegraph init', [ours.complete, init]),
    row('one changed file, against codegraph sync', [ours.changed, theirs.sync]),
    row('get_symbol and its sweep, against codegraph query', [ours.symbol, theirs.query]),
    { ...row('peak memory, against codegraph init', [ours.peakMb, theirs.peakMb]), unit: 'MB' },
    { ...row('store, against that of codegraph', [ours.storeBytes / MIB, theirs.storeBytes / MIB]), unit: 'MiB' },
  ];
}

function plus(a: Spent, b: Spent, sign = 1): Spent {
  return { cpu: a.cpu + sign * b.cpu, elapsed: a.elapsed + sign * b.elapsed };
}

/** What any first answer takes, whatever the repository: of one with a single file, by a server whose modules are compiled. */
async function startCost({ root }: Corpus, store: string): Promise<Spent> {
  const empty = join(root, 'empty');
  initRepository(empty, { 'a.txt': 'a\n' });
  const once = async () => {
    const client = new ServerClient({ worktree: empty, store: `${store}.empty` });
    await client.request('initialize', {});
    const spent = await spentBy(client.child.pid ?? 0, () => client.call('index_code', { path: empty }));
    await client.close();
    return spent;
  };
  await once(); // compiles
  const [first, second] = [await once(), await once()];
  return { cpu: (first.cpu + second.cpu) / 2, elapsed: (first.elapsed + second.elapsed) / 2 };
}
