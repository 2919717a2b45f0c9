import { spawnSync } from 'node:child_process';
import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ServerClient } from '../../test/support/context/server-client.ts';
import type { Row } from '../measure.ts';
import { type Corpus, parsedFile } from './corpus.ts';
import { cpuMs, meanCpu, spentBy } from './cpu.ts';
import { row } from './rows.ts';

const MIB = 1024 * 1024;
const MANY = 20;
/** A tick of the processor's clock is a tenth of what is measured. */
const TIMES = 3;
const EDITED = 0.01;
/** Twenty checkouts of more are too much for a disk. */
const MOST_FILES = 5_000;

interface First {
  store: string;
  complete: number;
  start: number;
}

/** Further identical worktrees, and how a server starts on one of them when all is known. */
export async function secondWorktree(corpus: Corpus, { store, complete, start }: First): Promise<Row[]> {
  const before = statSync(store).size;
  let [extracted, spent, two] = [0, 0, ''];
  for (let at = 0; at < TIMES; at++) {
    two = join(corpus.root, `same-${at}`);
    corpus.git('worktree', 'add', '-q', '-b', `bench-same-${at}`, two);
    const client = new ServerClient({ worktree: two, store });
    await client.request('initialize', {});
    const { cpu } = await spentBy(client.child.pid ?? 0, async () => {
      const { files_indexed, reused } = await client.call('index_code', { path: two, wait: 'complete' });
      extracted += files_indexed - reused;
    });
    spent += cpu / TIMES;
    await client.close();
  }
  const grown = (statSync(store).size - before) / MIB / TIMES;
  const emptyNode = await meanCpu(process.pid, 5, () => void spawnSync(process.execPath, ['-e', '0']));
  let warm = 0;
  for (let at = 0; at < 3; at++) {
    const again = new ServerClient({ worktree: two, store });
    await again.call('get_file_outline', { file_path: parsedFile(corpus) });
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

/** What twenty worktrees with an edit in every hundredth file add to the store of one. */
export async function manyWorktrees(corpus: Corpus, store: string): Promise<Row[]> {
  if (corpus.files.length > MOST_FILES) return [];
  const before = statSync(store).size;
  for (let at = 0; at < MANY; at++) {
    const worktree = join(corpus.root, `many-${at}`);
    corpus.git('worktree', 'add', '-q', '-b', `many-${at}`, worktree);
    const step = Math.round(1 / EDITED);
    for (let file = at; file < corpus.files.length; file += step)
      appendFileSync(join(worktree, corpus.files[file] ?? ''), `\n\n${' '.repeat(at)}\n`);
    const client = new ServerClient({ worktree, store });
    await client.call('index_code', { path: worktree, wait: 'complete' });
    await client.close();
    corpus.git('worktree', 'remove', '--force', worktree);
  }
  return [
    {
      ...row(`store after ${MANY} worktrees with 1 % edits (C-130)`, [statSync(store).size / MIB, before / MIB], 1.3),
      unit: 'MiB',
    },
  ];
}
