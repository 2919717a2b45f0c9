import { ReefError } from '../protocol/errors.ts';
import type { Checkout } from './checkout.ts';
import type { Git } from './git-command.ts';
import { nextField, nulFields } from './nul-fields.ts';
import { checkOid, type Oid } from './ref-name.ts';

export interface MergeSides {
  ours: Oid;
  theirs: Oid;
}

export interface MergeResult {
  /** With conflict markers where there are conflicts. */
  tree: Oid;
  isClean: boolean;
  /** Paths in conflict, each once, in order. */
  conflicts: string[];
  /** What git says about each conflict. */
  messages: string[];
}

const MAX_BYTES = 64 * 1024 * 1024;
const MERGE_MS = 300_000;

/** Merges two commits; only objects are written. With a merge driver git makes files in `checkout`: give it a worktree of ours. */
export async function mergeTrees(git: Git, checkout: Checkout, { ours, theirs }: MergeSides): Promise<MergeResult> {
  const args = ['merge-tree', '--write-tree', '-z', '--messages', '--allow-unrelated-histories', '--end-of-options'];
  const options = { okCodes: [0, 1], maxBytes: MAX_BYTES, timeoutMs: MERGE_MS };
  const { code, stdout } = await git.call(checkout, [...args, checkOid(ours), checkOid(theirs)], options);
  // Git also ends with 1 when one of them is not a commit.
  if (stdout.length === 0) throw new ReefError('git_failed', `git merge-tree could not merge ${ours} and ${theirs}.`);
  return parseMerge(nulFields(stdout), code === 0);
}

/** Many merges in one process, for the radar. Git 2.38 needs a process for each. */
export async function mergeAll(git: Git, checkout: Checkout, pairs: readonly MergeSides[]): Promise<MergeResult[]> {
  const { major, minor } = await git.version();
  const results: MergeResult[] = [];
  if (major === 2 && minor < 39) {
    for (const pair of pairs) results.push(await mergeTrees(git, checkout, pair));
    return results;
  }
  const input = pairs.map(({ ours, theirs }) => `${checkOid(ours)} ${checkOid(theirs)}\n`).join('');
  const args = ['merge-tree', '--write-tree', '-z', '--messages', '--allow-unrelated-histories', '--stdin'];
  const { stdout } = await git.call(checkout, args, { input, maxBytes: MAX_BYTES, timeoutMs: MERGE_MS });
  const fields = nulFields(stdout);
  for (const status of fields) {
    results.push(parseMerge(fields, status.toString('latin1') === '1'));
  }
  if (results.length !== pairs.length) throw new ReefError('git_failed', 'git merge-tree did not answer every merge.');
  return results;
}

/** Tree, conflicted stages, an empty field, then messages as (count, paths…, kind, text), ended by an empty field or none. */
function parseMerge(fields: Generator<Buffer, undefined>, isClean: boolean): MergeResult {
  const next = () => fields.next().value?.toString('utf8');
  const tree = checkOid(nextField(fields));
  const conflicts = new Set<string>();
  for (let stage = next(); stage; stage = next()) conflicts.add(stage.slice(stage.indexOf('\t') + 1));
  const messages: string[] = [];
  for (let count = next(); count; count = next()) {
    for (let left = Number(count); left > 0; left--) nextField(fields);
    const [kind, text] = [nextField(fields), nextField(fields)];
    if (kind.startsWith('CONFLICT')) messages.push(text.trim());
  }
  return { tree, isClean, conflicts: [...conflicts], messages };
}
