import type { Checkout } from './checkout.ts';
import { diffTrees } from './diff.ts';
import type { Git } from './git-command.ts';
import { nulFields } from './nul-fields.ts';
import type { Oid } from './ref-name.ts';

export interface Version {
  mode: string;
  oid: Oid;
}

export interface TreeState {
  /** Absent in a repository without a commit. */
  head?: Oid;
  /** Short name; null when detached. */
  branch: string | null;
  /** What may differ between HEAD and the files, by path: its version in HEAD, or null where HEAD has none. */
  changed: Map<string, Version | null>;
}

const ABSENT = '000000';
const ARGS = ['--porcelain=v2', '--branch', '-z', '--untracked-files=all', '--ignore-submodules=all', '--no-renames'];

/** HEAD, branch and everything that differs from HEAD, untracked files included, by one command. */
export async function readTreeState(git: Git, checkout: Checkout, timeoutMs: number): Promise<TreeState> {
  const options = { timeoutMs, maxBytes: 128 * 1024 * 1024 };
  const { stdout } = await git.call(checkout, ['status', ...ARGS, '--no-ahead-behind'], options);
  const state: TreeState = { branch: null, changed: new Map() };
  for (const field of nulFields(stdout)) takeLine(state, field.toString('utf8'));
  return state;
}

function takeLine(state: TreeState, line: string): void {
  const words = line.split(' ');
  const [type, second = '', third = ''] = words;
  if (type === '#') {
    if (second === 'branch.oid' && third !== '(initial)') state.head = third;
    if (second === 'branch.head' && third !== '(detached)') state.branch = line.slice('# branch.head '.length);
  } else if (type === '?') state.changed.set(line.slice(2), null);
  else if (type === '1') state.changed.set(words.slice(8).join(' '), version(words[3], words[6]));
  // Of a conflict, our side is what HEAD has.
  else if (type === 'u') state.changed.set(words.slice(10).join(' '), version(words[4], words[8]));
}

function version(mode = ABSENT, oid = ''): Version | null {
  return mode === ABSENT ? null : { mode, oid };
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
