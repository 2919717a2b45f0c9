import { z } from 'zod';
import { codeTools } from './code.ts';
import { operation, type Rest } from './operation.ts';

/** Questions about the code of a worktree. An agent always asks about its own worktree. */
const worktree = z.string().min(1).max(4_096).optional().describe('Title, id or path; default: your own');

/** A tool of the analysis server as an operation on a worktree. */
function asked<S extends z.ZodRawShape, O extends z.ZodType>(
  tool: { summary: string; input: z.ZodObject<S>; output: O },
  rest: Rest,
) {
  return operation({
    effect: 'reads',
    rest,
    summary: tool.summary,
    input: tool.input.extend({ worktree }),
    output: tool.output,
  });
}

/** The code tools that are operations under their own names. */
const queries = {
  get_file_outline: asked(codeTools.get_file_outline, { method: 'GET', path: '/v1/code/outline' }),
  get_directory_outline: asked(codeTools.get_directory_outline, { method: 'GET', path: '/v1/code/tree' }),
  get_symbol: asked(codeTools.get_symbol, { method: 'GET', path: '/v1/code/symbol' }),
  get_symbol_references: asked(codeTools.get_symbol_references, { method: 'GET', path: '/v1/code/references' }),
  get_callers: asked(codeTools.get_callers, { method: 'GET', path: '/v1/code/callers' }),
  get_callees: asked(codeTools.get_callees, { method: 'GET', path: '/v1/code/callees' }),
  get_impact: asked(codeTools.get_impact, { method: 'GET', path: '/v1/code/impact' }),
  get_tests: asked(codeTools.get_tests, { method: 'GET', path: '/v1/code/tests' }),
  find_symbols: asked(codeTools.find_symbols, { method: 'GET', path: '/v1/code/find' }),
  code_search: asked(codeTools.code_search, { method: 'GET', path: '/v1/code/search' }),
  // A question may be longer than an address can be.
  explore_code: asked(codeTools.explore_code, { method: 'POST', path: '/v1/code/explore' }),
};
export type CodeQuery = keyof typeof queries;
export const codeQueries = Object.keys(queries) as CodeQuery[];

export const codeOperations = {
  ...queries,
  code_index: operation({
    effect: 'reads',
    noTool: 'no agent has to know that there is an index',
    rest: { method: 'POST', path: '/v1/code/index' },
    summary: 'Index a worktree, and report what is indexed, reused, pending and skipped.',
    input: z.strictObject({ worktree, wait: z.enum(['usable', 'complete']).default('usable') }),
    output: codeTools.index_code.output,
  }),
  code_slice: operation({
    effect: 'reads',
    noTool: 'explore_code does it for agents; this shows people what a block would see',
    rest: { method: 'POST', path: '/v1/code/slice' },
    summary: 'Print what a block of a workflow would see of the code.',
    input: z.strictObject({
      worktree,
      slices: z.array(z.string().min(1).max(20_000)).min(1).max(100),
      budget: z.number().int().min(200).max(32_000).default(4_000),
    }),
    output: z.strictObject({ text: z.string(), complete: z.boolean() }),
  }),
};
