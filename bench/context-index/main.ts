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
import { codegraph } from './codegraph.ts';
import { type Corpus, makeCorpus } from './corpus.ts';
import { meanCpu } from './cpu.ts';
import { bareParse, ctags, has, identifierScan, readAndHash, sourceBytes } from './peers.ts';
import { changes, queries } from './queries.ts';
import { row } from './rows.ts';
import { switches } from './switches.ts';
import { manyWorktrees, secondWorktree } from './worktrees.ts';

const { values, positionals } = parseArgs({ options: { files: { type: 'string' } }, allowPositionals: true });
const MIB = 1024 * 1024;
const CEILING_MB = 256;

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
  console.log(`load ${load.join(' ')} on ${availableParallelism()} cores; times are of the processor`);
  const [hash, scan, before] = [await readAndHash(corpus), await identifierScan(corpus), bareParse(corpus)];
  const store = join(corpus.root, 'index/code.db');
  const start = await startCost(corpus, store);
  console.log(`start of a server, its modules and git included, is apart: ${start.toFixed(0)} ms`);
  const client = new ServerClient({ worktree: corpus.checkout, store });
  await client.request('initialize', {});
  const { pid = 0 } = client.child;
  const index = (wait: 'usable' | 'complete') => client.call('index_code', { path: corpus.checkout, wait });
  const usable = (await meanCpu(pid, 1, () => index('usable'))) - start;
  const complete = usable + (await meanCpu(pid, 1, () => index('complete')));
  const parse = (before + bareParse(corpus)) / 2; // what else the machine does changes meanwhile
  const rows: Row[] = [
    row('cold, usable (C-123), against an identifier scan', [usable, scan], 2.5),
    row('cold, usable, against reading and hashing every file', [usable, hash]),
    row('complete (C-124), against a bare parse', [complete, parse], 1.3),
  ];
  if (has('ctags')) rows.push(row('complete, against universal-ctags', [complete, await ctags(corpus)]));
  const { rows: asked, symbol } = await queries(corpus, client);
  const { spent: changed, rows: edited } = await changes(corpus, client);
  await switches(corpus, client);
  const peakMb = client.peakMb();
  await client.close();
  const storeBytes = statSync(store).size;
  rows.push(
    ...[...asked, ...edited],
    { ...row('peak memory of the server (C-125)', [peakMb, CEILING_MB], 1), unit: 'MB' },
    { ...row('store against source (C-130)', [storeBytes / MIB, bytes / MIB], 2), unit: 'MiB' },
    ...(await secondWorktree(corpus, { store, complete, start })),
    ...(await manyWorktrees(corpus, store)),
    ...(await againstCodeGraph(corpus, { usable, complete, changed, symbol, peakMb, storeBytes })),
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

/** What any first answer takes, whatever the repository: of one with a single file, by a server whose modules are compiled. */
async function startCost({ root }: Corpus, store: string): Promise<number> {
  const empty = join(root, 'empty');
  spawnSync('git', ['init', '-q', empty]);
  writeFileSync(join(empty, 'a.txt'), 'a\n');
  const once = async () => {
    const client = new ServerClient({ worktree: empty, store: `${store}.empty` });
    await client.request('initialize', {});
    const spent = await meanCpu(client.child.pid ?? 0, 1, () => client.call('index_code', { path: empty }));
    await client.close();
    return spent;
  };
  await once(); // compiles
  return once();
}
