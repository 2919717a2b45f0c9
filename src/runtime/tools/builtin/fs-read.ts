import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import { type Locations, named } from './location.ts';

const path = z.string().min(1).describe('Path, relative to the working directory');
const LONGEST_LINE = 2_000;
const MAX_FILE = 16 * 1024 * 1024;

export function readingTools(locations: Locations): Tool[] {
  const { claims } = locations;
  const textOf = (file: string, cwd: string) => {
    const location = locations.locate(file, cwd);
    return named(location, async () => (await location.dir.read(location.path, MAX_FILE)).toString('utf8'));
  };
  return [
    defineTool({
      name: 'fs_cat',
      description: 'Shows the whole of a file.',
      effect: 'read',
      arguments: z.object({ path }),
      claims,
      run: ({ path: file }, { cwd }) => textOf(file, cwd),
    }),
    defineTool({
      name: 'fs_read',
      description: 'Shows lines of a file, each with its number. Long files are read in pieces by offset and limit.',
      effect: 'read',
      arguments: z.object({
        path,
        offset: z.number().int().min(1).default(1).describe('First line, counted from 1'),
        limit: z.number().int().min(1).max(10_000).default(2_000).describe('How many lines'),
      }),
      claims,
      run: async ({ path: file, offset, limit }, { cwd }) => numbered(await textOf(file, cwd), offset, limit),
    }),
    defineTool({
      name: 'fs_ls',
      description: 'Lists a folder; folders end in a slash.',
      effect: 'read',
      arguments: z.object({ path: path.default('.') }),
      claims,
      async run({ path: folder }, { cwd }) {
        const location = locations.locate(folder, cwd);
        const entries = await named(location, () => location.dir.list(location.path));
        const lines = entries.map(({ name, kind }) => `${name}${kind === 'dir' ? '/' : kind === 'link' ? '@' : ''}`);
        return lines.length === 0 ? '(empty)' : lines.join('\n');
      },
    }),
  ];
}

function numbered(text: string, offset: number, limit: number): string {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const shown = lines.slice(offset - 1, offset - 1 + limit);
  if (shown.length === 0) return `(the file has ${lines.length} lines)`;
  const last = offset - 1 + shown.length;
  const more =
    last < lines.length ? [`(lines ${offset} to ${last} of ${lines.length}; go on with offset ${last + 1})`] : [];
  return [...shown.map((line, n) => `${offset + n}\t${cut(line)}`), ...more].join('\n');
}

function cut(line: string): string {
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)}… (${line.length} characters)`;
}
