import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import type { EgressRules } from './egress/rules.ts';
import { guardedPlace, isFolder, isInside, isNothing } from './guarded.ts';
import { seccompFilter } from './seccomp.ts';

/**
 * What a sandboxed program may touch; everything else is read-only. Of nested paths the longer one decides: a worktree inside
 * Reef's hidden home is writable, and `.git` inside it may be read-only again.
 */
export interface SandboxSpec {
  kind: 'bubblewrap';
  writable: readonly string[];
  /** The user's home. The program finds a folder of its own in its place, with nothing in it but what is named below. */
  home?: string | undefined;
  readOnly?: readonly string[];
  /**
   * What the program finds, writable, at another path: its private copy of what lies there. Where nothing lies, and nothing
   * can be made, there is none either.
   */
  binds?: readonly { from: string; to: string; isReadOnly?: boolean }[];
  /** Files, folders and sockets. An absent one in a writable folder leaves an empty file, which the caller removes. */
  hidden: readonly string[];
  /** Cannot be changed. One that is absent is an empty folder meanwhile, which `unguard` removes; a link is guarded where it leads. */
  guarded?: readonly string[];
  /** `host` keeps abstract sockets reachable as well; the others close those. */
  network: 'host' | 'none' | EgressRules;
  limits?: SandboxLimits | undefined;
  /** A folder of ours for what the sandbox itself needs: its private /tmp lies here. */
  scratch: string;
}

export interface SandboxLimits {
  /** With their threads, in the sandbox. The kernel does not count those of root. */
  processes: number;
  /** Of each process: a limit of their sum would take a control group. */
  memoryMb?: number | undefined;
}

/** The beginning of every sandbox; `probeCapabilities` tries it. */
export const SANDBOX_BASE = [
  '--unshare-user', // without it a sandboxed root could undo the mounts
  '--unshare-pid',
  '--unshare-ipc',
  '--die-with-parent',
  ...['--cap-drop', 'ALL'],
  ...['--ro-bind', '/', '/'],
  ...['--dev', '/dev'],
  ...['--proc', '/proc'],
  // Root may write settings of the kernel without any capability, such as the program that is run for a crash.
  ...['sys', 'irq', 'bus', 'fs', 'acpi'].flatMap((name) => ['--ro-bind-try', `/proc/${name}`, `/proc/${name}`]),
];

/** The options for bubblewrap, up to and without the program, and the file it wants as descriptor 9. Makes the scratch folder. */
export function sandboxOptions(spec: SandboxSpec, cwd: string): { options: string[]; filter: string } {
  const { temporary, empty, ownHome, filter, hasFilter } = makeScratch(spec.scratch);
  // Where the home is a link into another folder, it is empty at both ends.
  const ends = spec.home === undefined ? [] : [placeOf(spec.home, spec.hidden), resolveLinks(spec.home)];
  const home = [...new Set(ends)].filter(() => isFolder(ends[1] ?? ''));
  const writable = spec.writable.map(existing);
  const hidden = [...new Set(spec.hidden.map(resolveLinks))]
    .filter((path) => existsSync(path) || isInside(path, writable))
    .filter((path) => !home.includes(path));
  const bare = [...spec.hidden, ...home]; // where no link of the user's leads anywhere
  const named = (spec.readOnly ?? []).map((path) => ({ from: existing(path), path: placeOf(path, bare) }));
  const { guarded, absent, held } = guards(spec, { writable, closed: [...named.map(({ path }) => path), ...hidden] });
  const readOnly = guarded.map((path) => ({ from: path, path }));
  const binds = (spec.binds ?? []).map(({ to, ...bind }) => ({ ...bind, path: placeOf(to, bare) }));
  const opened = [...writable, ...hidden, ...home, ...binds.flatMap((bind) => (bind.isReadOnly ? [] : [bind.path]))];
  const mounts = [
    { path: '/tmp', options: ['--bind', temporary, '/tmp'] },
    ...home.map((path) => ({ path, options: ['--bind', ownHome, path] })),
    ...[...writable, ...held].map((path) => ({ path, options: ['--bind', path, path] })),
    ...[...named, ...readOnly].map(({ from, path }) => ({ path, options: ['--ro-bind', from, path] })),
    ...binds.flatMap(({ from, path, isReadOnly = false }) => {
      if (!existsSync(path) && !isInside(path, opened)) return [];
      return [{ path, options: [isReadOnly ? '--ro-bind' : '--bind', existing(from), path] }];
    }),
    ...absent.map((path) => ({ path, options: ['--tmpfs', path] })),
    ...hidden.map((path) => ({ path, options: isFolder(path) ? ['--tmpfs', path] : ['--ro-bind', empty, path] })),
  ];
  const options = [
    ...SANDBOX_BASE,
    ...(hasFilter ? ['--seccomp', '9'] : []),
    ...(spec.network === 'host' ? [] : ['--unshare-net']),
    ...mounts.sort((a, b) => a.path.length - b.path.length).flatMap((mount) => mount.options),
    // Last, because the mounts within need their folders made first.
    ...[...hidden.filter(isFolder), ...absent].flatMap((path) => ['--remount-ro', path]),
    ...['--setenv', 'TMPDIR', '/tmp', '--chdir', cwd],
  ];
  return { options, filter };
}

/**
 * A guarded link can be replaced, which `putBack` undoes. Where it leads is closed like every guarded place, and the folders on
 * the way are held: the place of a mount cannot be moved.
 */
function guards(spec: SandboxSpec, { writable, closed }: { writable: readonly string[]; closed: readonly string[] }) {
  const isOpen = (path: string, walls: readonly string[]) =>
    deepest(path, writable) > deepest(path, walls) && !walls.includes(path);
  const found = (spec.guarded ?? []).map((path) => ({
    literal: resolveLinks(dirname(path)),
    place: guardedPlace(path),
  }));
  const places = found.flatMap(({ place }) => (place !== undefined && isInside(place, writable) ? [place] : []));
  const guarded = [...new Set(places.filter((path) => !isNothing(path)))];
  const walls = [...closed, ...guarded];
  const absent = [...new Set(places.filter((path) => isNothing(path) && isOpen(path, walls)))];
  const onTheWay = found.flatMap(({ literal, place }) => {
    const folders: string[] = [];
    for (let at = dirname(place ?? literal); isInside(at, writable) && at !== literal; at = dirname(at))
      folders.push(at);
    return folders;
  });
  const held = [...new Set(onTheWay)].filter((path) => isOpen(path, walls) && !writable.includes(path));
  return { guarded, absent, held };
}

/** Of the folders around a path, how long the name of the innermost is. */
function deepest(path: string, folders: readonly string[]): number {
  return Math.max(-1, ...folders.filter((folder) => path.startsWith(`${folder}/`)).map(({ length }) => length));
}

/** An empty regular file hides better than /dev/null, which programs find unreadable and then fail. */
function makeScratch(scratch: string) {
  const at = (name: string) => join(scratch, name);
  const [temporary, ownHome, empty, filter] = [at('tmp'), at('home'), at('empty'), at('filter')];
  const rules = seccompFilter();
  for (const folder of [temporary, ownHome]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(empty, '', { mode: 0o600 });
  writeFileSync(filter, rules ?? '', { mode: 0o600 });
  return { temporary, empty, ownHome, filter, hasFilter: rules !== undefined };
}

function existing(path: string): string {
  if (!existsSync(path)) throw new ReefError('spawn_failed', `The sandbox needs ${path}, which does not exist`);
  return realpathSync(path);
}

/** Bubblewrap mounts on real paths only. Of an absent path the folder is resolved. */
function resolveLinks(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  return folder === path ? path : join(resolveLinks(folder), basename(path));
}

/** Where a path lies inside the sandbox: below a hidden folder, which begins empty, no link leads anywhere. */
function placeOf(path: string, hidden: readonly string[]): string {
  const folder = hidden.find((each) => path.startsWith(`${each}/`) && isFolder(resolveLinks(each)));
  return folder === undefined ? resolveLinks(path) : join(resolveLinks(folder), path.slice(folder.length));
}
