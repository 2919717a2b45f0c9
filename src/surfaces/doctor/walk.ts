import { opendir } from 'node:fs/promises';
import { join } from 'node:path';

/** Everything below a folder. Links are not followed, and unreadable folders are skipped. */
export async function* walk(dir: string, names?: RegExp): AsyncGenerator<string> {
  const entries = await opendir(dir).catch(() => undefined);
  if (!entries) return;
  for await (const entry of entries) {
    if (names && !names.test(entry.name)) continue;
    const path = join(dir, entry.name);
    yield path;
    if (entry.isDirectory()) yield* walk(path);
  }
}
