import { isAbsolute, relative } from 'node:path';

/** roberto-mcp names files by their real path. Undefined: it lies outside, and nobody asked about it (C-004). */
export function relativePath(roots: readonly string[], path: string): string | undefined {
  if (!isAbsolute(path)) return path;
  const root = roots.find((each) => path.startsWith(`${each}/`));
  return root === undefined ? undefined : relative(root, path);
}

/**
 * Where a snippet stands, counted from 1: null unless there is exactly one such place. When the words of a query stand in no line
 * together, roberto-mcp shows the beginning of the file; then the first line with any of them is meant.
 */
export function lineOfSnippet(lines: readonly string[], snippet: string, query: string): number | null {
  const wanted = snippet.split('\n');
  const fits = (start: number) => wanted.every((line, index) => lines[start + index] === line);
  const [start, ...others] = lines.flatMap((line, index) => (line === wanted[0] && fits(index) ? [index] : []));
  if (start === undefined || others.length > 0) return null;
  const words = query.toLowerCase().split(/\s+/);
  const lineWith = (text: string) => wanted.findIndex((line) => line.toLowerCase().includes(text));
  const hit = [query.toLowerCase(), ...words].map(lineWith).find((index) => index >= 0) ?? 0;
  return start + hit + 1;
}
