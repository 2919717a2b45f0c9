import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import { parseJson } from '../../base/safe-json.ts';
import { ReefError } from '../../protocol/errors.ts';
import { type SessionRecord, sessionIdSchema, sessionRecordSchema } from '../http/door/asked.ts';

/** With which scope each session of a home was begun over HTTP. */
export class SessionRecords {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  async add(record: SessionRecord): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    await writeAtomic(this.#file(record.id), `${JSON.stringify(record)}\n`);
  }

  async get(id: string): Promise<SessionRecord> {
    const text = await readFile(this.#file(id), 'utf8').catch(() => '');
    const json = parseJson(text);
    const record = sessionRecordSchema.safeParse(json.ok ? json.value : undefined);
    if (!record.success) throw new ReefError('session_not_found', `There is no session ${id}`);
    return record.data;
  }

  /** Oldest first. */
  async all(): Promise<SessionRecord[]> {
    const names = await readdir(this.#dir).catch(() => []);
    const ids = names.flatMap((file) => (file.endsWith('.json') ? [file.slice(0, -'.json'.length)] : []));
    const known = ids.filter((id) => sessionIdSchema.safeParse(id).success);
    const records = await Promise.all(known.map((id) => this.get(id).catch(() => undefined)));
    const found = records.filter((record) => record !== undefined);
    return found.sort((one, other) => one.createdAt.localeCompare(other.createdAt));
  }

  async remove(id: string): Promise<void> {
    await rm(this.#file(id), { force: true });
  }

  #file(id: string): string {
    return join(this.#dir, `${id}.json`);
  }
}
