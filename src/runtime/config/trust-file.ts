import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { writeAtomic } from '../../base/atomic-file.ts';
import type { Environment } from '../../base/env.ts';
import { createPaths } from '../paths.ts';
import { parseBy, readIfThere } from './settings-file.ts';

const recordSchema = z.strictObject({
  repo: z.string(),
  /** What was shown, by name, and the hash of exactly that content. */
  items: z.record(z.string(), z.string()),
  at: z.string(),
  by: z.string(),
});
type TrustRecord = z.infer<typeof recordSchema>;

const fileSchema = z.strictObject({ version: z.literal(1), repositories: z.array(recordSchema) });

export function trustPath(env: Pick<Environment, 'all' | 'home'>): string {
  return createPaths(env.all, env.home).trustFile();
}

export function trustHash(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}

/** What the user lets each repository contribute, item by item: in the user's own folder, out of its reach. */
export class TrustFile {
  readonly #path: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  isTrusted(repo: string, name: string, hash: string): boolean {
    return this.#read().some((record) => record.repo === repo && record.items[name] === hash);
  }

  /** Whether a person has trusted anything of it. */
  knows(repo: string): boolean {
    return this.#read().some((record) => record.repo === repo);
  }

  add(record: TrustRecord): Promise<void> {
    const next = this.#writing.then(async () => {
      const all = this.#read();
      const before = all.find(({ repo }) => repo === record.repo);
      const merged = { ...record, items: { ...before?.items, ...record.items } };
      const repositories = [...all.filter(({ repo }) => repo !== record.repo), merged];
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      await writeAtomic(this.#path, `${JSON.stringify({ version: 1, repositories }, null, 2)}\n`);
    });
    this.#writing = next.catch(() => {});
    return next;
  }

  #read(): TrustRecord[] {
    const text = readIfThere(this.#path);
    return text === undefined ? [] : parseBy({ file: this.#path, text }, fileSchema).repositories;
  }
}
