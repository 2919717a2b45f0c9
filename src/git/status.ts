import { isTemporary } from '../base/atomic-file.ts';
import type { Checkout } from './checkout.ts';
import { diffTrees } from './diff.ts';
import type { Git } from './git-command.ts';
import { nextField, nulFields } from './nul-fields.ts';
import type { Oid } from './ref-name.ts';

export interface Version {
  mode: string;
  oid: Oid;
}

/** A path whose file or index entry may differ from HEAD. */
export interface StatusEntry {
  path: string;
  /** The name before a renaming. */
  from?: string;
  isUntracked: boolean;
  /** Its version in HEAD, of a conflict our side; null where HEAD has none. */
  head: Version | null;
}

/** Submodules are left out: git would run `git status` inside each, with that repository's configuration in effect. */
const ARGS = [
  'status',
  '--porcelain=v2',
  '-z',
  '--untracked-files=all',
  '--ignore-submodules=all',
  '--no-ahead-behind',
];
const MAX_BYTES = 128 * 1024 * 1024;
const ABSENT = '000000';

/** What differs between HEAD, index and files. Paths that are not UTF-8 come out with replacement characters. */
export async function readStatus(git: Git, checkout: Checkout): Promise<StatusEntry[]> {
  const { stdout } = await git.call(checkout, [...ARGS, '--find-renames'], { maxBytes: MAX_BYTES });
  const fields = nulFields(stdout);
  const entries: StatusEntry[] = [];
  for (const field of fields) {
    const entry = parse(field.toString('utf8'));
    if (!entry) continue;
    // The name before a renaming is a field of its own.
    entries.push(field.toString('latin1', 0, 1) === '2' ? { ...entry, from: nextField(fields) } : entry);
  }
  return entries;
}

interface TreeState {
  /** Absent in a repository without a commit. */
  head?: Oid;
  /** Short name; null when detached. */
  branch: string | null;
  /** What may differ between HEAD and the files, by path: its version in HEAD. */
  changed: Map<string, Version | null>;
}

/** HEAD, branch and everything that differs from HEAD, untracked files included, by one command. */
export async function readTreeState(git: Git, checkout: Checkout, timeoutMs: number): Promise<TreeState> {
  const options = { timeoutMs, maxBytes: MAX_BYTES };
  const { stdout } = await git.call(checkout, [...ARGS, '--branch', '--no-renames'], options);
  const state: TreeState = { branch: null, changed: new Map() };
  for (const field of nulFields(stdout)) {
    const line = field.toString('utf8');
    const [, label, value = ''] = /^# branch\.(\w+) (.*)$/s.exec(line) ?? [];
    if (label === 'oid' && value !== '(initial)') state.head = value;
    if (label === 'head' && value !== '(detached)') state.branch = value;
    const entry = parse(line);
    if (entry) state.changed.set(entry.path, entry.head);
  }
  return state;
}

/** A path may contain blanks itself: it is all that follows the fields before it. */
function parse(line: string): StatusEntry | undefined {
  const words = line.split(' ');
  const [type] = words;
  if (type === '?') {
    const path = line.slice(2);
    return isTemporary(path) ? undefined : { path, isUntracked: true, head: null };
  }
  if (type === 'u') return tracked(words.slice(10), words[4], words[8]);
  if (type === '1' || type === '2') return tracked(words.slice(type === '1' ? 8 : 9), words[3], words[6]);
  return undefined;
}

function tracked(path: string[], mode = ABSENT, oid = ''): StatusEntry {
  return { path: path.join(' '), isUntracked: false, head: mode === ABSENT ? null : { mode, oid } };
}

/** Paths whose version in `base` is not that in `head`: the one in `base`, or null where it has none. */
export async function baseVersions(
  git: Git,
  checkout: Checkout,
  { base, head }: { base: Oid; head: Oid },
): Promise<Map<string, Version | null>> {
  const versions = new Map<string, Version | null>();
  for (const change of await diffTrees(git, checkout, { from: base, to: head })) {
    if (change.from !== undefined) versions.set(change.from, change.before);
    const isNew = change.status === 'A' || change.status === 'R';
    versions.set(change.path, isNew ? null : change.before);
  }
  return versions;
}
