import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ReefError } from '../../../protocol/errors.ts';

const MOST_LINES = 500;
const LONGEST_LINE = 500;
const BATCH = 64;
/** Per batch: a model's pattern may never end. */
const BATCH_MS = 10_000;

interface File {
  shown: string;
  text: string;
}

interface Search {
  pattern: string;
  files: AsyncIterable<string>;
  read(file: string): Promise<File | undefined>;
  signal: AbortSignal;
}

/** Runs in a thread, because a regular expression can only be stopped with its thread. */
const SEARCHER = `
const { parentPort, workerData } = require('node:worker_threads');
const expression = new RegExp(workerData.pattern);
parentPort.on('message', (batch) => {
  const lines = [];
  for (const { shown, text } of batch) {
    const all = text.split('\\n');
    for (let n = 0; n < all.length && lines.length <= workerData.most; n++) {
      if (expression.test(all[n])) lines.push(shown + ':' + (n + 1) + ': ' + all[n].slice(0, workerData.longest));
    }
  }
  parentPort.postMessage(lines);
});
`;

export async function searchLines(search: Search): Promise<{ lines: string[]; isCut: boolean }> {
  const { pattern, files, read, signal } = search;
  try {
    new RegExp(pattern);
  } catch (cause) {
    throw new ReefError('bad_request', `The pattern is not a regular expression: ${String(cause)}`, { cause });
  }
  const workerData = { pattern, most: MOST_LINES, longest: LONGEST_LINE };
  const worker = new Worker(SEARCHER, { eval: true, workerData, env: {}, stdin: false });
  const lines: string[] = [];
  try {
    for await (const batch of batches(files, read)) {
      lines.push(...(await ask(worker, batch, signal)));
      if (lines.length > MOST_LINES) break;
    }
  } finally {
    await worker.terminate();
  }
  return { lines: lines.slice(0, MOST_LINES), isCut: lines.length > MOST_LINES };
}

async function* batches(files: AsyncIterable<string>, read: Search['read']): AsyncGenerator<File[]> {
  let batch: File[] = [];
  for await (const file of files) {
    const content = await read(file);
    if (content) batch.push(content);
    if (batch.length === BATCH) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

async function ask(worker: Worker, batch: File[], signal: AbortSignal): Promise<string[]> {
  const limit = AbortSignal.timeout(BATCH_MS);
  const answer = once(worker, 'message', { signal: AbortSignal.any([signal, limit]) });
  worker.postMessage(batch);
  try {
    const [lines] = (await answer) as [string[]];
    return lines;
  } catch (cause) {
    if (signal.aborted) throw new ReefError('cancelled', 'The search was cancelled', { cause });
    throw new ReefError('tool_failed', 'The pattern takes too long; make it simpler', { cause });
  }
}
