import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { COMPILED } from '../compile-cache.ts';

/** What a program asks of the kernel that changes files, in the order in which it was done. */

export const hasStrace = spawnSync('strace', ['-V']).status === 0;

export type Change =
  | { does: 'create'; path: string; cuts: boolean }
  | { does: 'write'; path: string; at: number; bytes: Buffer }
  | { does: 'cut'; path: string; size: number }
  | { does: 'rename'; path: string; to: string }
  | { does: 'remove'; path: string }
  | { does: 'sync'; path: string }
  /** Its words to whoever watches it: not a change of a file. */
  | { does: 'say'; text: string };

export interface SystemCall {
  thread: string;
  name: string;
  /** Which of that name in its thread: the number that strace's `when` counts. */
  nth: number;
  /** Which of that name in all threads: it looks alike and means another call. */
  merged: number;
  change?: Change;
}

const CALLS = 'openat,close,write,writev,pwrite64,ftruncate,rename,unlink,fsync,fdatasync,lseek';
const NODE_ENV = { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: COMPILED, UV_THREADPOOL_SIZE: '1' };

/** Runs a program of Node under strace. `inject` is strace's own word for a fault. */
export function traced(
  args: readonly string[],
  folder: string,
  inject: readonly string[] = [],
): { trace: string; signal: string | null } {
  const file = `${folder}.trace`;
  const how = ['-f', '-qq', '-y', '-xx', '-s', '2000000', '-o', file];
  const what = inject.length > 0 ? inject : ['--seccomp-bpf', '-e', `trace=${CALLS}`];
  const { signal, stderr } = spawnSync('strace', [...how, ...what, process.execPath, ...args], {
    env: NODE_ENV,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (stderr !== '') throw new Error(stderr);
  const trace = readFileSync(file, 'utf8');
  rmSync(file);
  return { trace, signal };
}

/** Of a whole trace, with what each call changed below the folder. */
export function systemCalls(trace: string, folder: string): SystemCall[] {
  const counts = new Map<string, number>();
  const count = (key: string) => {
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts.get(key) ?? 0;
  };
  const reader = new ChangeReader(folder);
  return joined(trace).map(({ thread, name, args, result }) => {
    const change = reader.read(name, args, result);
    const call = { thread, name, nth: count(`${thread} ${name}`), merged: count(name) };
    return change ? { ...call, change } : call;
  });
}

interface Line {
  thread: string;
  name: string;
  args: string;
  result: number;
}

/** Calls that another thread interrupted are told in two lines, and were done when the second came. */
export function joined(trace: string): Line[] {
  const begun = new Map<string, string>();
  return trace.split('\n').flatMap((line) => {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/s.exec(line) ?? [];
    if (rest.endsWith('<unfinished ...>')) {
      begun.set(thread, rest.slice(0, -'<unfinished ...>'.length));
      return [];
    }
    const whole = rest.replace(/^<\.\.\. \w+ resumed>/, () => begun.get(thread) ?? '');
    const [, name, args = '', result] = /^(\w+)\((.*)\) += (-?\d+)/s.exec(whole) ?? [];
    return name === undefined ? [] : [{ thread, name, args, result: Number(result) }];
  });
}

const unhex = (text: string) => Buffer.from(text.replaceAll('\\x', ''), 'hex');
const quoted = (args: string) => [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex = '']) => unhex(hex));

/** Knows where each open file is written next, for calls that do not say. */
class ChangeReader {
  readonly #folder: string;
  readonly #places = new Map<string, { at: number; appends: boolean }>();
  readonly #sizes = new Map<string, number>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  read(name: string, args: string, result: number): Change | undefined {
    if (result < 0) return undefined;
    const strings = quoted(args);
    const [path = '', to = ''] = strings.map(String);
    const [, fd = '', hex = ''] = /^(\d+)<((?:\\x[0-9a-f]{2})*)/.exec(args) ?? [];
    switch (name) {
      case 'writev':
        return fd === '1' ? { does: 'say', text: path } : undefined;
      case 'openat':
        return this.#open(path, args, String(result));
      case 'rename':
        return this.#isOurs(path) ? { does: 'rename', path, to } : undefined;
      case 'unlink':
        return this.#isOurs(path) ? { does: 'remove', path } : undefined;
      default:
        return this.#ofDescriptor(name, { fd, path: unhex(hex).toString(), args, result });
    }
  }

  #ofDescriptor(
    name: string,
    { fd, path, args, result }: { fd: string; path: string; args: string; result: number },
  ): Change | undefined {
    if (!this.#isOurs(path)) return undefined;
    const last = Number(/, (-?\d+)$/.exec(args)?.[1]);
    const place = this.#places.get(fd) ?? { at: 0, appends: false };
    switch (name) {
      case 'fsync':
      case 'fdatasync':
        return { does: 'sync', path };
      case 'ftruncate':
        this.#sizes.set(path, last);
        return { does: 'cut', path, size: last };
      case 'lseek':
        place.at = result;
        return undefined;
      case 'pwrite64':
      case 'write': {
        const at = name === 'pwrite64' ? last : place.appends ? (this.#sizes.get(path) ?? 0) : place.at;
        const bytes = (quoted(args)[0] ?? Buffer.alloc(0)).subarray(0, result);
        place.at = at + bytes.length;
        this.#places.set(fd, place);
        this.#sizes.set(path, Math.max(this.#sizes.get(path) ?? 0, at + bytes.length));
        return { does: 'write', path, at, bytes };
      }
      default:
        return undefined;
    }
  }

  #open(path: string, args: string, fd: string): Change | undefined {
    this.#places.set(fd, { at: 0, appends: args.includes('O_APPEND') });
    const cuts = args.includes('O_TRUNC');
    if (!this.#isOurs(path) || !(args.includes('O_CREAT') || cuts)) return undefined;
    if (cuts) this.#sizes.set(path, 0);
    return { does: 'create', path, cuts };
  }

  #isOurs(path = ''): boolean {
    return path === this.#folder || dirname(path) === this.#folder;
  }
}

/** The same file in two runs: names of temporary files are made by chance. */
export const stableName = (path: string) => basename(path).replace(/^\.reef-tmp-.*/, '.reef-tmp');
