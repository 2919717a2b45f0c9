import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ReefError } from '../protocol/errors.ts';

/**
 * What a sandboxed program may touch; everything else is read-only. Where paths lie within each other the longer one
 * decides: a worktree inside the hidden home of Reef is writable, `.git` inside it may be read-only again.
 */
export interface SandboxSpec {
  kind: 'bubblewrap';
  writable: readonly string[];
  readOnly?: readonly string[];
  /** Files, folders and sockets. One that is absent in a writable folder leaves an empty file behind, for the caller to remove. */
  hidden: readonly string[];
  /**
   * Stays as it is, also where it is absent: there an empty folder is put in its place, which git does not see and `unguard`
   * takes away again.
   */
  guarded?: readonly string[];
  /** `host` keeps abstract sockets reachable as well; only `none` closes those. */
  network: 'host' | 'none';
  /** A folder of ours for what the sandbox itself needs: its private /tmp lies here. */
  scratch: string;
}

/** What every sandbox begins with, and what is tried to find out whether there can be one. */
export const SANDBOX_BASE = [
  '--unshare-user', // without it a sandboxed root could undo the mounts
  '--unshare-pid',
  '--unshare-ipc',
  '--die-with-parent',
  ...['--cap-drop', 'ALL'],
  ...['--ro-bind', '/', '/'],
  ...['--dev', '/dev'],
  ...['--proc', '/proc'],
];

interface Mount {
  path: string;
  options: string[];
}

/** The options for bubblewrap, up to and without the program. Makes the scratch folder. */
export function sandboxOptions(spec: SandboxSpec, cwd: string): string[] {
  const { temporary, empty } = makeScratch(spec.scratch);
  const writable = spec.writable.map(existing);
  const hidden = spec.hidden.map(resolveLinks).filter((path) => existsSync(path) || isInside(path, writable));
  const guarded = (spec.guarded ?? []).map(resolveLinks).filter((path) => isInside(path, writable));
  const absent = guarded.filter(isNothing);
  const mounts: Mount[] = [
    { path: '/tmp', options: ['--bind', temporary, '/tmp'] },
    ...writable.map((path) => ({ path, options: ['--bind', path, path] })),
    ...(spec.readOnly ?? []).map(existing).map((path) => ({ path, options: ['--ro-bind', path, path] })),
    ...guarded.filter((path) => !isNothing(path)).map((path) => ({ path, options: ['--ro-bind', path, path] })),
    ...absent.map((path) => ({ path, options: ['--tmpfs', path] })),
    ...hidden.map((path) => ({ path, options: isFolder(path) ? ['--tmpfs', path] : ['--ro-bind', empty, path] })),
  ];
  return [
    ...SANDBOX_BASE,
    ...(spec.network === 'none' ? ['--unshare-net'] : []),
    ...mounts.sort((a, b) => a.path.length - b.path.length).flatMap((mount) => mount.options),
    // Last, because the mounts within need their folders made first.
    ...[...hidden.filter(isFolder), ...absent].flatMap((path) => ['--remount-ro', path]),
    ...['--setenv', 'TMPDIR', '/tmp', '--chdir', cwd],
  ];
}

/** After the last program that was kept from them: what stood for something absent goes, and nothing else can. */
export function unguard(guarded: readonly string[]): void {
  for (const path of guarded) {
    try {
      rmdirSync(path);
    } catch {
      // it is a file, or not empty, or not there: it was never ours
    }
  }
}

/** An empty regular file hides better than /dev/null, which programs find unreadable and then fail. */
function makeScratch(scratch: string): { temporary: string; empty: string } {
  const temporary = join(scratch, 'tmp');
  const empty = join(scratch, 'empty');
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  writeFileSync(empty, '', { mode: 0o600 });
  return { temporary, empty };
}

function existing(path: string): string {
  if (!existsSync(path)) throw new ReefError('spawn_failed', `The sandbox needs ${path}, which does not exist`);
  return realpathSync(path);
}

/** Bubblewrap mounts on real paths only; of an absent one the folder decides. */
function resolveLinks(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  return folder === path ? path : join(resolveLinks(folder), basename(path));
}

function isInside(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path.startsWith(`${folder}/`));
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** An empty folder of such a name tells nobody anything: another sandbox may have put it there. */
function isNothing(path: string): boolean {
  return !existsSync(path) || (isFolder(path) && readdirSync(path).length === 0);
}
