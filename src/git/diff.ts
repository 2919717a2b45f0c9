import type { Checkout } from './checkout.ts';
import type { Git } from './git-command.ts';
import { nextField, nulFields } from './nul-fields.ts';
import { checkOid, type Oid } from './ref-name.ts';

export interface FileChange {
  /** U is a conflict, and only in a checkout. */
  status: 'A' | 'D' | 'M' | 'T' | 'R' | 'U';
  path: string;
  /** The name before a renaming. */
  from?: string;
  before: { mode: string; oid: Oid };
  after: { mode: string; oid: Oid };
}

/** Lines of the older side, counted from 1, both ends included. An insertion touches the line before and the one after. */
type LineRange = readonly [first: number, last: number];

export interface FileRanges extends FileChange {
  /** Absent where lines mean nothing: binary files, submodules, mode changes. */
  lines?: LineRange[];
}

interface Sides {
  from: Oid;
  to: Oid;
}

/** Git's own defaults, so that no configuration of the repository changes what we read. */
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-color', '--submodule=short', '-O/dev/null'];
const RENAMES = ['--find-renames=50%', '-l1000', '--no-abbrev'];
const HUNKS = ['--patch', '--unified=0', '--inter-hunk-context=0', '--diff-algorithm=myers', '--no-indent-heuristic'];
const MAX_BYTES = 128 * 1024 * 1024;

/** What changed between two trees or commits, in order of the paths. */
export async function diffTrees(git: Git, checkout: Checkout, { from, to }: Sides): Promise<FileChange[]> {
  const args = [
    'diff-tree',
    '-r',
    '-z',
    '--raw',
    ...RENAMES,
    ...PLAIN,
    '--end-of-options',
    checkOid(from),
    checkOid(to),
  ];
  const { stdout } = await git.call(checkout, args, { maxBytes: MAX_BYTES });
  return parseRaw(stdout);
}

/** The same as `diffTrees`, with the lines each file's changes touch in coordinates of `from`. */
export async function diffRanges(git: Git, checkout: Checkout, { from, to }: Sides): Promise<FileRanges[]> {
  const changes = await diffTrees(git, checkout, { from, to });
  const args = ['diff-tree', '-r', ...HUNKS, ...RENAMES, ...PLAIN, '--end-of-options', checkOid(from), checkOid(to)];
  const { stdout } = await git.call(checkout, args, { maxBytes: MAX_BYTES });
  const patches = parsePatches(stdout).values();
  // Names in a patch are quoted and ambiguous; its order is that of the raw listing, a change of type counting twice.
  return changes.map((change) => {
    const count = change.status === 'T' ? 2 : 1;
    const lines = Array.from({ length: count }, () => patches.next().value ?? []).flat();
    return { ...change, ...(lines.length > 0 && change.after.mode !== SUBMODULE && { lines }) };
  });
}

const SUBMODULE = '160000';

function parseRaw(output: Buffer): FileChange[] {
  const fields = nulFields(output);
  const changes: FileChange[] = [];
  for (const field of fields) {
    const words = field.toString('latin1').slice(1).split(' ') as [string, string, Oid, Oid, string];
    const [beforeMode, afterMode, before, after, letter] = words;
    const status = letter.charAt(0) as FileChange['status'];
    const first = nextField(fields);
    changes.push({
      status,
      ...(status === 'R' ? { path: nextField(fields), from: first } : { path: first }),
      before: { mode: beforeMode, oid: before },
      after: { mode: afterMode, oid: after },
    });
  }
  return changes;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? /;

/** The ranges of each file of a patch. Lines of content begin with a sign, so they are no header and no hunk. */
function parsePatches(patch: Buffer): LineRange[][] {
  const files: LineRange[][] = [];
  for (const line of linesOf(patch)) {
    if (line.startsWith('diff --git ')) files.push([]);
    const hunk = HUNK.exec(line);
    if (hunk) files.at(-1)?.push(rangeOf(Number(hunk[1]), Number(hunk[2] ?? 1)));
  }
  return files;
}

function rangeOf(first: number, count: number): LineRange {
  return count === 0 ? [first, first + 1] : [first, first + count - 1];
}

/** The beginnings of lines: all that headers and hunks need, whatever the length of the line. A patch ends with a break. */
function* linesOf(patch: Buffer): Generator<string> {
  for (let from = 0; from < patch.length; ) {
    const end = patch.indexOf('\n', from);
    yield patch.toString('latin1', from, Math.min(end, from + 64));
    from = end + 1;
  }
}
