import { randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';
import { safeName } from '../paths.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const TEMP = /\.tmp$/;
const STALE_MS = 60_000;
/** Names we made ourselves lie apart from those people chose. */
export const AUTONAMES = '_';

export const isSessionId = (text: string) => UUID.test(text);

/** `NAME`, or `_/NAME` for one we made. */
function fileOf(dir: string, alias: string): string {
  const isOurs = alias.startsWith(`${AUTONAMES}/`);
  const name = isOurs ? alias.slice(2) : alias;
  if (isSessionId(name) || name === AUTONAMES || TEMP.test(name)) {
    throw new ReefError('name_invalid', `${JSON.stringify(alias)} is no name of a session`);
  }
  return isOurs ? join(dir, AUTONAMES, safeName(name)) : join(dir, safeName(name));
}

/** Names of sessions: a folder of small files, each holding an id. */
export class AliasFolder {
  readonly #dir: string;
  readonly #warn: (message: string) => void;

  constructor(dir: string, warn: (message: string) => void) {
    this.#dir = dir;
    this.#warn = warn;
  }

  /** What holds no id is as good as missing; it is told, not mended: it may be somebody's. */
  async resolve(alias: string): Promise<string | undefined> {
    const file = fileOf(this.#dir, alias);
    const text = await readFile(file, 'utf8').catch(missing);
    if (text === undefined) return undefined;
    const id = text.trim();
    if (isSessionId(id)) return id;
    this.#warn(`${file} holds no session's id and is ignored`);
    return undefined;
  }

  /** False when the name is taken. Whoever reads it sees the whole id or no file. */
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

  /** Only while it still means that session. */
  async release(alias: string, id: string): Promise<void> {
    if ((await this.resolve(alias)) === id) await unlink(fileOf(this.#dir, alias)).catch(missing);
  }

  /** A name that leads nowhere, so that it can be claimed anew. */
  async discard(alias: string): Promise<void> {
    await unlink(fileOf(this.#dir, alias)).catch(missing);
  }

  async list(): Promise<string[]> {
    return (await namesIn(this.#dir)).filter((name) => name !== AUTONAMES);
  }

  async listAutonames(): Promise<string[]> {
    return namesIn(join(this.#dir, AUTONAMES));
  }

  /** What a killed `claim` left; a minute is longer than any that is still under way. */
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
