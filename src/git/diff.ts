import type { Git } from './git-command.ts';
import { nulFields } from './nul-fields.ts';
import type { Place } from './place.ts';
import { checkOid, type Oid } from './ref-name.ts';

export interface FileChange {
  status: 'A' | 'D' | 'M' | 'T' | 'R';
  path: string;
  /** The name before a renaming. */
  from?: string;
  before: { mode: string; oid: Oid };
  after: { mode: string; oid: Oid };
}

/** Lines of the older side, counted from 1, both ends included. An insertion touches the line before and the one after. */
export type LineRange = readonly [first: number, last: number];

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
export async function diffTrees(git: Git, place: Place, { from, to }: Sides): Promise<FileChange[]> {
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
  const { stdout } = await git.call(place, args, { maxBytes: MAX_BYTES });
  return parseRaw(stdout);
}

/** The same, with the lines each file's changes touch in coordinates of `from` (T-12). */
export async function diffRanges(git: Git, place: Place, { from, to }: Sides): Promise<FileRanges[]> {
  const changes = await diffTrees(git, place, { from, to });
  const args = ['diff-tree', '-r', ...HUNKS, ...RENAMES, ...PLAIN, '--end-of-options', checkOid(from), checkOid(to)];
  const { stdout } = await git.call(place, args, { maxBytes: MAX_BYTES });
  const patches = parsePatches(stdout);
  // Names in a patch are quoted and ambiguous; its order is that of the raw listing, a change of type counting twice.
  return changes.map((change) => {
    const lines = [...(patches.next().value ?? []), ...(change.status === 'T' ? (patches.next().value ?? []) : [])];
    return { ...change, ...(lines.length > 0 && change.after.mode !== SUBMODULE && { lines }) };
  });
}

const SUBMODULE = '160000';

function parseRaw(output: Buffer): FileChange[] {
  const fields = nulFields(output);
  const text = () => fields.next().value?.toString('utf8') ?? '';
  const changes: FileChange[] = [];
  for (const field of fields) {
    const [beforeMode = '', afterMode = '', beforeOid = '', afterOid = '', status = ''] = field
      .toString('latin1')
      .split(' ');
    const letter = status.charAt(0) as FileChange['status'];
    const first = text();
    changes.push({
      status: letter,
      ...(letter === 'R' ? { path: text(), from: first } : { path: first }),
      before: { mode: beforeMode.slice(1), oid: beforeOid },
      after: { mode: afterMode, oid: afterOid },
    });
  }
  return changes;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? /;

/** The ranges of each file of a patch. Lines of content begin with a sign, so they are no header and no hunk. */
function* parsePatches(patch: Buffer): Generator<LineRange[]> {
  let ranges: LineRange[] | undefined;
  for (const line of linesOf(patch)) {
    if (line.startsWith('diff --git ')) {
      if (ranges) yield ranges;
      ranges = [];
    }
    const [, first, count = '1'] = HUNK.exec(line) ?? [];
    if (first !== undefined) ranges?.push(rangeOf(Number(first), Number(count)));
  }
  if (ranges) yield ranges;
}

function rangeOf(first: number, count: number): LineRange {
  return count === 0 ? [first, first + 1] : [first, first + count - 1];
}

/** The beginnings of lines: all that headers and hunks need, whatever the length of the line. */
function* linesOf(patch: Buffer): Generator<string> {
  for (let from = 0; from < patch.length; ) {
    const end = patch.indexOf('\n', from);
    const stop = end === -1 ? patch.length : end;
    yield patch.toString('latin1', from, Math.min(stop, from + 64));
    from = stop + 1;
  }
}
