import { existsSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { checkoutOf, findRepository } from '../../../base/home.ts';
import type { CodeQuery } from '../../../protocol/code-operations.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { OperationInput } from '../../../protocol/operations.ts';
import { errorBody } from '../../client/request.ts';
import { codeAnswer, indexReport, namedIn } from '../../render/code.ts';
import { type Cli, type Command, operationCommand } from '../cli.ts';

interface CodeOptions {
  worktree?: string;
  limit?: number;
  budget?: number;
  depth?: number;
  source?: true;
  text?: true;
  type?: string;
  glob?: string;
  cursor?: string;
  file?: string;
  line?: number;
  complete?: true;
}

/** What a person types for the field of a tool, or for a tool. */
const TYPED: Record<string, string> = {
  file_path: '--file',
  budget_tokens: '--budget',
  symbol_type: '--type',
  include_text: '--text',
  include_source: '--source',
  'require: complete': '--complete',
  find_symbols: 'reef code find',
  get_symbol_references: 'reef code refs',
  code_search: 'reef code search',
  explore_code: 'reef code explore',
};
const FLAGS = new Set(['limit', 'cursor', 'line', 'depth', 'glob', 'worktree']);

const typed = (field: string) => TYPED[field] ?? (FLAGS.has(field) ? `--${field}` : field);

/** A question about the code of the checkout around the current folder, unless another worktree is named. */
function question<N extends CodeQuery>(
  name: N,
  toInput: (args: string[], options: CodeOptions, cli: Cli) => { [K in keyof OperationInput<N>]: unknown },
): Command<CodeOptions> {
  const input = (args: string[], options: CodeOptions, cli: Cli) => {
    const require = options.complete && 'complete';
    return { ...toInput(args, options, cli), require, worktree: worktreeOf(cli, options) } as never;
  };
  const ask: Command<CodeOptions> = operationCommand(name, input, (answer, style) =>
    codeAnswer(name, answer, { ...style, names: typed }),
  );
  return (cli, args, options) => ask(cli, args, options).catch((error: unknown) => Promise.reject(inFlags(error)));
}

/** A refusal names fields; who typed flags is told which of them to correct. */
function inFlags(error: unknown): unknown {
  const { code, message, details } = errorBody(error).error;
  if (code === 'bad_arguments') return new ReefError(code, namedIn(message, typed), { cause: error });
  if (!Array.isArray(details?.fields)) return error;
  const fields = details.fields as { field: string; message: string }[];
  const told = fields.map((each) => `${typed(each.field)}: ${each.message}`).join('; ');
  return new ReefError('bad_request', told, { details, cause: error });
}

export const outline = question('get_file_outline', ([file = ''], _options, cli) => ({
  file_path: inCheckout(cli, file),
}));
export const tree = question('get_directory_outline', ([folder = '.'], { depth, cursor }, cli) => ({
  directory_path: inCheckout(cli, folder),
  depth,
  cursor,
}));
export const symbol = question('get_symbol', ([name], { source, file }, cli) => ({
  name,
  include_source: source,
  file_path: file && inCheckout(cli, file),
}));
export const refs = question('get_symbol_references', ([name], { limit, text, cursor, file, line }, cli) => ({
  name,
  limit,
  include_text: text,
  cursor,
  file_path: file && inCheckout(cli, file),
  line,
}));
type RelationQuery = 'get_callers' | 'get_callees' | 'get_impact' | 'get_tests';
const relation = (tool: RelationQuery) =>
  question(tool, ([name], { limit, cursor, file, line, depth }, cli) => ({
    ...{ name, limit, cursor, line, file_path: file && inCheckout(cli, file) },
    ...(tool === 'get_impact' || tool === 'get_tests' ? { depth } : {}),
  }));
export const callers = relation('get_callers');
export const callees = relation('get_callees');
export const impact = relation('get_impact');
export const tests = relation('get_tests');
export const find = question('find_symbols', ([query], { limit, type }) => ({ query, limit, symbol_type: type }));
export const search = question('code_search', ([query], { limit, glob }) => ({ query, limit, glob }));
export const explore = question('explore_code', ([text], { budget }) => ({ question: text, budget_tokens: budget }));

export const indexCode = operationCommand(
  'code_index',
  (_args, options: CodeOptions & { wait?: true }, cli) => ({
    wait: options.wait ? ('complete' as const) : ('usable' as const),
    worktree: worktreeOf(cli, options),
  }),
  indexReport,
);

export const slice: Command<CodeOptions> = async (cli, slices, { budget, ...options }) => {
  const input = { slices, budget, worktree: worktreeOf(cli, options) };
  const { text, complete } = await cli.client().call('code_slice', input);
  cli.print({ text, complete }, () => text.trimEnd());
  return 0;
};

/** The worktree around the current folder. For a job the daemon knows which worktree is meant. */
function worktreeOf({ cwd, env }: Cli, { worktree }: CodeOptions): string | undefined {
  // The daemon runs in another folder.
  if (worktree?.includes(sep) && existsSync(resolve(cwd, worktree))) return resolve(cwd, worktree);
  if (worktree !== undefined || env.reefSocket !== undefined) return worktree;
  const checkout = checkoutOf(cwd);
  return checkout === findRepository(cwd) ? undefined : checkout;
}

/** Operations take paths relative to the checkout; people write them relative to the folder they are in. */
function inCheckout(cli: Cli, path: string): string {
  const checkout = checkoutOf(cli.cwd);
  if (checkout === undefined) return path;
  const inside = relative(checkout, resolve(cli.cwd, path));
  return inside === '' ? '.' : inside.split(sep).join('/');
}
