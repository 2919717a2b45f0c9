import { hashFiles } from '../../git/blobs.ts';
import type { Checkout } from '../../git/checkout.ts';
import type { Git } from '../../git/git-command.ts';
import { baseVersions, readTreeState, type Version } from '../../git/status.ts';
import { linkBlob } from './file-facts.ts';

export interface GitView {
  head: string;
  branch: string | null;
  /** Paths that may differ from base, with their version in base. Null when base does not have them. */
  base: ReadonlyMap<string, Version | null>;
}

export interface GitSource {
  look(): Promise<GitView>;
  /** Blob ids as from `git hash-object`. None for a path that is gone or not a file. */
  blobs(files: readonly { path: string; kind: 'file' | 'link' }[]): Promise<Map<string, string>>;
}

const GIT_MS = 10_000;

/** Reef's own folders are not part of the work. */
export function isPrivatePath(path: string): boolean {
  return /^\.(reef|maestro)(\/|$)/.test(path);
}

/** The worktree compared with `base`. The changes from base to HEAD are read once per HEAD. */
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
      const found = await fileBlobs(git, checkout, files);
      for (const { path, kind } of files) {
        const blob = kind === 'link' ? await linkBlob(checkout.toplevel, path, base.length) : undefined;
        if (blob !== undefined) found.set(path, blob);
      }
      return found;
    },
  };
}

async function fileBlobs(git: Git, checkout: Checkout, files: Parameters<GitSource['blobs']>[0]) {
  const found = new Map<string, string>();
  const paths = files.filter(({ kind }) => kind === 'file').map(({ path }) => path);
  if (paths.length === 0) return found;
  for await (const { path, oid } of hashFiles(git, checkout, paths)) if (oid !== undefined) found.set(path, oid);
  return found;
}

/** The same for one folder of the worktree, with paths relative to it, for an agent that works only there. */
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
