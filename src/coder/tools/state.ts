import { z } from 'zod';
import type { RepoState } from '../../protocol/repostate.ts';
import { formatForPrompt, turnName } from '../../repostate/snapshot/format.ts';
import { defineTool } from '../../runtime/tools/define-tool.ts';
import type { Tool } from '../../runtime/tools/tool.ts';
import type { CoderDeps } from '../coder-deps.ts';
import { taskLine } from './talk.ts';

/** The state of the worktree, and texts that were left out of the prompt. */
export function stateTools({ tracker, artifacts, counter, redact, jobId }: CoderDeps): Tool[] {
  return [
    defineTool({
      name: 'repo_state',
      description: 'The repository as it is now: all of it, or one section.',
      effect: 'read',
      arguments: z.strictObject({ section: z.enum(['files', 'tasks', 'runs']).optional() }),
      run: async ({ section }) => {
        await tracker.refresh('asked');
        const state = tracker.getSnapshot();
        return section
          ? sectionText(state, section, jobId)
          : formatForPrompt(state, { count: counter.count, redact, jobId });
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
      run: async ({ id, ...options }) => {
        const slice = await artifacts.read(id, options);
        return slice.nextOffset === undefined
          ? slice.text
          : `${slice.text}\n[go on with offset ${slice.nextOffset} of ${slice.total}]`;
      },
    }),
  ];
}

/** One section of the state, a line for each entry. */
export function sectionText(state: RepoState, section: 'files' | 'tasks' | 'runs', jobId?: string): string {
  const { files, openTasks, runs } = state;
  const lines = {
    files: () => files.map(({ status, path, hash, size }) => `${status} ${path} ${hash.slice(0, 6)} ${size}`),
    tasks: () => openTasks.map(taskLine),
    runs: () => runs.map((run) => `${turnName(run, jobId)} $ ${run.command} → ${run.exit}: ${run.line}`),
  };
  return lines[section]().join('\n');
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

/** Questions about the code of this worktree. They fail without the daemon; files can be read all the same. */
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
