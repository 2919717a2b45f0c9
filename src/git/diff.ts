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
const RAW = ['-z', '--raw'];
const HUNKS = ['--patch', '--unified=0', '--inter-hunk-context=0', '--diff-algorithm=myers', '--no-indent-heuristic'];
const MAX_BYTES = 128 * 1024 * 1024;

/** What changed between two trees or commits, in order of the paths. */
export async function diffTrees(git: Git, checkout: Checkout, sides: Sides): Promise<FileChange[]> {
  return parseRaw(await diff(git, checkout, RAW, sides));
}

async function diff(git: Git, checkout: Checkout, form: readonly string[], { from, to }: Sides): Promise<Buffer> {
  const args = ['diff-tree', '-r', ...form, ...RENAMES, ...PLAIN, '--end-of-options', checkOid(from), checkOid(to)];
  return (await git.call(checkout, args, { maxBytes: MAX_BYTES })).stdout;
}

/** The same as `diffTrees`, with the lines each file's changes touch in coordinates of `from`. */
export async function diffRanges(git: Git, checkout: Checkout, sides: Sides): Promise<FileRanges[]> {
  const changes = await diffTrees(git, checkout, sides);
  const patches = parsePatches(await diff(git, checkout, HUNKS, sides)).values();
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

/** The ranges of each file of a patch. Lines of content begin with a sign, so none looks like a header or a hunk. */
function parsePatches(patch: Buffer): LineRange[][] {
  const files: LineRange[][] = [];
  for (const line of linesOf(patch)) {
    if (line.startsWith('diff --git ')) files.push([]);
    const hunk = HUNK.exec(line);
    if (!hunk) continue;
    const [first, count] = [Number(hunk[1]), Number(hunk[2] ?? 1)];
    files.at(-1)?.push([first, count === 0 ? first + 1 : first + count - 1]);
  }
  return files;
}

/** The beginnings of lines: headers and hunks need no more. A patch ends with a line break. */
function* linesOf(patch: Buffer): Generator<string> {
  for (let from = 0; from < patch.length; ) {
    const end = patch.indexOf('\n', from);
    yield patch.toString('latin1', from, Math.min(end, from + 64));
    from = end + 1;
  }
}
