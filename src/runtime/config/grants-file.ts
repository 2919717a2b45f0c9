import { z } from 'zod';
import type { Environment } from '../../base/env.ts';
import { onFirstUse } from '../../base/lazily.ts';
import { Limiter } from '../../base/serial.ts';
import { createPaths } from '../paths.ts';
import { readBy, writeSettings } from './settings-file.ts';

const grantSchema = onFirstUse(() =>
  z.strictObject({
    /** Of what is allowed: a request with another one is asked about. */
    fingerprint: z.string(),
    /** The same in words, as it was shown. Absent: exactly this tool with these arguments. */
    covers: z.string().optional(),
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

/** The calls that the user allowed for good. It lies in the user's own folder, out of reach of every repository. */
export class GrantsFile {
  readonly #path: string;
  readonly #writes = new Limiter();

  constructor(path: string) {
    this.#path = path;
  }

  list(): Grant[] {
    return readBy(this.#path, fileSchema())?.grants ?? [];
  }

  /** A file that cannot be read allows nothing. */
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

  /** Takes back every grant whose fingerprint begins with `prefix`. */
  revoke(prefix: string): Promise<void> {
    return this.#change((grants) => grants.filter(({ fingerprint }) => !fingerprint.startsWith(prefix)));
  }

  #change(change: (grants: Grant[]) => Grant[]): Promise<void> {
    return this.#writes.run(async () => {
      const grants = change(this.list());
      await writeSettings(this.#path, `${JSON.stringify({ version: 1, grants }, null, 2)}\n`);
    });
  }
}
