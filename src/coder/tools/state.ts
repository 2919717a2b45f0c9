import { z } from 'zod';
import { formatForPrompt } from '../../repostate/snapshot/format.ts';
import { defineTool } from '../../runtime/tools/define-tool.ts';
import type { Tool } from '../../runtime/tools/tool.ts';
import type { CoderDeps } from '../coder-deps.ts';

/** What is true of the worktree now, and what was left out of the prompt. */
export function stateTools({
  tracker,
  artifacts,
  counter,
  redact,
}: Pick<CoderDeps, 'tracker' | 'artifacts' | 'counter' | 'redact'>): Tool[] {
  return [
    defineTool({
      name: 'repo_state',
      description: 'The repository as it is now: all of it, or one section.',
      effect: 'read',
      arguments: z.strictObject({ section: z.enum(['files', 'tasks', 'runs']).optional() }),
      run: async ({ section }) => {
        await tracker.refresh('asked');
        const state = tracker.getSnapshot();
        if (section === 'files')
          return state.files
            .map(({ path, status, hash, size }) => `${status} ${path} ${hash.slice(0, 6)} ${size}`)
            .join('\n');
        if (section === 'tasks')
          return state.openTasks.map(({ id, status, description }) => `${id} [${status}] ${description}`).join('\n');
        if (section === 'runs')
          return state.runs
            .map(({ turn, command, exit, line }) => `t${turn} $ ${command} → ${exit}: ${line}`)
            .join('\n');
        return formatForPrompt(state, { count: counter.count, redact });
      },
    }),
    defineTool({
      name: 'artifact_read',
      description: 'Text that was cut from the prompt: an id such as a:3f9c2e1, or t12 for a whole earlier turn.',
      effect: 'read',
      arguments: z.strictObject({
        id: z.string().min(1).max(200),
        offset: z.number().int().min(0).optional(),
        limit: z.number().int().min(1).max(6_000).optional(),
        grep: z.string().min(1).max(1_000).optional(),
      }),
      run: async ({ id, offset, limit, grep }) => {
        const options = {
          ...(offset !== undefined && { offset }),
          ...(limit !== undefined && { limit }),
          ...(grep !== undefined && { grep }),
        };
        const slice = await artifacts.read(id, options);
        return slice.nextOffset === undefined
          ? slice.text
          : `${slice.text}\n[go on with offset ${slice.nextOffset} of ${slice.total}]`;
      },
    }),
  ];
}

const CODE_TOOLS = [
  ['get_file_outline', 'The definitions of one file.', z.strictObject({ file_path: z.string().min(1) })],
  [
    'get_symbol',
    'Where a name is defined.',
    z.strictObject({ name: z.string().min(1), include_source: z.boolean().optional() }),
  ],
  [
    'get_symbol_references',
    'Every use of a name.',
    z.strictObject({ name: z.string().min(1), limit: z.number().int().min(1).max(200).optional() }),
  ],
  [
    'code_search',
    'Ranked search for words in the code.',
    z.strictObject({ query: z.string().min(1), limit: z.number().int().min(1).max(50).optional() }),
  ],
] as const;

/** Questions about the code of this worktree; without the daemon they say so, and files can still be read. */
export function codeTools({ askCode }: Pick<CoderDeps, 'askCode'>): Tool[] {
  return CODE_TOOLS.map(([name, description, schema]) =>
    defineTool({
      name,
      description,
      effect: 'read',
      arguments: schema,
      run: (args, { signal }) => askCode(name, args, signal),
    }),
  );
}
