import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { writeAtomic } from '../../base/atomic-file.ts';
import type { Environment } from '../../base/env.ts';
import { onFirstUse } from '../../base/lazily.ts';
import { createPaths } from '../paths.ts';
import { parseBy, readIfThere } from './settings-file.ts';

const grantSchema = onFirstUse(() =>
  z.strictObject({
    /** Of tool, arguments and folder: exactly that again is allowed, nothing like it. */
    fingerprint: z.string(),
    tool: z.string(),
    input: z.unknown(),
    cwd: z.string(),
    at: z.string(),
    by: z.string(),
  }),
);
export type Grant = z.infer<ReturnType<typeof grantSchema>>;

const fileSchema = onFirstUse(() => z.strictObject({ version: z.literal(1), grants: z.array(grantSchema()) }));

export function grantsPath(env: Pick<Environment, 'all' | 'home'>): string {
  return createPaths(env.all, env.home).localPath('grants.json');
}

/** What the user allowed for good: in the user's own folder, out of reach of every repository. */
export class GrantsFile {
  readonly #path: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  list(): Grant[] {
    const text = readIfThere(this.#path);
    return text === undefined ? [] : parseBy({ file: this.#path, text }, fileSchema()).grants;
  }

  /** A file nobody can read allows nothing. */
  has(fingerprint: string): boolean {
    try {
      return this.list().some((grant) => grant.fingerprint === fingerprint);
    } catch {
      return false;
    }
  }

  add(grant: Grant): Promise<void> {
    return this.#change((grants) => [...grants.filter(({ fingerprint }) => fingerprint !== grant.fingerprint), grant]);
  }

  /** Takes back those whose fingerprint begins like that. */
  revoke(prefix: string): Promise<void> {
    return this.#change((grants) => grants.filter(({ fingerprint }) => !fingerprint.startsWith(prefix)));
  }

  #change(change: (grants: Grant[]) => Grant[]): Promise<void> {
    const next = this.#writing.then(async () => {
      const grants = change(this.list());
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      await writeAtomic(this.#path, `${JSON.stringify({ version: 1, grants }, null, 2)}\n`);
    });
    this.#writing = next.catch(() => {});
    return next;
  }
}
