import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Environment } from '../../base/env.ts';
import { Limiter } from '../../base/serial.ts';
import { createPaths } from '../paths.ts';
import { readBy, writeSettings } from './settings-file.ts';

const recordSchema = z.strictObject({
  repo: z.string(),
  /** The name of each item that was shown, and the hash of exactly that content. */
  items: z.record(z.string(), z.string()),
  at: z.string(),
  by: z.string(),
});
type TrustRecord = z.infer<typeof recordSchema>;

const fileSchema = z.strictObject({ version: z.literal(1), repositories: z.array(recordSchema) });

export function trustPath(env: Pick<Environment, 'all' | 'home'>): string {
  return createPaths(env.all, env.home).trustFile();
}

export function trustHash(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The items that the user trusts, by repository. It lies in the user's own folder, out of reach of every repository. */
export class TrustFile {
  readonly #path: string;
  readonly #writes = new Limiter();

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
    return this.#writes.run(async () => {
      const all = this.#read();
      const before = all.find(({ repo }) => repo === record.repo);
      const merged = { ...record, items: { ...before?.items, ...record.items } };
      const repositories = [...all.filter(({ repo }) => repo !== record.repo), merged];
      await writeSettings(this.#path, `${JSON.stringify({ version: 1, repositories }, null, 2)}\n`);
    });
  }

  #read(): TrustRecord[] {
    return readBy(this.#path, fileSchema)?.repositories ?? [];
  }
}
