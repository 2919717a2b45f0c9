import { realpathSync } from 'node:fs';
import type { CodeToolArgs, CodeToolResult } from '../../../protocol/code.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { CodeIndex } from '../code-index.ts';

/** The limit of the caller. A cold index of the largest repositories takes a minute. */
const LONGEST_MS = 600_000;
const MOST_ERRORS = 50;

/** Answers when every file can be searched or, with `wait: complete`, when every file is parsed. */
export async function indexCode(
  index: CodeIndex,
  args: CodeToolArgs<'index_code'>,
  signal?: AbortSignal,
): Promise<CodeToolResult<'index_code'>> {
  const begun = performance.now();
  if (args.path !== '.' && realpathOf(args.path) !== index.tree.checkout.toplevel) {
    throw new ReefError('path_outside_worktree', `This server answers only for ${index.tree.checkout.toplevel}.`);
  }
  const before = index.extracted;
  const view = await index.view();
  const left = () => (args.wait === 'complete' ? index.pending : index.pendingWords);
  await index.until(() => left() === 0, { ms: LONGEST_MS, ...(signal && { signal }) });
  const isUsable = left() === 0;
  const { pending } = index;
  const { skipped } = index.unread(view);
  const errors = skipped.slice(0, MOST_ERRORS).map(({ path, oid }) => `${path}: ${index.coverage.words(oid)}`);
  const { failure } = index.store;
  if (failure) errors.unshift(`${failure.code}: ${failure.message}`);
  const extracted = index.extracted.words - before.words;
  return {
    status: isUsable ? 'success' : 'partial',
    files_indexed: view.files.size,
    symbols_found: index.store.look(({ facts }) => facts.countSymbols(), 0),
    errors,
    duration_ms: Math.round(performance.now() - begun),
    reused: Math.max(0, view.files.size - extracted),
    pending,
    basis: await index.basis({ pending, skipped: skipped.length }, view),
  };
}

function realpathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
