import { existsSync, readdirSync } from 'node:fs';
import type { Paths } from './paths.ts';

/** Names of the files of one kind; a folder that is not there has none. */
export function namesIn(dir: string, ending: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .flatMap((name) => (name.endsWith(ending) && !name.startsWith('.') ? [name.slice(0, -ending.length)] : []))
    .sort();
}

export const listRags = (paths: Paths) => namesIn(paths.ragsDir(), '.yaml');
