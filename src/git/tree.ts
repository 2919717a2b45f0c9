import { isTemporary } from '../base/atomic-file.ts';
import type { Checkout } from './checkout.ts';
import type { Git } from './git-command.ts';
import { nextField, nulFields } from './nul-fields.ts';
import { checkOid, type Oid } from './ref-name.ts';

export interface TreeEntry {
  mode: string;
  oid: Oid;
  path: string;
}

export interface IndexEntry extends TreeEntry {
  /** 0, or 1 to 3 of a conflict. */
  stage: number;
}

/** A listing holds about 120 bytes a file: a million files fit, and a longer answer is refused. */
const LISTING = { maxBytes: 192 * 1024 * 1024 };

/** Files, links and submodules of a tree or commit. Paths that are not UTF-8 come out with replacement characters. */
export async function* listTree(git: Git, checkout: Checkout, tree: Oid): AsyncGenerator<TreeEntry> {
  const args = ['ls-tree', '-r', '-z', '--full-tree', '--end-of-options', checkOid(tree)];
  const { stdout } = await git.call(checkout, args, LISTING);
  for (const field of nulFields(stdout)) {
    const { words, path } = splitAtTab(field);
    const [mode, , oid] = words as [string, string, Oid];
    yield { mode, oid, path };
  }
}

/** The index of a checkout, conflicts included, entries outside a sparse checkout left out. */
export async function* listIndex(git: Git, checkout: Checkout): AsyncGenerator<IndexEntry> {
  const { stdout } = await git.call(checkout, ['ls-files', '--stage', '-t', '-z'], LISTING);
  for (const field of nulFields(stdout)) {
    const { words, path } = splitAtTab(field);
    const [tag, mode, oid, stage] = words as [string, string, Oid, string];
    if (tag !== 'S') yield { mode, oid, stage: Number(stage), path };
  }
}

/** Files neither tracked nor ignored. A nested repository is one entry that ends with `/`. */
export async function* listUntracked(git: Git, checkout: Checkout): AsyncGenerator<string> {
  const paths = listPaths(git, checkout, ['ls-files', '--others', '--exclude-standard', '-z']);
  for await (const path of paths) if (!isTemporary(path)) yield path;
}

/** Files that are not tracked, ignored or not. A nested repository is one entry that ends with `/`. */
export function listOthers(git: Git, checkout: Checkout): AsyncGenerator<string> {
  return listPaths(git, checkout, ['ls-files', '--others', '-z']);
}

/** Ignored files. A whole folder is one entry that ends with `/`. */
export function listIgnored(git: Git, checkout: Checkout): AsyncGenerator<string> {
  return listPaths(git, checkout, ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']);
}

/** Tracked paths whose time or size differs from the index. Submodules are skipped. */
export function listTouched(git: Git, checkout: Checkout): AsyncGenerator<string> {
  return listPaths(git, checkout, ['diff-files', '--name-only', '-z', '--ignore-submodules=all', '--no-ext-diff']);
}

/** The paths with a filter such as LFS: their file may differ from its blob. */
export async function filteredPaths(git: Git, checkout: Checkout, paths: readonly string[]): Promise<Set<string>> {
  const input = paths.map((path) => `${path}\0`).join('');
  const { stdout } = await git.call(checkout, ['check-attr', '-z', '--stdin', 'filter'], { ...LISTING, input });
  const fields = nulFields(stdout);
  const found = new Set<string>();
  for (const path of fields) {
    nextField(fields); // the attribute's name
    if (!NO_FILTER.has(nextField(fields))) found.add(path.toString('utf8'));
  }
  return found;
}

const NO_FILTER = new Set(['unspecified', 'unset', 'set']);

async function* listPaths(git: Git, checkout: Checkout, args: readonly string[]): AsyncGenerator<string> {
  const { stdout } = await git.call(checkout, args, LISTING);
  for (const field of nulFields(stdout)) yield field.toString('utf8');
}

function splitAtTab(field: Buffer): { words: string[]; path: string } {
  const tab = field.indexOf('\t');
  return { words: field.toString('latin1', 0, tab).split(' '), path: field.toString('utf8', tab + 1) };
}
