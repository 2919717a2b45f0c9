import { relative } from 'node:path';
import { refusePath, whyUnsafe } from '../../base/safe-path.ts';
import { type CodeToolArgs, type CodeToolName, codeTools } from '../../protocol/code.ts';
import { McpQueryError } from '../manager/mcp-server-error.ts';

/** Ours is camel case and says whose; the tools' is snake case and knows only its own worktree (C-083). */
const NAMES: Readonly<Record<string, string>> = { symbolName: 'name' };
const PATHS = new Set(['filePath', 'directoryPath', 'files', 'paths']);

/** The arguments of a tool out of those of a method. Refused here: what the tool would refuse, and paths that lead out (C-004). */
export function toToolArguments<T extends CodeToolName>(tool: T, args: { worktreePath: string }): CodeToolArgs<T> {
  const { worktreePath, ...rest } = args;
  const named = Object.entries(rest).filter(([, value]) => value !== undefined);
  const fields = named.map(([key, value]) => [
    NAMES[key] ?? snake(key),
    PATHS.has(key) ? inside(worktreePath, value) : value,
  ]);
  const wire = { ...(tool === 'index_code' && { path: worktreePath }), ...Object.fromEntries(fields) };
  const checked = codeTools[tool].input.safeParse(wire);
  if (checked.success) return wire as CodeToolArgs<T>;
  const [issue] = checked.error.issues;
  const field = issue?.path.join('.') ?? '';
  const message = `${tool}: ${field === '' ? '' : `${field}: `}${issue?.message ?? 'not its arguments'}`;
  throw new McpQueryError('bad_arguments', message, { worktreePath, details: { field } });
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function inside(worktreePath: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => inside(worktreePath, item));
  return typeof value === 'string' ? insidePath(worktreePath, value) : value;
}

/** Relative to the worktree; links are the server's matter. */
function insidePath(worktreePath: string, path: string): string {
  const own = path.startsWith(`${worktreePath}/`) ? relative(worktreePath, path) : path;
  const why = whyUnsafe(own);
  if (why !== undefined) throw refusePath(path, why);
  return own;
}
