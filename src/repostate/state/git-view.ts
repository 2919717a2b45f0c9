import { hashFiles } from '../../git/blobs.ts';
import type { Checkout } from '../../git/checkout.ts';
import type { Git } from '../../git/git-command.ts';
import { baseVersions, readTreeState, type Version } from '../../git/status.ts';
import { linkBlob } from './file-facts.ts';

export interface GitView {
  head: string;
  branch: string | null;
  /** Paths that may differ from base: their version there, null where base has none. */
  base: ReadonlyMap<string, Version | null>;
}

export interface GitSource {
  look(): Promise<GitView>;
  /** Blob ids as `git hash-object` gives them; none for what is gone or no file. */
  blobs(files: readonly { path: string; kind: 'file' | 'link' }[]): Promise<Map<string, string>>;
}

/** Longer is as good as no answer. */
const GIT_MS = 10_000;

/** Reef's own folders are no part of anybody's work. */
export function isPrivatePath(path: string): boolean {
  return /^\.(reef|maestro)(\/|$)/.test(path);
}

/** The worktree as git sees it against `base`. What lies between base and HEAD is asked once per pair of commits. */
export function createGitSource(git: Git, checkout: Checkout, base: string): GitSource {
  let between: { head: string; versions: Map<string, Version | null> } | undefined;
  return {
    async look() {
      const { head = '', branch, changed } = await readTreeState(git, checkout, GIT_MS);
      if (between?.head !== head) {
        const isSame = head === '' || base === '' || head === base;
        between = { head, versions: isSame ? new Map() : await baseVersions(git, checkout, { base, head }) };
      }
      const merged = new Map([...changed, ...between.versions]);
      for (const path of merged.keys()) if (isPrivatePath(path) || path.endsWith('/')) merged.delete(path);
      return { head, branch, base: merged };
    },
    async blobs(files) {
      const regular = files.filter(({ kind }) => kind === 'file').map(({ path }) => path);
      const links = files.filter(({ kind }) => kind === 'link').map(({ path }) => path);
      const found = await fileBlobs(git, checkout, regular);
      for (const path of links) {
        const blob = await linkBlob(checkout.toplevel, path, base.length);
        if (blob !== undefined) found.set(path, blob);
      }
      return found;
    },
  };
}

async function fileBlobs(git: Git, checkout: Checkout, paths: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  if (paths.length === 0) return found;
  for await (const { path, oid } of hashFiles(git, checkout, paths)) if (oid !== undefined) found.set(path, oid);
  return found;
}

/** The same of one folder of the worktree, by paths from there: for an agent that works in no other. */
export function within(source: GitSource, folder: string): GitSource {
  if (folder === '') return source;
  const prefix = `${folder}/`;
  return {
    async look() {
      const view = await source.look();
      const inside = [...view.base].filter(([path]) => path.startsWith(prefix));
      return { ...view, base: new Map(inside.map(([path, version]) => [path.slice(prefix.length), version])) };
    },
    async blobs(files) {
      const found = await source.blobs(files.map((file) => ({ ...file, path: `${prefix}${file.path}` })));
      return new Map([...found].map(([path, oid]) => [path.slice(prefix.length), oid]));
    },
  };
}
