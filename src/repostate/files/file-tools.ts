import type { SafeDir } from '../../base/safe-dir.ts';
import { safeParts } from '../../base/safe-path.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { RewriteWatch } from '../detect/rewrite-watch.ts';
import { hashOf, NEW_FILE_MODE, type OnDisk, onDisk, writeUnlessSame } from './write-same.ts';

export type WriteResult =
  | { success: true; noop: true; message: string; path: string }
  | { success: true; noop: false; path: string; hash: string; size: number; remark?: string };

interface FileToolSettings {
  dir: SafeDir;
  rewrites: RewriteWatch;
  /** `context.guards`. Off, every write is made: only to measure what the guards are worth. */
  guards?: boolean;
  /** Hashes by path, as an earlier process of this job saw them. */
  seen?: ReadonlyMap<string, string>;
}

const SAME = 'File already exists with identical content';
const NO_EFFECT = 'The edit changes nothing';

/** The file tools of a coder: it must read a file before it overwrites it, and identical content is not written again. */
export class FileTools {
  readonly #dir: SafeDir;
  readonly #rewrites: RewriteWatch;
  readonly #guards: boolean;
  readonly #seen: Map<string, string>;

  constructor({ dir, rewrites, guards = true, seen = new Map() }: FileToolSettings) {
    this.#dir = dir;
    this.#rewrites = rewrites;
    this.#guards = guards;
    this.#seen = new Map(seen);
  }

  /** The `range` of the result is its first and last line, counted from 1. */
  async read(path: string, range: { from?: number; to?: number } = {}) {
    const name = nameOf(path);
    const file = await onDisk(this.#dir, name);
    if (!file) throw Object.assign(new Error(`There is no file ${name}.`), { code: 'ENOENT' });
    const { hash, content } = file;
    this.#seen.set(name, hash);
    const lines = content.toString('utf8').split('\n');
    const from = Math.max(1, range.from ?? 1);
    const to = Math.min(lines.length, range.to ?? lines.length);
    const shown: [number, number] = [from, to];
    return { path: name, hash, text: lines.slice(from - 1, to).join('\n'), range: shown, lines: lines.length };
  }

  async write(path: string, content: string, options: { replace?: boolean } = {}): Promise<WriteResult> {
    const name = nameOf(path);
    const data = Buffer.from(content);
    const before = await onDisk(this.#dir, name);
    if (!this.#guards) {
      await this.#dir.write(name, data, before ? undefined : NEW_FILE_MODE);
      return { success: true, noop: false, path: name, hash: hashOf(data), size: data.length };
    }
    if (before?.content.equals(data)) {
      this.#seen.set(name, before.hash);
      return { success: true, noop: true, message: SAME, path: name };
    }
    if (before) this.#refuse(name, before, options.replace === true);
    const remark = before && this.#rewrites.judge(name, before.content.toString('utf8'), content);
    return this.#put(name, data, remark);
  }

  /** Replaces a text that occurs exactly once, or every occurrence when asked to. */
  async edit(path: string, change: { old: string; new: string; all?: boolean }): Promise<WriteResult> {
    const name = nameOf(path);
    const before = await onDisk(this.#dir, name);
    if (!before) throw notFound(name, 0);
    this.#refuse(name, before, true);
    const text = before.content.toString('utf8');
    if (!Buffer.from(text).equals(before.content)) {
      throw new ReefError('bad_request', `${name} is not UTF-8 text.`, { details: { path: name } });
    }
    const pieces = change.old === '' ? [] : text.split(change.old);
    const count = Math.max(0, pieces.length - 1);
    if (count === 0 || (count > 1 && !change.all)) throw notFound(name, count);
    const after = pieces.join(change.new);
    if (after === text) return { success: true, noop: true, message: NO_EFFECT, path: name };
    return this.#put(name, Buffer.from(after));
  }

  async #put(name: string, data: Buffer, remark?: string): Promise<WriteResult> {
    await writeUnlessSame(this.#dir, name, data);
    this.#rewrites.wrote(name, data.toString('utf8'));
    const hash = hashOf(data);
    this.#seen.set(name, hash);
    return { success: true, noop: false, path: name, hash, size: data.length, ...(remark !== undefined && { remark }) };
  }

  /** Throws when the file must not be replaced: not on purpose, or not as this job last saw it. */
  #refuse(path: string, before: OnDisk, isMeant: boolean): void {
    if (!this.#guards) return;
    const details = { path, hash: before.hash, size: before.content.length };
    if (!isMeant) {
      const what = `${path} exists (${before.hash.slice(0, 6)}, ${details.size} bytes)`;
      throw new ReefError('file_exists', `${what}: use edit_file.`, { details });
    }
    const seen = this.#seen.get(path);
    if (seen === undefined) throw new ReefError('unread_file', `${path} was never read by this job.`, { details });
    if (seen !== before.hash) throw new ReefError('stale_file', `${path} changed since it was read.`, { details });
  }
}

/** One spelling per file: `./a//b` is `a/b`. */
function nameOf(path: string): string {
  return safeParts(path).join('/');
}

function notFound(path: string, count: number): ReefError {
  const why = count === 0 ? 'does not contain the text to replace' : `contains the text ${count} times`;
  return new ReefError('edit_not_found', `${path} ${why}.`, { details: { path, count } });
}
