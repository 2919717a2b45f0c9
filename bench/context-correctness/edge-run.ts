import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ServerClient } from '../../test/support/context/server-client.ts';
import {
  type Asking,
  allEdges,
  checkSample,
  checkWhole,
  type EdgeCheck,
  type EdgeCorpus,
  edgeCorpora,
  labelsAt,
  pathsOf,
} from './edges.ts';

/** The corpora of this repository, and the repositories at these paths whose commit has labels. */
export async function runEdges(paths: readonly string[]): Promise<EdgeCheck[]> {
  const checks: EdgeCheck[] = [];
  for (const corpus of edgeCorpora()) {
    const checkout = written(corpus);
    checks.push(await serving(checkout, async (server) => checkWhole(corpus, await allEdges(server, pathsOf(corpus)))));
    rmSync(checkout, { recursive: true });
  }
  for (const path of paths) {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: path, encoding: 'utf8' }).trim();
    const labels = labelsAt(commit);
    if (labels) checks.push(await serving(path, (server) => checkSample(labels, server)));
    else console.log(`No edges of ${path} at ${commit.slice(0, 8)} are labelled.`);
  }
  return checks;
}

async function serving<T>(worktree: string, ask: (server: Asking) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'reef-edges-'));
  const client = new ServerClient({ worktree, store: join(folder, 'index/code.db') });
  try {
    await client.call('index_code', { path: '.', wait: 'complete' });
    return await ask(client as unknown as Asking);
  } finally {
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The files of a corpus as a repository without a commit. */
function written({ files }: EdgeCorpus): string {
  const checkout = mkdtempSync(join(tmpdir(), 'reef-edges-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(checkout, path)), { recursive: true });
    writeFileSync(join(checkout, path), text);
  }
  execFileSync('git', ['init', '-q'], { cwd: checkout });
  return checkout;
}
