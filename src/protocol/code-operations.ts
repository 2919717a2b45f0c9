import { z } from 'zod';
import { codeTools } from './code.ts';
import { operation } from './operation.ts';

/** Questions about the code of a worktree. An agent always asks about its own worktree. */
const worktree = z.string().min(1).max(4_096).optional().describe('Worktree id or path; default: your own worktree');

const about = { worktree };

/** A tool of the analysis server, asked of the worktree that is meant. */
function asked<S extends z.ZodRawShape, O extends z.ZodType>(tool: {
  summary: string;
  input: z.ZodObject<S>;
  output: O;
}) {
  return operation({ effect: 'reads', summary: tool.summary, input: tool.input.extend(about), output: tool.output });
}

export const codeOperations = {
  get_file_outline: asked(codeTools.get_file_outline),
  get_directory_outline: asked(codeTools.get_directory_outline),
  get_symbol: asked(codeTools.get_symbol),
  get_symbol_references: asked(codeTools.get_symbol_references),
  find_symbols: asked(codeTools.find_symbols),
  code_search: asked(codeTools.code_search),
  explore_code: asked(codeTools.explore_code),
  code_index: operation({
    effect: 'reads',
    noTool: 'no agent has to know that there is an index',
    summary: 'Index a worktree, and report what is indexed, reused, pending and skipped.',
    input: z.strictObject({ ...about, wait: z.enum(['usable', 'complete']).default('usable') }),
    output: codeTools.index_code.output,
  }),
  code_slice: operation({
    effect: 'reads',
    noTool: 'explore_code does it for agents; this shows people what a block would see',
    summary: 'Print what a block of a workflow would see of the code.',
    input: z.strictObject({
      ...about,
      slices: z.array(z.string().min(1).max(20_000)).min(1).max(100),
      budget: z.number().int().min(200).max(32_000).default(4_000),
    }),
    output: z.strictObject({ text: z.string(), complete: z.boolean() }),
  }),
};

/** The code tools that are operations under their own names. */
export const codeQueries = [
  'get_file_outline',
  'get_directory_outline',
  'get_symbol',
  'get_symbol_references',
  'find_symbols',
  'code_search',
  'explore_code',
] as const;
export type CodeQuery = (typeof codeQueries)[number];
