import { z } from 'zod';
import type { FileTools, WriteResult } from '../../repostate/files/file-tools.ts';
import { defineTool } from '../../runtime/tools/define-tool.ts';
import type { Tool } from '../../runtime/tools/tool.ts';
import type { CoderDeps } from '../coder-deps.ts';
import type { Repeats } from './watched.ts';

const path = z.string().min(1).max(4_096).describe('Relative to the worktree');
const MOST_ENTRIES = 500;

interface FileToolDeps extends Pick<CoderDeps, 'dir' | 'tracker' | 'edited'> {
  files: FileTools;
  repeats: Repeats;
  isShown(turn: number): boolean;
  onReading(key: string): void;
}

export function fileTools(deps: FileToolDeps): Tool[] {
  const { files, tracker, dir, edited } = deps;
  const wrote = async (tool: string, result: WriteResult, kind: 'add' | 'update') => {
    await tracker.updateFromToolResult(tool, result);
    if (result.noop) return { success: true, noop: true, message: result.message };
    edited({ path: result.path, kind });
    return result;
  };
  return [
    readFile(deps),
    defineTool({
      name: 'write_file',
      description: 'Create a file. To change one that exists use edit_file; replace: true rewrites it whole.',
      effect: 'write',
      arguments: z.strictObject({ path, content: z.string(), replace: z.boolean().optional() }),
      run: async ({ path: at, content, replace }) => {
        const isThere = await dir.stat(at).then(
          () => true,
          () => false,
        );
        const result = await files.write(at, content, replace === undefined ? {} : { replace });
        return wrote('write_file', result, isThere ? 'update' : 'add');
      },
    }),
    defineTool({
      name: 'edit_file',
      description: 'Replace a text that occurs exactly once in a file, or every occurrence with all: true.',
      effect: 'write',
      arguments: z.strictObject({ path, old: z.string().min(1), new: z.string(), all: z.boolean().optional() }),
      run: async ({ path: at, old, new: text, all }) =>
        wrote('edit_file', await files.edit(at, { old, new: text, ...(all !== undefined && { all }) }), 'update'),
    }),
    defineTool({
      name: 'list_files',
      description: 'The entries of a folder.',
      effect: 'read',
      arguments: z.strictObject({ path: z.string().max(4_096).default('.') }),
      run: async ({ path: at }) => {
        const entries = await dir.list(at === '.' ? '' : at);
        const shown = entries
          .slice(0, MOST_ENTRIES)
          .map(({ name, kind, size }) => (kind === 'dir' ? `${name}/` : `${name} ${size}`));
        const rest = entries.length - shown.length;
        return [...shown, ...(rest > 0 ? [`… ${rest} more`] : [])].join('\n') || '(empty)';
      },
    }),
  ];
}

function readFile({ files, tracker, repeats, isShown, onReading }: FileToolDeps): Tool {
  return defineTool({
    name: 'read_file',
    description: 'Lines of a file, all of them unless from and to are given.',
    effect: 'read',
    arguments: z.strictObject({
      path,
      from: z.number().int().min(1).optional(),
      to: z.number().int().min(1).optional(),
    }),
    run: async ({ path: at, from, to }) => {
      const read = await files.read(at, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) });
      await tracker.updateFromToolResult('read_file', { ...read });
      onReading(`${read.path} ${read.range.join('-')} ${read.hash}`);
      const known = repeats.afterRead(read, isShown);
      if (known !== undefined) return known;
      const isPart = read.range[0] > 1 || read.range[1] < read.lines;
      return isPart
        ? `lines ${read.range[0]}-${read.range[1]} of ${read.lines}\n${read.text}`
        : read.text || '(empty file)';
    },
  });
}
