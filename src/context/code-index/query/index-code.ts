import { realpathSync } from 'node:fs';
import type { CodeToolArgs, CodeToolResult } from '../../../protocol/code.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { CodeIndex } from '../code-index.ts';

/** A cold index of the largest repositories takes a minute; the caller's own limit is ten. */
const LONGEST_MS = 600_000;

/** Answers when every file of the map can be searched, or, asked to, when every file is parsed. */
export async function indexCode(
  index: CodeIndex,
  args: CodeToolArgs<'index_code'>,
  signal?: AbortSignal,
): Promise<CodeToolResult<'index_code'>> {
  const begun = performance.now();
  if (args.path !== '.' && realpathOf(args.path) !== index.tree.checkout.toplevel) {
    throw new ReefError('path_outside_worktree', `This server answers for ${index.tree.checkout.toplevel} alone.`);
  }
  const before = index.extracted;
  const view = await index.view();
  const within = { ms: LONGEST_MS, ...(signal && { signal }) };
  await index.until(() => index.pendingWords === 0, within);
  if (args.wait === 'complete') await index.until(() => index.pendingWords + index.pendingStructures === 0, within);
  const pending = args.wait === 'complete' ? index.pendingWords + index.pendingStructures : index.pendingWords;
  const { skipped, errors } = skips(index, view.files.values());
  const extracted = index.extracted.words - before.words;
  const complete = pending === 0 && skipped === 0;
  return {
    status: pending === 0 ? 'success' : 'partial',
    files_indexed: view.files.size,
    symbols_found: index.store.look(({ facts }) => facts.countSymbols(), 0),
    errors,
    duration_ms: Math.round(performance.now() - begun),
    reused: Math.max(0, view.files.size - extracted),
    pending,
    basis: await index.basis({ stage: args.wait === 'complete' ? 2 : 1, complete, pending, skipped }, view),
  };
}

function realpathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

const MOST_ERRORS = 50;

function skips(index: CodeIndex, files: Iterable<{ path: string; oid: string }>) {
  const errors: string[] = [];
  let skipped = 0;
  for (const file of files) {
    const words = index.coverage.words(file.oid);
    if (words === undefined || words === 'ok' || words === 'binary') continue;
    skipped += 1;
    if (errors.length < MOST_ERRORS) errors.push(`${file.path}: ${words}`);
  }
  const failure = index.store.failure;
  if (failure) errors.unshift(`${failure.code}: ${failure.message}`);
  return { skipped, errors };
}
