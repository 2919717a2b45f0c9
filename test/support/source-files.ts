import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NOT_OURS = new Set(['node_modules', 'fixtures', 'golden', 'recordings', 'generated']);

/** TypeScript files below a folder of the repository, as paths from its root. */
export function sourceFiles(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });
  return entries
    .flatMap((entry) => {
      if (NOT_OURS.has(entry.name)) return [];
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return sourceFiles(path);
      return path.endsWith('.ts') ? [path] : [];
    })
    .sort();
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}
