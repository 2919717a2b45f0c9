import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ServerClient } from '../../test/support/context/server-client.ts';
import { plainGit, writeFiles } from '../../test/support/repository.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';
import {
  type Asking,
  allEdges,
  checkSample,
  checkWhole,
  type EdgeCheck,
  edgeCorpora,
  labelsAt,
  pathsOf,
} from './edges.ts';

/** The corpora of this repository, and the repositories at these paths whose commit has labels. */
export async function runEdges(paths: readonly string[]): Promise<EdgeCheck[]> {
  const checks: EdgeCheck[] = [];
  for (const corpus of edgeCorpora()) {
    using checkout = disposableFolder();
    writeFiles(checkout.path, corpus.files);
    plainGit(checkout.path)('init', '-q');
    checks.push(
      await serving(checkout.path, async (server) => checkWhole(corpus, await allEdges(server, pathsOf(corpus)))),
    );
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
  using folder = disposableFolder();
  const client = new ServerClient({ worktree, store: join(folder.path, 'index/code.db') });
  try {
    await client.call('index_code', { path: '.', wait: 'complete' });
    return await ask(client as unknown as Asking);
  } finally {
    await client.close();
  }
}
