import { readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isCommand } from '../../../app/runtime/commands/command.ts';
import { COMMANDS } from '../../../app/runtime/commands/table.ts';
import { replComplete } from '../../../runtime/state/repl-complete.ts';
import type { RequestContext } from '../../../runtime/state/request-context.ts';

/** What Tab offers: commands that may be used now, then what may follow them. */
export async function completeLine(ctx: RequestContext, line: string): Promise<[string[], string]> {
  if (!isCommand(line)) return [[], line];
  const [command = '', ...args] = line.split(/\s+/);
  const names = COMMANDS.flatMap(({ name, needs = [] }) =>
    name.startsWith(line) && needs.every((isMet) => isMet(ctx) === undefined) ? [name] : [],
  );
  const typed = args.at(-1) ?? '';
  if (args.length === 0) return [names, line];
  const values = command === '.file' ? await paths(ctx.app.cwd, typed) : await valuesFor(ctx, command, args);
  return values.length === 0 && names.length > 0 ? [names, line] : [values, typed];
}

async function valuesFor(ctx: RequestContext, command: string, args: readonly string[]): Promise<string[]> {
  const found = await replComplete(ctx, { command, args });
  return found.map(([value]) => value);
}

async function paths(cwd: string, typed: string): Promise<string[]> {
  const folder = typed.endsWith('/') ? typed : dirname(typed);
  const entries = await readdir(resolve(cwd, folder), { withFileTypes: true }).catch(() => []);
  return entries.flatMap((entry) => {
    const path = folder === '.' && !typed.startsWith('../prompt/') ? entry.name : join(folder, entry.name);
    return path.startsWith(typed) ? [entry.isDirectory() ? `${path}/` : path] : [];
  });
}
