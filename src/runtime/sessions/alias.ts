import { randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';
import { safeName } from '../paths.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const TEMP = /\.tmp$/;
/** Longer than any `claim` that is still running. */
const STALE_MS = 60_000;
const LONGEST_TITLE = 60;
/** The folder of the names that Reef made, apart from those that people chose. */
const AUTONAMES = '_';

export const isSessionId = (text: string) => UUID.test(text);

/** A title from a model as part of a name: letters, digits and hyphens. */
export function slugOfTitle(title: string): string {
  return title
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .slice(0, LONGEST_TITLE)
    .replace(/^-+|-+$/g, '');
}

/** `_/YYYYMMDDTHHMMSS[-slug]`. */
export function autoname(now: Date, title = ''): string {
  const stamp = now.toISOString().replace(/[-:]|\.\d+Z$/g, '');
  return `${AUTONAMES}/${[stamp, slugOfTitle(title)].filter((part) => part !== '').join('-')}`;
}

/** `NAME`, or `_/NAME` for a name that Reef made. */
function fileOf(dir: string, alias: string): string {
  const isOurs = alias.startsWith(`${AUTONAMES}/`);
  const name = isOurs ? alias.slice(2) : alias;
  if (isSessionId(name) || name === AUTONAMES || TEMP.test(name)) {
    throw new ReefError('name_invalid', `${JSON.stringify(alias)} cannot be the name of a session`);
  }
  return isOurs ? join(dir, AUTONAMES, safeName(name)) : join(dir, safeName(name));
}

/** The names of sessions: a folder with a small file per name, which holds the session's id. */
export class AliasFolder {
  readonly #dir: string;
  readonly #warn: (message: string) => void;

  constructor(dir: string, warn: (message: string) => void) {
    this.#dir = dir;
    this.#warn = warn;
  }

  /** A file that holds no id counts as missing. It gives a warning and stays: it may belong to somebody. */
  async resolve(alias: string): Promise<string | undefined> {
    const file = fileOf(this.#dir, alias);
    const text = await readFile(file, 'utf8').catch(missing);
    if (text === undefined) return undefined;
    const id = text.trim();
    if (isSessionId(id)) return id;
    this.#warn(`${file} is ignored: it holds no session id`);
    return undefined;
  }

  /** False if the name is taken. A reader sees the whole id or no file. */
  async claim(alias: string, id: string): Promise<boolean> {
    const file = fileOf(this.#dir, alias);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const temp = `${file}.${randomUUID()}.tmp`;
    await writeFile(temp, `${id}\n`, { mode: 0o600, flush: true });
    try {
      await link(temp, file);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      await unlink(temp);
    }
  }

  /** Frees the name if it still means that session. */
  async release(alias: string, id: string): Promise<void> {
    if ((await this.resolve(alias)) === id) await unlink(fileOf(this.#dir, alias)).catch(missing);
  }

  /** Frees the name of a session that is gone. */
  async discard(alias: string): Promise<void> {
    await unlink(fileOf(this.#dir, alias)).catch(missing);
  }

  async list(): Promise<string[]> {
    return (await namesIn(this.#dir)).filter((name) => name !== AUTONAMES);
  }

  async listAutonames(): Promise<string[]> {
    return namesIn(join(this.#dir, AUTONAMES));
  }

  /** Removes what a killed `claim` left. */
  async sweep(now: Date): Promise<void> {
    for (const dir of [this.#dir, join(this.#dir, AUTONAMES)]) {
      for (const name of (await readdir(dir).catch(missing)) ?? []) {
        const path = join(dir, name);
        const made = TEMP.test(name) ? await stat(path).catch(missing) : undefined;
        if (made && now.getTime() - made.mtimeMs > STALE_MS) await unlink(path).catch(missing);
      }
    }
  }
}

async function namesIn(dir: string): Promise<string[]> {
  const names = (await readdir(dir).catch(missing)) ?? [];
  return names.filter((name) => !TEMP.test(name)).sort();
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
