import { isAbsolute, relative } from 'node:path';

/** A file of the worktree as lines; undefined when it cannot be read. */
export type ReadLines = (worktreePath: string, filePath: string) => Promise<string[] | undefined>;

/** roberto-mcp names files by their real path. Undefined: it lies outside, and nobody asked about it (C-004). */
export function relativePath(roots: readonly string[], path: string): string | undefined {
  if (!isAbsolute(path)) return path;
  const root = roots.find((each) => path.startsWith(`${each}/`));
  return root === undefined ? undefined : relative(root, path);
}

/** Where a snippet stands, counted from 1: null unless there is exactly one such place. */
export function lineOfSnippet(lines: readonly string[], snippet: string, query: string): number | null {
  const wanted = snippet.split('\n');
  const fits = (start: number) => wanted.every((line, index) => lines[start + index] === line);
  const [start, ...others] = lines.flatMap((line, index) => (line === wanted[0] && fits(index) ? [index] : []));
  if (start === undefined || others.length > 0) return null;
  const hit = wanted.findIndex((line) => line.toLowerCase().includes(query.toLowerCase()));
  return start + Math.max(0, hit) + 1;
}
