import type { Checkout } from './checkout.ts';
import type { Git } from './git-command.ts';
import { nextField, nulFields } from './nul-fields.ts';
import type { Oid } from './ref-name.ts';

/** One letter of porcelain v2: `.` unchanged, M, T, A, D, R, C. */
type Letter = string;

export type StatusEntry =
  | { kind: 'changed'; path: string; from?: string; staged: Letter; unstaged: Letter; head: Version; index: Version }
  | { kind: 'unmerged'; path: string; sides: string }
  | { kind: 'untracked'; path: string };

interface Version {
  mode: string;
  oid: Oid;
}

/**
 * What differs between HEAD, index and files. Paths that are not UTF-8 come out with replacement characters. Submodules
 * are left out: git would run `git status` inside each, with that repository's configuration in effect.
 */
export async function readStatus(git: Git, checkout: Checkout): Promise<StatusEntry[]> {
  const args = ['status', '--porcelain=v2', '-z', '--untracked-files=all', '--ignore-submodules=all', '--find-renames'];
  const { stdout } = await git.call(checkout, [...args, '--no-ahead-behind'], { maxBytes: 128 * 1024 * 1024 });
  const fields = nulFields(stdout);
  const entries: StatusEntry[] = [];
  for (const field of fields) {
    const line = field.toString('utf8');
    // The name before a renaming is a field of its own.
    const from = line.startsWith('2 ') ? nextField(fields) : undefined;
    const entry = parse(line, from);
    if (entry) entries.push(entry);
  }
  return entries;
}

function parse(line: string, from: string | undefined): StatusEntry | undefined {
  const [type] = line;
  if (type === '?') return { kind: 'untracked', path: line.slice(2) };
  if (type === 'u') return { kind: 'unmerged', path: afterBlanks(line, 10), sides: line.slice(2, 4) };
  if (type !== '1' && type !== '2') return undefined;
  const words = line.split(' ', 8) as [string, string, string, string, string, string, Oid, Oid];
  const [, letters, , headMode, indexMode, , headOid, indexOid] = words;
  return {
    kind: 'changed',
    path: afterBlanks(line, type === '1' ? 8 : 9),
    ...(from !== undefined && { from }),
    staged: letters.charAt(0),
    unstaged: letters.charAt(1),
    head: { mode: headMode, oid: headOid },
    index: { mode: indexMode, oid: indexOid },
  };
}

/** A path may contain blanks itself: it is all that follows the fields before it. */
function afterBlanks(line: string, count: number): string {
  let at = 0;
  for (let left = count; left > 0; left--) at = line.indexOf(' ', at) + 1;
  return line.slice(at);
}
