import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Corpus, parsedFile } from './corpus.ts';
import { cpuMs } from './cpu.ts';

/** Whoever measures installs it; it is no part of Reef. */
const PROGRAM = 'codegraph';
/** A second checkout of more takes minutes and says the same. */
const MOST_TWICE = 5_000;

export interface CodeGraphFigures {
  init: number;
  peakMb: number;
  storeBytes: number;
  /** An identical second checkout. */
  second?: number;
  sync: number;
  query: number;
}

/** CodeGraph, where it is installed, on clones of its own: its index lies in the checkout. */
export async function codegraph({ root, checkout, files }: Corpus, name: string): Promise<CodeGraphFigures> {
  const clone = (folder: string) => {
    spawnSync('git', ['clone', '-q', '--shared', checkout, folder]);
    return folder;
  };
  const [one, two] = [clone(join(root, 'graph-one')), clone(join(root, 'graph-two'))];
  try {
    const init = await measured(one, ['init', '.']);
    const storeBytes = folderBytes(join(one, '.codegraph'));
    const second = files.length > MOST_TWICE ? undefined : await measured(two, ['init', '.']);
    const query = await measured(one, ['query', name]);
    const file = join(one, parsedFile({ checkout: one, files }));
    writeFileSync(file, `${readFileSync(file, 'utf8')}\n`);
    const sync = await measured(one, ['sync', '.']);
    const { peakMb, cpu } = init;
    return { init: cpu, peakMb, storeBytes, query: query.cpu, sync: sync.cpu, ...(second && { second: second.cpu }) };
  } finally {
    for (const folder of [one, two]) rmSync(folder, { recursive: true, force: true });
  }
}

function folderBytes(folder: string): number {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

async function measured(cwd: string, args: string[]): Promise<{ cpu: number; peakMb: number }> {
  const before = cpuMs(process.pid);
  const env = { ...process.env, DO_NOT_TRACK: '1', CODEGRAPH_TELEMETRY: '0' };
  const child = spawn(PROGRAM, args, { cwd, env, stdio: 'ignore' });
  let peakMb = 0;
  const look = setInterval(() => {
    peakMb = Math.max(peakMb, treeMb(child.pid ?? 0));
  }, 50);
  await new Promise((resolve) => child.once('close', resolve));
  clearInterval(look);
  return { cpu: cpuMs(process.pid) - before, peakMb };
}

/** Of a process and all below it. */
function treeMb(pid: number): number {
  try {
    const [, kib = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    const below = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    return Number(kib) / 1024 + below.reduce((sum, child) => sum + treeMb(child), 0);
  } catch {
    return 0; // it ended meanwhile
  }
}
