import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { ReefError } from '../protocol/errors.ts';

/** A file that Reef keeps in the user's folder; undefined while there is none. One that cannot be read is never taken for empty. */
export function readOwnFile<T>(path: string, schema: z.ZodType<T>): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new ReefError('config_invalid', `${path} cannot be read: mend or remove it`, { cause: error });
  }
}
